package dev.cinch.cli;

import java.io.IOException;
import picocli.CommandLine.Option;

/** Whether a command prints JSON: see {@code docs/json.md}. */
final class JsonOption {
  @Option(names = "--json", description = "Print JSON objects, one a line.")
  boolean json;

  /** What is told as JSON. */
  @FunctionalInterface
  interface Fields {
    void write(JsonLines line) throws IOException;
  }

  /**
   * Prints a line: text, or a JSON object.
   *
   * @param text for people
   * @param fields of the object
   */
  void print(Output out, String text, Fields fields) throws IOException {
    if (!json) {
      out.line(text);
      return;
    }
    var lines = new JsonLines(out);
    fields.write(lines.object());
    lines.end();
  }
}
