package dev.cinch.examples;

import static java.util.Objects.requireNonNull;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.cinch.bag.Log;
import dev.cinch.bag.NotAStoreException;
import dev.cinch.bag.audit.AuditStore;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.NewerFormatException;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.SealName;
import dev.cinch.bag.model.StoreSettings.Leases;
import dev.cinch.bag.write.LeaseStamp;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.examples.DocumentEdits.Edit;
import dev.cinch.examples.Readers.Answer;
import dev.cinch.lease.Share;
import dev.cinch.view.Aggregator;
import dev.cinch.view.Expiry;
import dev.cinch.view.Retention;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Any file of a store may be another one. Of each edit, every reader gives the messages of the
 * untouched store, or the first of them and then an error that names what is damaged. None gives
 * another message, and none ends with a fault of its own.
 */
@SuppressWarnings("NullAway.Init") // made before all
class HostileBytesTest {
  private static final long SECOND = AuditStore.SECOND;

  /** After so many wrong answers the others are not worth the time. */
  private static final int MOST = 20;

  private static final Edit VANISHED = new Edit("vanished", new byte[0]);

  /** Without these there is no store, or no log. */
  private static final Set<String> NEEDED = Set.of("store.json", "identity");

  @TempDir static Path temp;

  private static Path root;
  private static AuditStore s;
  private static PythonReader python;
  private static Readers readers;
  private static Map<Path, byte[]> files;
  private static Path openFile;
  private static final Map<String, Answer> GOOD = new HashMap<>();

  private final List<String> wrong = new ArrayList<>();
  private int cases;
  private int asked;

  /** Part expired, part retired, part in a segment and locked, part locked, and part open. */
  @BeforeAll
  static void make() throws Exception {
    try {
      python = new PythonReader();
    } catch (IOException e) {
      assumeTrue(false, "SKIPPED: there is no python3, so examples/reader.py was not compared");
    }
    root = temp.resolve("store");
    s = new AuditStore(root, Leases.REQUIRED, true);
    Log log = s.store.createLog(new LogName("jobs"));
    LeaseStamp stamp =
        AuditStore.stamp(s.sign(s.first("unit/1", s.clock.wallNanos() + 3000 * SECOND)));
    var aggregator = new Aggregator(log, new Aggregator.Limits(2, Long.MAX_VALUE));
    write(log, stamp, 1);
    assertEquals(1, aggregator.run().published());
    s.clock.sleepNanos(300 * SECOND);
    write(log, stamp, 2);
    assertEquals(1, aggregator.run().published());
    s.clock.sleepNanos(300 * SECOND);
    assertTrue(new Retention(log, Duration.ofSeconds(30)).run().buckets() > 0);
    assertEquals(1, new Expiry(log, Duration.ofSeconds(400)).run(path -> {}).segments());
    write(log, stamp, 1);
    assertEquals(1, aggregator.run().published());
    write(log, stamp, 2);
    try (LogWriter writer = s.writer(log)) {
      AuditStore.append(writer, stamp, "open");
      AuditStore.append(writer, stamp, "open too");
    }
    write(s.store.createLog(new LogName("other")), stamp, 1);
    files = new TreeMap<>();
    try (Stream<Path> all = Files.walk(root)) {
      for (Path file : all.toList()) {
        if (Files.isDirectory(file)) {
          assertTrue(file.toFile().setWritable(true));
        } else {
          files.put(file, Files.readAllBytes(file));
        }
      }
    }
    openFile =
        files.keySet().stream()
            .filter(f -> isDataFile(f) && !files.containsKey(f.resolveSibling("lock")))
            .findFirst()
            .orElseThrow();
    List<Long> times = List.of(AuditStore.START + 302 * SECOND, AuditStore.START + 610 * SECOND);
    readers = new Readers(root, s.environment, python, times, 6 * SECOND);
    for (String reader : readers.names()) {
      Answer answer = readers.ask(reader);
      assertFalse(answer.told(), () -> reader + ": " + answer);
      GOOD.put(reader, answer);
    }
    assertEquals(15, good("cat").size());
    assertEquals(17, good("cat --live").size());
    assertEquals(17, good("salvage").size());
    assertEquals(List.of(), good("audit"));
  }

  @AfterAll
  static void end() {
    if (python != null) {
      python.close();
    }
  }

  /** So many records, each of a bucket or two with two data files. */
  private static void write(Log log, LeaseStamp stamp, int records) throws Exception {
    for (int r = 0; r < records; r++) {
      long last = 0;
      try (LogWriter a = s.writer(log);
          LogWriter b = s.writer(log)) {
        for (int i = 0; i < 3; i++) {
          last = AuditStore.append(i % 2 == 0 ? a : b, stamp, "message " + r + " " + i);
          s.clock.sleepNanos(SECOND / 4);
        }
      }
      s.settle(log, last);
    }
  }

