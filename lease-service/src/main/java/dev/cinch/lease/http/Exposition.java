package dev.cinch.lease.http;

/**
 * Numbers in Prometheus' text format, version 0.0.4. Names and labels are this software's own, and
 * need no escaping. Not thread-safe.
 */
final class Exposition {
  static final String CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

  private final StringBuilder text = new StringBuilder();
  private String name = "";

  /** Begins a family of samples. */
  Exposition family(String name, String type, String help) {
    this.name = name;
    text.append("# HELP ").append(name).append(' ').append(help).append('\n');
    text.append("# TYPE ").append(name).append(' ').append(type).append('\n');
    return this;
  }

  /** A sample of the family. */
  Exposition sample(long value) {
    return sample("", "", Long.toString(value));
  }

  /**
   * A sample with labels.
   *
   * @param labels like {@code node="2"}
   */
  Exposition sample(String labels, long value) {
    return sample("", labels, Long.toString(value));
  }

  /**
   * A sample of a histogram.
   *
   * @param suffix behind the family's name
   */
  Exposition sample(String suffix, String labels, String value) {
    text.append(name).append(suffix);
    if (!labels.isEmpty()) {
      text.append('{').append(labels).append('}');
    }
    text.append(' ').append(value).append('\n');
    return this;
  }

  @Override
  public String toString() {
    return text.toString();
  }
}
