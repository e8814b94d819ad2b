package dev.cinch.sim.mutation;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * One rule of the protocol, broken: a text that occurs once in a production source, and what stands
 * in its place. The production sources themselves hold no switches.
 *
 * @param name one word, with hyphens
 * @param rule the rule that it breaks
 * @param what in a sentence
 * @param edits at least one; all of them belong to the mutation
 */
record Mutation(String name, String rule, String what, List<Edit> edits) {
  /** What separates the parts of an edit in the list. */
  private static final String HEAD = "== ";

  private static final String FILE = "-- ";
  private static final String FIND = "<<<<";
  private static final String REPLACE = "====";
  private static final String END = ">>>>";

  /**
   * A replacement in one source.
   *
   * @param source relative to the project's root
   * @param find occurs exactly once in it
   * @param replace what takes its place
   */
  record Edit(String source, String find, String replace) {
    String applyTo(String text) {
      int at = text.indexOf(find);
      if (at < 0 || text.indexOf(find, at + 1) >= 0) {
        throw new IllegalStateException(
            "%s: expected once, found %s:%n%s"
                .formatted(source, at < 0 ? "never" : "more than once", find));
      }
      return text.substring(0, at) + replace + text.substring(at + find.length());
    }

    String className() {
      String path = source.substring(source.indexOf("java/") + "java/".length());
      return path.substring(0, path.length() - ".java".length()).replace('/', '.');
    }
  }

  /** Reads a list; its form is described at its top. */
  static List<Mutation> read(Path list) throws IOException {
    var all = new ArrayList<Mutation>();
    String source = "";
    var lines = Files.readAllLines(list).listIterator();
    while (lines.hasNext()) {
      String line = lines.next();
      if (line.startsWith(HEAD)) {
        String[] parts = line.substring(HEAD.length()).split(" \\| ", 3);
        all.add(new Mutation(parts[0], parts[1], parts[2], new ArrayList<>()));
      } else if (line.startsWith(FILE)) {
        source = line.substring(FILE.length());
      } else if (line.equals(FIND)) {
        String find = upTo(REPLACE, lines);
        all.get(all.size() - 1).edits().add(new Edit(source, find, upTo(END, lines)));
      }
    }
    return all;
  }

  private static String upTo(String end, java.util.Iterator<String> lines) {
    var text = new StringBuilder();
    for (String line = lines.next(); !line.equals(end); line = lines.next()) {
      text.append(text.isEmpty() ? "" : "\n").append(line);
    }
    return text.toString();
  }
}