  private static List<String> good(String reader) {
    return requireNonNull(GOOD.get(reader)).lines();
  }

  private static byte[] bytes(Path file) {
    return requireNonNull(files.get(file));
  }

  private static boolean isDataFile(Path file) {
    return file.toString().endsWith(".log");
  }

  /** Whether it is the segment that no checkpoint names yet: readers go by its buckets. */
  private static boolean isUnnamed(Path file) {
    return file.endsWith("segments/0000000003");
  }

  /** Some of what these say is for verify alone, or for who writes. */
  private static boolean countsOrBounds(Path file) {
    return file.endsWith("store.json") || file.toString().contains("/checkpoints/");
  }

  /** Of a bucket that is closed nobody reads the data files (rule C2). */
  private static boolean saysNothing(Path file) {
    boolean mark = file.endsWith("prelock") || SealName.parse(file.getFileName() + "").isPresent();
    return mark || isDataFile(file) && !file.equals(openFile);
  }

  /** The files that are edited: of the other log none. */
  private static List<Path> edited() {
    return files.keySet().stream().filter(f -> !f.startsWith(root.resolve("logs/other"))).toList();
  }

  private static List<byte[]> ofItsKind(Path file) {
    return files.entrySet().stream()
        .filter(f -> kind(f.getKey()).equals(kind(file)) && !f.getKey().equals(file))
        .map(Map.Entry::getValue)
        .toList();
  }

  private static String kind(Path file) {
    String name = root.relativize(file).toString().replace("other", "jobs");
    return name.replaceAll("[0-9a-fTZ.]", "");
  }

  private static void put(Map<Path, Optional<byte[]>> others) throws IOException {
    for (var other : others.entrySet()) {
      Files.deleteIfExists(other.getKey());
      if (other.getValue().isPresent()) {
        Files.write(other.getKey(), other.getValue().get());
      }
    }
  }

  private static void restore(Set<Path> others) throws IOException {
    var good = new HashMap<Path, Optional<byte[]>>();
    others.forEach(file -> good.put(file, Optional.ofNullable(files.get(file))));
    put(good);
  }

  private interface Edits {
    List<Edit> of(Path file) throws IOException;
  }

  /**
   * Asks each reader of each edit of each file, or a share of that.
   *
   * @param exact whether what names the damage names that file
   */
  private void each(int every, boolean exact, Edits edits) throws IOException {
    for (Path file : edited()) {
      for (Edit edit : edits.of(file)) {
        boolean gone = edit == VANISHED;
        if (Arrays.equals(edit.bytes(), bytes(file)) && !gone) {
          continue;
        }
        var other = Map.of(file, gone ? Optional.<byte[]>empty() : Optional.of(edit.bytes()));
        for (String reader : readers.names()) {
          boolean always =
              reader.equals("verify")
                  && file.equals(aLock())
                  && edit.what().matches("(header|trailer): .*");
          if (cases++ % Share.step(every) == Share.first(every) || always) {
            put(other);
            Answer answer = readers.ask(reader);
            restore(other.keySet());
            boolean needed = gone && NEEDED.contains(file.getFileName() + "");
            told(
                reader + ": " + root.relativize(file) + ": " + edit.what(),
                needed && answer.error() instanceof NotAStoreException
                    ? ""
                    : judged(file, exact, reader, answer));
          }
        }
      }
    }
    allAreRight();
  }

  private void told(String what, String fault) {
    asked++;
    if (!fault.isEmpty()) {
      wrong.add(what + ": " + fault);
      if (wrong.size() == MOST) {
        allAreRight();
      }
    }
  }

  private void allAreRight() {
    assertTrue(asked >= 80, () -> asked + " cases");
    assertEquals("", String.join("\n", wrong), () -> wrong.size() + " of " + asked);
  }

  /**
   * Of what is not the file that it must be.
   *
   * @param exact whether what names the damage names this file
   */
  private static String judged(Path file, boolean exact, String reader, Answer answer) {
    List<String> right = good(reader);
    List<String> lines = answer.lines();
    Exception e = answer.error();
    if (e != null && !names(e, exact ? file : root)) {
      return "error " + e;
    }
    boolean open = file.equals(openFile);
    boolean unread = open || saysNothing(file);
    return switch (reader) {
      case "verify" ->
          answer.told() && (e != null || !exact || answer.damage().contains(file))
              ? ""
              : unread ? "" : "found " + answer.damage();
      case "audit" ->
          e != null
                  || !lines.isEmpty()
                  || unread
                  || isUnnamed(file)
                  || !exact && countsOrBounds(file)
              ? ""
              : "passed";
      case "salvage" ->
          right.stream().filter(lines::contains).toList().equals(lines.stream().distinct().toList())
                      && (lines.size() == right.size() || open || answer.told())
                  || !exact && (answer.told() || isUnnamed(file))
              ? ""
              : differ(right, lines) + ", damage " + answer.damage();
      case "cat", "cat --live" ->
          lines.equals(right)
                  || lines.equals(right.subList(0, Math.min(lines.size(), right.size())))
                      && (e != null || open)
              ? ""
              : "gave " + lines;
      case "status" ->
          e != null || lines.equals(right) || open || isUnnamed(file) ? "" : "gave " + lines;
      case "reader.py" -> // which believes settings that can't be
          e != null || lines.equals(right) || !exact && file.endsWith("store.json")
              ? ""
              : "gave " + lines;
      default -> e != null || lines.equals(right) ? "" : "gave " + lines;
    };
  }

