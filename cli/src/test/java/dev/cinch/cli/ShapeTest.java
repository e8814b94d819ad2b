package dev.cinch.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Measures the shape of the whole, prints it, and fails where a value is above its limit. A limit
 * starts at the value of the day that the row came. Whoever brings a value down lowers the limit
 * here by hand; one that rises needs a sentence in the commit. {@code cli/target/shape.txt} has the
 * table, and names what each row counts.
 *
 * <p>Code is all of a file but comments, imports and blank lines. Classes are files of main. What
 * the rows count:
 *
 * <ul>
 *   <li>Verbs of the seam: methods of interfaces in {@code dev.cinch.bag.storage}, nested ones too,
 *       but for functional interfaces. An overload is one more. Those that a storage must write
 *       have no default. Then how many of their parameters and results are a {@link Path}.
 *   <li>Classes that parse frames name {@code FrameCodec}. Those of {@code format}, which has it,
 *       and of {@code write}, which encodes, don't count.
 *   <li>Classes that check that records follow call {@code ChainPlace.precedes}, or ask a {@code
 *       HorizonRecord} for the {@code previous()} one, outside of {@code format}.
 *   <li>Classes that tell kinds of blocks apart name {@code SegmentBlock.BUCKET} or another kind.
 *       {@code SegmentEncoder}, which writes them, does not count.
 *   <li>Loops that look again: endless loops of bagstore and aggregator that catch anything but
 *       interrupts, or ask a {@code Patience}. A loop that only walks over bytes does neither.
 *   <li>Files that a command loads: our top-level classes in the log of {@code java
 *       -Xlog:class+load:file=FILE -cp CLASSPATH dev.cinch.cli.Main COMMAND --store=DIR
 *       --log=jobs}. {@code CINCH_JAVA_OPTS=-Xlog:class+load:file=FILE cinch COMMAND --store=DIR
 *       --log=jobs} logs the same. {@code append} adds a line to a log of one bucket that is over,
 *       {@code close} closes that one, and {@code cat} reads it. Other commands among them are
 *       files {@code *Command}.
 *   <li>Types that an acquire passes: see {@link AcquireRoute}; nested ones are part of their file.
 *   <li>What remembers who holds a lease: {@link #SHADOWS}, a list by hand.
 *   <li>Packages on a circle: those from which imports lead back to themselves. A package counts
 *       with those below it, from the fourth part of its name on.
 * </ul>
 */
class ShapeTest {
  private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();
  private static final List<String> NO_CODE = List.of("//", "/*", "*", "import ");
  private static final int FEW = 25; // to be named in one line
  private static final int PRINTED = -1; // in place of a limit

  /** What declares each, by file. Take out what is gone, and lower the limit. */
  private static final Map<String, String> SHADOWS =
      Map.of(
          "lease/server/Expiries.java", "record Due(",
          "lease/register/GrantsHere.java", "record Entry(");

  @TempDir Path temp;

  /** Lines of the files of main, by their paths from {@code dev/cinch} on. */
  private final Map<String, List<String>> main = new TreeMap<>();

  private final Map<String, String> code = new TreeMap<>(); // of main

  private final Map<String, List<String>> tests = new TreeMap<>();

  private final StringBuilder table = new StringBuilder();
  private final StringBuilder counted = new StringBuilder();
  private final StringBuilder wrong = new StringBuilder();

  @Test
  void isWithinItsLimits() throws Exception {
    List<Method> verbs = verbs();
    row("verbs of the storage seam", 38, 16, names(verbs));
    row(
        "  of them those that a storage must write",
        16,
        16,
        names(verbs.stream().filter(v -> Modifier.isAbstract(v.getModifiers())).toList()));
    row("  of their parameters and results: Path", 0, 0, paths(verbs));
    row("classes that parse frames", 1, 1, files("FrameCodec", "bag/(format|write)/.*"));
    row("classes that check that records follow", 2, 1, chain());
    row(
        "classes that tell kinds of blocks apart",
        4,
        2,
        files("SegmentBlock[.](BUCKET|LEASES|MESSAGES|INDEX)", ".*/SegmentEncoder.java"));
    row("loops that look again", 10, 8, loops());

    Path store = Cinch.store(temp);
    Cinch.on(store).overdue("jobs", "a line");
    command("append", store, 122, 60);
    command("close", store, 141, 70);
    command("cat", store, 127, 75);

    AcquireRoute.Passed passed = AcquireRoute.run(temp, store);
    row("types of the client that an acquire passes", 45, 30, ours(passed.client()));
    row("  and of the server", 71, 45, ours(passed.server()));
    row("files that name Operation.Acquire", 23, 12, files("Operation[.]Acquire", ""));
    row("what remembers who holds a lease, but the table", 2, 1, shadows());

    row("lines of leases.md", 309, 320, Files.readAllLines(ROOT.resolve("docs/leases.md")));
    row("lines of protocol.md", 219, 220, Files.readAllLines(ROOT.resolve("docs/protocol.md")));
    row("packages of bagstore", 15, 12, packages());
    row("packages on a circle", 0, 0, circles());
    row("imports from fs up to storage", 0, 0, imports("bag/fs/", "bag.storage."));
    row("imports from storage up to store", 0, 0, imports("bag/storage/", "bag.store."));
    row(
        "code lines of main",
        PRINTED,
        0,
        (int) main.values().stream().flatMap(List::stream).filter(ShapeTest::isCode).count());
    row("lines of main", PRINTED, 0, main.values().stream().mapToInt(List::size).sum());
    row("lines of tests", PRINTED, 0, tests.values().stream().mapToInt(List::size).sum());
    System.out.println(table);
    Files.writeString(Path.of("target/shape.txt"), table.append('\n').append(counted));
    assertEquals("", wrong.toString(), "the shape grew");
  }

  /** A row that counts these. */
  private void row(String name, int limit, int aim, Collection<String> what) {
    row(name, limit, aim, what.size());
    if (what.size() > limit && what.size() <= FEW) {
      wrong.append("  these: %s%n".formatted(String.join(", ", what)));
    }
    if (!name.startsWith("lines of ")) {
      what.forEach(one -> counted.append("%s: %s%n".formatted(name.strip(), one)));
    }
  }

  private void row(String name, int limit, int aim, int value) {
    if (table.isEmpty()) {
      table.append("%n%-50s %7s %7s %7s%n".formatted("shape", "today", "limit", "aim"));
    }
    if (limit == PRINTED) {
      table.append("%-50s %,7d%n".formatted(name, value));
      return;
    }
    String hint = value < limit ? "  the limit may fall to " + value : "";
    table.append("%-50s %,7d %,7d %,7d%s%n".formatted(name, value, limit, aim, hint));
    if (value > limit) {
      wrong.append(
          "%s: %d, and the limit is %d (aim: %d); cli/target/shape.txt names what counts%n"
              .formatted(name.strip(), value, limit, aim));
    }
  }

  @BeforeEach
  void readSources() throws IOException {
    String pom = Files.readString(ROOT.resolve("pom.xml"));
    for (var module : Pattern.compile("<module>(.*)</module>").matcher(pom).results().toList()) {
      Path sources = ROOT.resolve(module.group(1)).resolve("src");
      readInto(main, sources.resolve("main/java"));
      readInto(tests, sources.resolve("test/java"));
    }
    main.forEach((file, lines) -> code.put(file, code(lines)));
    // Or a row could fall by looking elsewhere.
    for (String there : List.of("bag/format/FrameCodec.java", "bag/fs/Fresh.java")) {
      assertTrue(main.containsKey(there), there);
    }
  }

  private static void readInto(Map<String, List<String>> all, Path directory) throws IOException {
    if (!Files.exists(directory)) {
      return;
    }
    try (Stream<Path> files = Files.walk(directory)) {
      for (Path file : files.filter(f -> f.toString().endsWith(".java")).toList()) {
        String name = file.toString().replaceFirst(".*/dev/cinch/", "");
        assertNull(all.put(name, Files.readAllLines(file)), name);
      }
    }
  }

  private static boolean isCode(String line) {
    String text = line.strip();
    return !text.isEmpty() && NO_CODE.stream().noneMatch(text::startsWith);
  }

  private static String code(List<String> lines) {
    return lines.stream()
        .filter(ShapeTest::isCode)
        .map(line -> line.contains(" // ") ? line.substring(0, line.indexOf(" // ")) : line)
        .collect(Collectors.joining("\n"));
  }

  /** Files whose code has the name, but those whose paths match. */
  private Set<String> files(String name, String but) {
    Pattern pattern = Pattern.compile("\\b" + name + "\\b");
    return files(but, text -> pattern.matcher(text).find());
  }

  private Set<String> files(String but, Predicate<String> is) {
    return code.keySet().stream()
        .filter(f -> !f.matches(but) && is.test(code.get(f)))
        .collect(Collectors.toCollection(TreeSet::new));
  }

  private List<Method> verbs() throws ClassNotFoundException {
    var verbs = new ArrayList<Method>();
    for (String file : main.keySet()) {
      if (file.matches("bag/storage/[A-Z]\\w*[.]java")) {
        Class<?> top =
            Class.forName("dev.cinch." + file.replaceAll("[.]java", "").replace('/', '.'));
        Stream.concat(Stream.of(top), Arrays.stream(top.getDeclaredClasses()))
            .filter(c -> c.isInterface() && !c.isAnnotationPresent(FunctionalInterface.class))
            .flatMap(c -> Arrays.stream(c.getDeclaredMethods()))
            .filter(m -> !m.isSynthetic())
            .forEach(verbs::add);
      }
    }
    return verbs;
  }

  private static List<String> names(List<Method> verbs) {
    return verbs.stream().map(ShapeTest::name).sorted().toList();
  }

  private static String name(Method verb) {
    return verb.getDeclaringClass().getSimpleName()
        + "."
        + verb.getName()
        + Arrays.stream(verb.getParameterTypes())
            .map(Class::getSimpleName)
            .collect(Collectors.joining(", ", "(", ")"));
  }

  private Set<String> packages() {
    return main.keySet().stream()
        .filter(file -> file.matches("bag/(?!logback/|testkit/).*"))
        .map(file -> file.substring(0, file.lastIndexOf('/')))
        .collect(Collectors.toCollection(TreeSet::new));
  }

  private static List<String> paths(List<Method> verbs) {
    return verbs.stream()
        .flatMap(
            verb ->
                Stream.concat(
                        Stream.of(verb.getReturnType()), Arrays.stream(verb.getParameterTypes()))
                    .filter(Path.class::equals)
                    .map(path -> name(verb)))
        .sorted()
        .toList();
  }

  private Set<String> chain() {
    Pattern of = Pattern.compile("\\b(ChainPlace|HorizonRecord)\\b");
    Pattern asks = Pattern.compile("(?<!\\bfloor)[.]precedes[(]|[.]previous[(]");
    return files("bag/format/.*", text -> of.matcher(text).find() && asks.matcher(text).find());
  }

  private List<String> loops() {
    Pattern again = Pattern.compile("catch [(](?!InterruptedException )|[.]again[(][)]");
    var found = new ArrayList<String>();
    for (String file : files("(?!bag/|view/|backup/).*", text -> true)) {
      String text =
          Objects.requireNonNull(code.get(file))
              .replaceAll("\"(\\\\.|[^\"\\\\\n])*\"|'\\\\?.'", "");
      var loops = Pattern.compile("(while \\(true\\)|for \\(;;\\)|do) [{]").matcher(text);
      while (loops.find()) {
        int end = loops.end();
        for (int depth = 1; depth > 0 && end < text.length(); end++) {
          depth += text.charAt(end) == '{' ? 1 : text.charAt(end) == '}' ? -1 : 0;
        }
        if (again.matcher(text.substring(loops.end(), end)).find()) {
          found.add(file);
        }
      }
    }
    return found;
  }

  private Set<String> ours(Collection<String> types) {
    return types.stream()
        .map(type -> type.replaceAll("^dev[.]cinch[.]|[$].*", "").replace('.', '/') + ".java")
        .filter(main::containsKey)
        .collect(Collectors.toCollection(TreeSet::new));
  }

  /** What a command on the log loads, and of it other commands. */
  private void command(String command, Path store, int limit, int aim) throws Exception {
    Path log = temp.resolve(command + ".log");
    Path in = Files.writeString(temp.resolve("in"), "a line\n");
    Path out = temp.resolve("out");
    String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
    var builder =
        new ProcessBuilder(
            java,
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "-Xlog:class+load:file=" + log + ":none:filecount=0",
            "-cp",
            System.getProperty("java.class.path"),
            Main.class.getName(),
            command,
            "--store=" + store,
            "--log=jobs");
    builder.environment().keySet().removeIf(name -> name.startsWith("CINCH_"));
    builder.redirectInput(in.toFile()).redirectErrorStream(true).redirectOutput(out.toFile());
    assertEquals(0, builder.start().waitFor(), () -> command + " said: " + read(out));
    Set<String> loaded = ours(read(log).lines().map(line -> line.replaceFirst(" .*", "")).toList());
    row("files of ours that %s loads".formatted(command), limit, aim, loaded);
    String own = "(?i).*/%sCommand.java".formatted(command);
    long others =
        loaded.stream().filter(f -> f.endsWith("Command.java") && !f.matches(own)).count();
    row("  of them other commands", PRINTED, 0, (int) others);
  }

  private static String read(Path file) {
    try {
      return Files.readString(file, UTF_8);
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  private List<String> shadows() {
    SHADOWS.forEach(
        (file, what) -> {
          if (!code.getOrDefault(file, "").contains(what)) {
            String gone = "\"%s\" is gone from %s: take it out of SHADOWS and lower the limit%n";
            wrong.append(gone.formatted(what, file));
          }
        });
    return SHADOWS.keySet().stream().sorted().toList();
  }

  private List<String> imports(String from, String to) {
    String name = "import (static )?dev[.]cinch[.]" + to.replace(".", "[.]") + ".*";
    return main.entrySet().stream()
        .filter(e -> e.getKey().startsWith(from))
        .flatMap(
            e -> e.getValue().stream().filter(l -> l.matches(name)).map(l -> e.getKey() + " " + l))
        .toList();
  }

  /** Packages that can be reached from themselves by imports of others. */
  private List<String> circles() {
    var arrows = new TreeMap<String, Set<String>>();
    Pattern imported = Pattern.compile("import (?:static )?dev[.]cinch[.]([a-z.]+)[.][A-Z*].*");
    main.forEach(
        (file, lines) -> {
          String from = group(file.replaceFirst("/?[^/]*$", "").replace('/', '.'));
          for (String line : lines) {
            var to = imported.matcher(line);
            if (to.matches() && !group(to.group(1)).equals(from)) {
              arrows.computeIfAbsent(from, f -> new TreeSet<>()).add(group(to.group(1)));
            }
          }
        });
    return arrows.keySet().stream()
        .filter(start -> reached(arrows, start).contains(start))
        .toList();
  }

  private static Set<String> reached(Map<String, Set<String>> arrows, String start) {
    var reached = new TreeSet<String>();
    var next = new ArrayDeque<>(List.of(start));
    while (!next.isEmpty()) {
      for (String to : arrows.getOrDefault(next.pop(), Set.of())) {
        if (reached.add(to)) {
          next.add(to);
        }
      }
    }
    return reached;
  }

  private static String group(String name) {
    return name.replaceFirst("^(\\w+[.]\\w+)[.].*", "$1");
  }
}
