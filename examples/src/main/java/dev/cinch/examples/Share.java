package dev.cinch.examples;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Who appends which line in the quickstart: line {@code n} of the input belongs to writer {@code n
 * mod writers}, under the lease of unit {@code (n / writers) mod units}, so that every writer needs
 * every lease.
 */
final class Share {
  static final int WRITERS = 4;
  static final int UNITS = 6;

  /** Lines appended under one hold of a lease. */
  static final int CHUNK = 60;

  private Share() {}

  /**
   * A line of the input.
   *
   * @param number its place in all the input, from 0
   * @param text as it stands in the file, one character a byte
   */
  record Line(int number, String text) {
    int writer() {
      return number % WRITERS;
    }

    String unit() {
      return "unit-" + number / WRITERS % UNITS;
    }

    /** What is appended: who sent it, as its how-manieth, which line, and the line. */
    byte[] message(int sender, long sent) {
      return (sender + " " + sent + " " + number + "\t" + text)
          .getBytes(StandardCharsets.ISO_8859_1);
    }
  }

  static List<Line> read(List<Path> files) throws IOException {
    var lines = new ArrayList<Line>();
    for (Path file : files) {
      String all = new String(Files.readAllBytes(file), StandardCharsets.ISO_8859_1);
      for (String text : all.split("\n", -1)) {
        lines.add(new Line(lines.size(), text));
      }
      if (all.isEmpty() || all.endsWith("\n")) {
        lines.remove(lines.size() - 1); // what follows the last newline is no line
      }
    }
    return lines;
  }
}
