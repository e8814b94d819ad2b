package dev.cinch.cli.base;

import java.io.IOException;
import picocli.CommandLine.Option;

/** Whether a command prints JSON: see {@code docs/json.md}. */
public final class JsonOption {
  @Option(names = "--json", description = "Print JSON objects, one a line.")
  public boolean json;

  /** What is told as JSON. */
  @FunctionalInterface
  public interface Fields {
    void write(JsonLines line) throws IOException;
  }

  /**
   * Prints a line: text, or a JSON object.
   *
   * @param text for people
   * @param fields of the object
   */
  public void print(Output out, String text, Fields fields) throws IOException {
    if (!json) {
      out.line(text);
      return;
    }
    var lines = new JsonLines(out);
    fields.write(lines.object());
    lines.end();
  }
}
