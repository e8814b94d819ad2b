package dev.cinch.sim.mutation;

import dev.cinch.sim.mutation.Members.Member;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * One rule of the protocol, broken: a text in a member of a production class, and what stands in
 * its place. The production sources themselves hold no switches.
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

  private static final Pattern TOKEN = Pattern.compile("\\w+|\\S");

  /**
   * A replacement in one member.
   *
   * @param source relative to the project's root
   * @param member a method, a field, or a class for its constructors
   * @param find occurs once in the members of this name, however it is laid out
   * @param replace what takes its place
   */
  record Edit(String source, String member, String find, String replace) {
    String applyTo(String text) {
      List<Member> members = Members.of(text).stream().filter(m -> m.is(member)).toList();
      Pattern pattern = pattern(find);
      var found =
          members.stream()
              .flatMap(m -> pattern.matcher(text).region(m.from(), m.to()).results())
              .toList();
      if (found.size() != 1) {
        throw new IllegalStateException(
            "%s has %d members %s, and this %d times in them, not once:%n%s"
                .formatted(source, members.size(), member, found.size(), find));
      }
      MatchResult at = found.get(0);
      return text.substring(0, at.start()) + replace + text.substring(at.end());
    }

    /** Of the same words and signs, with any blanks between. */
    private static Pattern pattern(String find) {
      return Pattern.compile(
          TOKEN
              .matcher(find)
              .results()
              .map(MatchResult::group)
              .map(word -> word.matches("\\w+") ? "\\b" + word + "\\b" : Pattern.quote(word))
              .collect(Collectors.joining("\\s*")));
    }

    String className() {
      String path = source.substring(source.indexOf("java/") + "java/".length());
      return path.substring(0, path.length() - ".java".length()).replace('/', '.');
    }
  }

  /** Reads a list; its form is described at its top. */
  static List<Mutation> read(Path list) throws IOException {
    var all = new ArrayList<Mutation>();
    String[] place = {};
    var lines = Files.readAllLines(list).listIterator();
    while (lines.hasNext()) {
      String line = lines.next();
      if (line.startsWith(HEAD)) {
        String[] parts = line.substring(HEAD.length()).split(" \\| ", 3);
        all.add(new Mutation(parts[0], parts[1], parts[2], new ArrayList<>()));
      } else if (line.startsWith(FILE)) {
        place = line.substring(FILE.length()).split("#", 2);
      } else if (line.equals(FIND)) {
        String find = upTo(REPLACE, lines);
        all.get(all.size() - 1).edits().add(new Edit(place[0], place[1], find, upTo(END, lines)));
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
