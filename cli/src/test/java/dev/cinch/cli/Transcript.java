package dev.cinch.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import dev.cinch.bag.model.Name;
import java.io.IOException;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.PathMatcher;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Runs one case of a transcript, as they stand in {@code resources/dev/cinch/cli/transcripts}.
 *
 * <ul>
 *   <li>{@code $ append --log=jobs}: a command line of {@code cinch}, which ends with 0; with
 *       another exit code {@code 3$ append --log=jobs}. Quotes and {@code \n} are as in a shell,
 *       {@code {a,b}} stands for a command line with each.
 *   <li>{@code | cat --log=jobs}: another one, of which the same is expected
 *   <li>{@code < text}: a line of its standard input
 *   <li>{@code > text}, {@code ! text}: a line of its standard output, and of its standard error,
 *       which have no others, but for those about a log that was made. In them {@code …} is any
 *       text, and as a line any number of lines; {@code «id»} is a word that is kept, and means the
 *       same word from there on, in command lines too.
 *   <li>{@code 3$ append --log=jobs < a ! text}: the same in one line, of a command that says one
 *       line with this text in it; {@code $ logs > jobs} prints just that line
 *   <li>{@code % there store/key}: something besides, see {@link #otherwise}
 *   <li>{@code # text}: a comment
 * </ul>
 *
 * <p>{@code $T} is a directory of the case's own; names of files are below it.
 */
final class Transcript implements AutoCloseable {
  private static final Pattern COMMAND = Pattern.compile("(\\d*)\\$ ?(.*)");
  private static final Pattern CHOICE = Pattern.compile("\\{([^{}]*,[^{}]*)\\}");
  private static final Pattern WORD = Pattern.compile("(?:'[^']*'|\"[^\"]*\"|[^\\s'\"])+");
  private static final Pattern HOLE = Pattern.compile("…|«(\\w+)»");
  private static final String ANY_LINES = "…";

  private final Path temp;
  private final Name store;
  private final Map<String, String> kept = new HashMap<>();
  private Cinch cinch = new Cinch();
  private Cinch.Ran ran = new Cinch.Ran(0, new byte[0], "");
  private @org.jspecify.annotations.Nullable Served served;

  /** A case: its name, where it begins in its file, and its lines. */
  record Case(String name, int line, List<String> lines) {
    private static final Set<String> IN_ANY_STORAGE =
        Set.of("store", "quick", "settle", "settled", "overdue", "lacks", "terminal", "with");

    /** Or beside a clock that is not the storage's. */
    private static final Pattern ON_FILES =
        Pattern.compile("^(\\d*\\$|\\|) (doctor|lease|salvage|.*(\\$T/store|--clock-offset))");

    /** Whether all of it can be done to a store that is no directory. */
    boolean isForAnyStorage() {
      return lines.stream().anyMatch(line -> line.startsWith("% store") || line.equals("% quick"))
          && lines.stream()
              .filter(line -> line.startsWith("% "))
              .allMatch(line -> IN_ANY_STORAGE.contains(line.split(" ")[1]))
          && lines.stream().noneMatch(line -> ON_FILES.matcher(line).find());
    }

    /** The commands that end well in it. */
    Stream<String> commands() {
      return lines.stream()
          .filter(line -> line.matches("[$|] .*"))
          .flatMap(line -> choices(rest(line)).stream())
          .map(line -> line.split(" ")[0]);
    }
  }

  /** Those of a file, each behind a line {@code == name}. */
  static List<Case> read(Path file) throws IOException {
    var all = new ArrayList<Case>();
    List<String> lines = Files.readAllLines(file);
    for (int i = 0; i < lines.size(); i++) {
      if (lines.get(i).startsWith("== ")) {
        all.add(new Case(lines.get(i).substring(3), i + 1, new ArrayList<>()));
      } else if (!all.isEmpty()) {
        all.get(all.size() - 1).lines().add(lines.get(i));
      }
    }
    return all;
  }

  /**
   * @param scheme what the store's name begins with: {@code mem:}, or nothing for a directory
   */
  Transcript(Path temp, String scheme) {
    this.temp = temp;
    this.store = new Name(scheme + temp.resolve("store"));
  }

  @Override
  public void close() throws Exception {
    if (served != null) {
      served.close();
    }
  }

  void run(Case of) throws Exception {
    List<String> lines = of.lines();
    for (int i = 0; i < lines.size(); ) {
      String line = lines.get(i);
      Matcher command = COMMAND.matcher(line);
      if (line.isBlank() || line.startsWith("#")) {
        i++;
      } else if (line.startsWith("% ")) {
        try {
          otherwise(words(line.substring(2)));
        } catch (AssertionError | Exception e) {
          throw new AssertionError("line " + (of.line() + i + 1) + ": " + line, e);
        }
        i++;
      } else if (command.matches()) {
        int next = i + 1;
        while (next < lines.size() && lines.get(next).matches("[|<>!#].*")) {
          next++;
        }
        commands(of.line() + i + 1, command, lines.subList(i + 1, next));
        i = next;
      } else {
        fail("line " + (of.line() + i + 1) + " is nothing: " + line);
      }
    }
  }

  private void commands(int at, Matcher command, List<String> rest) {
    int code = command.group(1).isEmpty() ? 0 : Integer.parseInt(command.group(1));
    String[] inOne = command.group(2).split("  (?=[<>!] )");
    var below = new ArrayList<>(rest);
    for (String part : List.of(inOne).subList(1, inOne.length)) {
      below.add(part.startsWith("!") ? "! …" + rest(part) + "…" : part);
    }
    var input = below.stream().filter(l -> l.startsWith("<")).map(Transcript::rest);
    String in = input.map(l -> l.translateEscapes() + "\n").collect(Collectors.joining());
    var all = new ArrayList<>(List.of(inOne[0]));
    below.stream().filter(l -> l.startsWith("|")).map(Transcript::rest).forEach(all::add);
    for (String one : all) {
      for (String chosen : choices(one)) {
        ran = cinch.feed(filled(in), words(chosen).toArray(String[]::new));
        String what = "line " + at + ": cinch " + chosen + "\n" + ran.out() + ran.err();
        assertEquals(code, ran.code(), what);
        String err =
            Stream.of(ran.err().replaceAll("\r\033\\[K([^\r\n]*(?=\r))?", "").split("(?<=\n)"))
                .filter(l -> below.contains("! …") || !l.endsWith("\"; it was made\n"))
                .collect(Collectors.joining());
        expect(what, below, ">", ran.out());
        expect(what, below, "!", err);
      }
    }
  }

  private void expect(String what, List<String> below, String mark, String said) {
    var pattern = new StringBuilder();
    var names = new ArrayList<String>();
    for (String line : below) {
      if (line.startsWith(mark)) {
        String text = rest(line);
        pattern.append(text.equals(ANY_LINES) ? "(?:.*\n)*?" : pattern(text, names) + "\n");
      }
    }
    String shown = said.replace("mem:" + temp, "$T").replace(temp.toString(), "$T");
    shown += shown.isEmpty() || shown.endsWith("\n") ? "" : "\n"; // a question has none
    Matcher matcher = Pattern.compile(pattern.toString()).matcher(shown);
    if (!matcher.matches()) {
      String wanted =
          below.stream().filter(l -> l.startsWith(mark)).collect(Collectors.joining("\n"));
      assertEquals(wanted, shown, what);
      fail(what);
    }
    names.forEach(name -> kept.put(name, matcher.group(name)));
  }

  /** As an expression, in which words to be kept are groups of their names. */
  private String pattern(String text, List<String> names) {
    var pattern = new StringBuilder();
    Matcher hole = HOLE.matcher(text);
    int from = 0;
    while (hole.find()) {
      pattern.append(Pattern.quote(text.substring(from, hole.start())));
      String name = hole.group(1);
      if (name == null) {
        pattern.append(".*");
      } else if (kept.containsKey(name)) {
        pattern.append(Pattern.quote(kept.get(name)));
      } else if (names.contains(name)) {
        pattern.append("\\k<").append(name).append('>');
      } else {
        names.add(name);
        pattern.append("(?<").append(name).append(">[^\\s\",]+)");
      }
      from = hole.end();
    }
    return pattern.append(Pattern.quote(text.substring(from))).toString();
  }

  private static String rest(String line) {
    return line.length() > 1 ? line.substring(2) : "";
  }

  private static List<String> choices(String line) {
    Matcher choice = CHOICE.matcher(line);
    if (!choice.find()) {
      return List.of(line);
    }
    return Stream.of(choice.group(1).split(",", -1))
        .map(one -> line.substring(0, choice.start()) + one + line.substring(choice.end()))
        .flatMap(one -> choices(one).stream())
        .toList();
  }

  private String filled(String text) {
    String all = text.replace("$T", temp.toString());
    for (Map.Entry<String, String> one : kept.entrySet()) {
      all = all.replace("«" + one.getKey() + "»", one.getValue());
    }
    return all;
  }

  private List<String> words(String line) {
    return WORD.matcher(filled(line))
        .results()
        .map(word -> word.group().replaceAll("'([^']*)'|\"([^\"]*)\"", "$1$2").translateEscapes())
        .toList();
  }

  private Path file(String name) throws IOException {
    if (!name.contains("*")) {
      return temp.resolve(name);
    }
    PathMatcher matcher = FileSystems.getDefault().getPathMatcher("glob:" + temp + "/" + name);
    try (Stream<Path> all = Files.walk(temp)) {
      return all.filter(matcher::matches).sorted().findFirst().orElseThrow(IOException::new);
    }
  }

  private static byte[] bytes(Path file) throws IOException {
    byte[] bytes = Files.readAllBytes(file);
    boolean unused = file.toFile().setWritable(true);
    return bytes;
  }

  private void otherwise(List<String> words) throws Exception {
    String[] options = words.subList(1, words.size()).toArray(String[]::new);
    String first = options.length > 0 ? options[0] : "";
    String text = options.length > 1 ? options[1] : "";
    switch (words.get(0)) {
      case "store" -> cinch = Cinch.onNew(store, false, options); // in $T/store
      case "quick" -> cinch = Cinch.onNew(store, true); // whose buckets are closed soon
      case "served" -> { // another quick one, with a lease server
        served = new Served(temp);
        cinch = served.cinch;
        kept.put("server", served.uri());
      }
      case "on" -> cinch = Cinch.on(file(first)); // another store
      case "nothing" -> cinch = new Cinch();
      case "with" -> cinch.with(first, text); // a variable of the environment
      case "terminal" -> cinch.onTerminal();
      case "settle" -> cinch.settle(first);
      case "settled" -> // a log, its lines, and how long ago they were written
          cinch.settled(first, text, Duration.parse(options[2]));
      case "overdue" -> cinch.overdue(first, text, Duration.parse(options[2]));
      case "write" -> { // in place of what is there, if it may be written or not
        Path file = file(first);
        boolean unused = file.toFile().setWritable(true);
        Path unusedDirectory = Files.createDirectories(file.getParent());
        Files.writeString(file, text);
      }
      case "replace" -> {
        Path file = file(first);
        String before = new String(bytes(file), "UTF-8");
        assertTrue(before.contains(text), before);
        Files.writeString(file, before.replace(text, options[2]));
      }
      case "flip" -> { // a bit, at so many hundredths of the file
        Path file = file(first);
        byte[] bytes = bytes(file);
        bytes[Math.toIntExact((long) bytes.length * Long.parseLong(text) / 100)] ^= 1;
        Files.write(file, bytes);
      }
      case "cut" -> { // to so many hundredths
        Path file = file(first);
        byte[] bytes = bytes(file);
        Files.write(file, Arrays.copyOf(bytes, bytes.length * Integer.parseInt(text) / 100));
      }
      case "mkdir" -> Files.createDirectories(file(first));
      case "move" -> Files.move(file(first), file(text));
      case "copy" -> { // with all that is below, in place of what is there
        Path to = temp.resolve(text);
        remove(to);
        String[] copy = {"cp", "-a", file(first).toString(), to.toString()};
        assertEquals(0, new ProcessBuilder(copy).inheritIO().start().waitFor());
      }
      case "remove" -> remove(file(first)); // a directory
      case "delete" -> Files.delete(file(first));
      case "there" -> Arrays.stream(options).forEach(o -> assertTrue(is(o), o));
      case "missing" -> Arrays.stream(options).forEach(o -> assertTrue(!is(o), o));
      case "lacks" -> // what was said last
          assertFalse((ran.out() + ran.err()).contains(first), ran::toString);
      case "empty" -> { // directories that are there
        for (String name : options) {
          try (Stream<Path> all = Files.list(file(name))) {
            assertEquals(List.of(), all.toList());
          }
        }
      }
      case "chmod" ->
          Files.setPosixFilePermissions(file(first), PosixFilePermissions.fromString(text));
      case "mode" ->
          assertEquals(
              text, PosixFilePermissions.toString(Files.getPosixFilePermissions(file(first))));
      case "same" -> assertEquals(-1, Files.mismatch(file(first), file(text)));
      case "has" -> assertTrue(Files.readString(file(first)).contains(text), text);
      default -> fail("unknown");
    }
  }

  private static void remove(Path top) throws IOException {
    if (Files.notExists(top)) {
      return;
    }
    try (Stream<Path> all = Files.walk(top)) {
      for (Path path : all.sorted(Comparator.reverseOrder()).toList()) {
        boolean unused = path.resolveSibling(".").toFile().setWritable(true); // a closed bucket's
        Files.delete(path);
      }
    }
  }

  private boolean is(String name) {
    return Files.exists(temp.resolve(name), LinkOption.NOFOLLOW_LINKS);
  }
}