  private static String differ(List<String> right, List<String> lines) {
    List<String> lost = right.stream().filter(l -> !lines.contains(l)).toList();
    return "lost " + lost + ", gave " + lines.stream().filter(l -> !right.contains(l)).toList();
  }

  /** Whether it is an error of the one kind, and names a file there. */
  private static boolean names(Exception e, Path there) {
    if (e instanceof DamagedException d) {
      return d.path().path().startsWith(there);
    }
    return e instanceof PythonReader.Told told
        ? told.toString().contains(there.toString())
        : e instanceof NewerFormatException;
  }

  @Test
  @Tag("share")
  void anyByteOfAnyFile() throws IOException {
    each(
        67,
        true,
        file -> {
          List<Edit> edits = ByteEdits.of(bytes(file), ofItsKind(file));
          return saysNothing(file) ? edits.subList(0, Math.min(32, edits.size())) : edits;
        });
  }

  @Test
  @Tag("share")
  void anyFileVanishes() throws IOException {
    each(3, false, file -> isUnnamed(file) ? List.of() : List.of(VANISHED)); // that is built anew
  }

  @Test
  @Tag("share")
  void anythingThatAFileSays() throws IOException {
    each(61, false, file -> consistent(file).stream().filter(e -> isTold(file, e)).toList());
  }

  private static Path aLock() {
    return edited().stream().filter(f -> f.endsWith("lock")).findFirst().orElseThrow();
  }

  /** Not when a log was made, nor what a segment had that expired. */
  private static boolean isTold(Path file, Edit edit) {
    boolean made = file.endsWith("identity") && edit.what().startsWith("created as");
    boolean expired = edit.what().matches("segments[.]0[.]digest with .*");
    return !made && !expired && !edit.what().startsWith(DocumentEdits.HARMLESS);
  }

  private static List<Edit> consistent(Path file) throws IOException {
    byte[] good = bytes(file);
    var edits = new ArrayList<>(DocumentEdits.of(good));
    if (SegmentEdits.isSettledFile(good)) {
      edits.addAll(SegmentEdits.ofIndex(good));
      edits.addAll(SegmentEdits.ofBlocks(good));
      edits.addAll(SegmentEdits.ofBodies(good));
    }
    return edits;
  }

  /** Whoever rewrites all that names a file rewrites the log: then all say the same of it. */
  @Test
  @Tag("share")
  void anythingThatAFileSaysAndAllThatNamesIt() throws IOException {
    Path unnamed = edited().stream().filter(HostileBytesTest::isUnnamed).findFirst().orElseThrow();
    for (Path file : edited()) {
      for (Edit edit : file.equals(unnamed) ? List.<Edit>of() : consistent(file)) {
        boolean always = file.equals(aLock()) && !edit.what().contains("byte ");
        if (cases++ % Share.step(17) == Share.first(17) || always) {
          var others = Rippled.of(files, file, edit.bytes());
          others.put(unnamed, Optional.empty()); // verify would compare it
          put(others);
          boolean readInPart = file.endsWith("store.json") || file.endsWith("0000000003");
          String fault = disagreement(readInPart);
          restore(others.keySet());
          told(root.relativize(file) + ": " + edit.what(), fault);
        }
      }
    }
    allAreRight();
  }

  /**
   * @param readInPart whether it is store.json, or the record at a checkpoint's line: reader.py
   *     looks at what it needs
   */
  private String disagreement(boolean readInPart) {
    Answer cat = readers.ask("cat");
    Answer verify = readers.ask("verify");
    Answer py = readers.ask("reader.py");
    for (Answer a : List.of(cat, verify, py)) {
      if (a.error() != null && !names(a.error(), root)) {
        return "error " + a.error();
      }
    }
    long given = cat.lines().stream().filter(l -> !l.startsWith("ignored")).count();
    boolean same = py.lines().stream().anyMatch(l -> l.contains(" = " + given + " "));
    String all =
        "cat %s %s, verify %s %s, reader.py %s"
            .formatted(
                cat.error(),
                differ(good("cat"), cat.lines()),
                verify.error(),
                verify.damage(),
                py.error());
    boolean agreed =
        cat.told()
            ? verify.told() && (py.told() || readInPart)
            : py.told() ? verify.told() : verify.told() || same;
    return agreed ? "" : all;
  }
}
