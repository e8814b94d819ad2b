package dev.cinch.examples;

import static java.util.Objects.requireNonNull;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Log;
import dev.cinch.bag.LogSurvey;
import dev.cinch.bag.Store;
import dev.cinch.bag.audit.AuditStore;
import dev.cinch.bag.audit.Finding;
import dev.cinch.bag.audit.LeaseAuditor;
import dev.cinch.bag.audit.StoreVerifier;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.Message;
import dev.cinch.bag.model.StoreSettings.Leases;
import dev.cinch.bag.read.LogReader;
import dev.cinch.bag.read.MessageSink;
import dev.cinch.bag.write.LeaseStamp;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.examples.DocumentEdits.Edit;
import dev.cinch.lease.Share;
import dev.cinch.lease.Witness;
import dev.cinch.view.Aggregator;
import dev.cinch.view.Expiry;
import dev.cinch.view.Retention;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Whoever may write in a store may change any file and make its digest right again. Of one such
 * edit, every reader gives the answer of the untouched store, or an error: never another answer.
 */
@SuppressWarnings("NullAway.Init")
class ConsistentEditsTest {
  private static final long SECOND = 1_000_000_000L;

  @TempDir static Path temp;

  private static Path root;
  private static AuditStore s;
  private static List<Path> files;
  private static Path openFile;
  private static Map<String, List<String>> good;
  private static PythonReader python;

  @AfterAll
  static void end() {
    python.close();
  }

  private interface Reading {
    List<String> of(Log log) throws IOException;
  }

  private static final Map<String, Reading> READERS = readers();

  /**
   * Part expired, part is retired, part in segments only, part settled, part locked, and part open.
   */
  @BeforeAll
  static void make() throws Exception {
    python = new PythonReader();
    root = temp.resolve("store");
    s = new AuditStore(root, Leases.REQUIRED);
    Log log = s.store.createLog(new LogName("jobs"));
    Witness lease = s.first("unit/1", s.clock.wallNanos() + 3000 * SECOND);
    LeaseStamp stamp = AuditStore.stamp(s.sign(lease));
    var limits = new Aggregator.Limits(2, Long.MAX_VALUE);
    for (int i = 0; i < 2; i++) {
      write(log, stamp, 2);
      assertTrue(new Aggregator(log, limits).run().published() > 0);
      s.clock.sleepNanos(300 * SECOND);
    }
    assertTrue(new Retention(log, Duration.ofSeconds(30)).run().buckets() > 0);
    assertEquals(1, new Expiry(log, Duration.ofSeconds(400)).run(path -> {}).segments());
    write(log, stamp, 2);
    assertTrue(new Aggregator(log, limits).run().published() > 0);
    write(log, stamp, 2);
    try (LogWriter writer = s.writer(log)) {
      AuditStore.append(writer, stamp, "open");
    }
    try (Stream<Path> all = Files.walk(root)) {
      files = all.filter(Files::isRegularFile).sorted().toList();
    }
    openFile =
        files.stream()
            .filter(f -> f.toString().endsWith(".log"))
            .max(Comparator.naturalOrder())
            .orElseThrow();
    for (Path file : files) {
      assertTrue(parent(file).toFile().setWritable(true));
    }
    good = new LinkedHashMap<>();
    for (var reader : READERS.entrySet()) {
      good.put(reader.getKey(), reader.getValue().of(open()));
    }
    assertEquals(18, answer("cat").size());
    assertEquals(19, answer("cat --live").size());
    assertEquals(List.of(), good.get("verify"));
    assertEquals(List.of(), good.get("audit"));
  }

  /** Some buckets with two data files each, settled by as many records. */
  private static void write(Log log, LeaseStamp stamp, int records) throws Exception {
    for (int r = 0; r < records; r++) {
      long last = 0;
      try (LogWriter a = s.writer(log);
          LogWriter b = s.writer(log)) {
        for (int i = 0; i < 3; i++) {
          last = AuditStore.append(i % 2 == 0 ? a : b, stamp, "message " + r + " " + i);
          s.clock.sleepNanos(SECOND);
        }
      }
      s.settle(log, last);
    }
  }

  private static List<String> answer(String reader) {
    return requireNonNull(good.get(reader));
  }

  /**
   * Nothing tells when a log was really made, and no answer here depends on it. Status takes the
   * word of a segment that no checkpoint names.
   */
  private static Predicate<String> asked(Path file) {
    boolean identity = file.endsWith("identity");
    return r ->
        r.equals("reader.py")
            ? edits % 3 == 0
            : !(identity && r.equals("verify") || isUnnamed(file) && r.equals("status"));
  }

  /** Whether it is the segment that no checkpoint names yet. */
  private static boolean isUnnamed(Path file) {
    return parent(file).endsWith("segments") && file.endsWith("0000000003");
  }

  private static Path parent(Path file) {
    return requireNonNull(file.getParent());
  }

  private static Log open() throws IOException {
    return Store.open(root, s.environment).log(new LogName("jobs"));
  }

  private interface Range {
    void read(long from, long to, MessageSink sink, LogReader.Objection objection)
        throws IOException;
  }

  private static Map<String, Reading> readers() {
    var readers = new LinkedHashMap<String, Reading>();
    readers.put("cat", log -> lines((f, t, m, o) -> log.reader().settled(f, t, true, m, o)));
    readers.put("cat --live", log -> lines(log.reader()::live));
    readers.put("audit", log -> texts(LeaseAuditor.audit(open(root)).violations()));
    readers.put("verify", log -> verify());
    readers.put("reader.py", log -> python.read(root));
    readers.put("counts", ConsistentEditsTest::counts);
    readers.put("status", log -> List.of("" + new LogSurvey(log.context()).look()));
    for (int i = 0; i < 2; i++) {
      long from = AuditStore.START + (i + 1) * 300 * SECOND + SECOND;
      long to = from + 12 * SECOND;
      String range = " of some seconds, " + i;
      readers.put(
          "cat" + range, log -> lines((f, t, m, o) -> log.reader().settled(from, to, true, m, o)));
    }
    return readers;
  }

  /** What {@code --tail} goes by. */
  private static List<String> counts(Log log) throws IOException {
    var counts = new ArrayList<String>();
    for (int i = 0; i < 6; i++) { // up to more than there are
      counts.add("last: " + log.reader().startOfLast(1 + 4 * i, Long.MAX_VALUE));
    }
    counts.add("expired: " + log.reader().expired());
    return counts;
  }

  private static Store open(Path store) throws IOException {
    return Store.open(store, s.environment);
  }

  private static List<String> lines(Range range) throws IOException {
    var lines = new ArrayList<String>();
    range.read(
        Long.MIN_VALUE,
        Long.MAX_VALUE,
        m -> lines.add(line(m)),
        (m, file, why) -> lines.add("ignored: " + line(m)));
    return lines;
  }

  private static String line(Message m) {
    return m.timestamp()
        + (m.settled() ? " settled " : " open ")
        + m.file()
        + " "
        + m.position()
        + " "
        + m.leases().size()
        + " "
        + new String(m.payload(), StandardCharsets.UTF_8);
  }

  private static List<String> texts(List<?> values) {
    return values.stream().map(String::valueOf).toList();
  }

  private static List<String> verify() throws IOException {
    var found = new ArrayList<Finding>();
    var unused = StoreVerifier.verify(root, s.environment, found::add);
    return found.stream()
        .filter(f -> f.severity() == Finding.Severity.DAMAGE)
        .map(String::valueOf)
        .toList();
  }

  private static final List<String> wrong = new ArrayList<>();
  private static int edits;

  private static void judge(Path file, Edit edit, Predicate<String> asked) throws IOException {
    byte[] before = Files.readAllBytes(file);
    if (Arrays.equals(before, edit.bytes())) {
      return;
    }
    edits++;
    var attributes = Files.getPosixFilePermissions(file);
    Files.delete(file);
    if (edit.bytes().length > 0) {
      Files.write(file, edit.bytes());
      Files.setPosixFilePermissions(file, attributes);
    }
    try {
      for (var reader : READERS.entrySet()) {
        String name = reader.getKey();
        if (!asked.test(name)) {
          continue;
        }
        List<String> answer;
        try {
          answer = reader.getValue().of(open());
        } catch (IOException e) {
          continue; // an exit code that is not 0
        } catch (RuntimeException e) {
          answer = List.of("!! " + e);
        }
        boolean audits = name.equals("verify") || name.equals("audit");
        boolean right = answer.equals(good.get(name));
        if (name.equals("verify") ? right : !right && !(audits && !answer.isEmpty())) {
          wrong.add(name + ": " + root.relativize(file) + ": " + edit.what());
        }
      }
    } finally {
      Files.deleteIfExists(file);
      Files.write(file, before);
      Files.setPosixFilePermissions(file, attributes);
    }
  }

  @Test
  @Tag("share")
  void everyFieldOfEveryDocument() throws IOException {
    wrong.clear();
    edits = 0;
    for (Path file : files) {
      for (Edit edit : Share.some(DocumentEdits.of(Files.readAllBytes(file)), 31)) {
        // What is said of a segment that expired: nothing is left to compare it with.
        boolean expired = edit.what().matches("segments[.]0[.]digest .*");
        judge(file, edit, asked(file).and(r -> !(expired && r.equals("verify"))));
      }
    }
    report(Share.of(800, 20));
  }

  @Test
  @Tag("share")
  void everyFieldOfEverySegmentsIndex() throws IOException {
    wrong.clear();
    edits = 0;
    for (Path file : files) {
      if (parent(file).endsWith("segments") && Files.size(file) > 0) {
        for (Edit edit : Share.some(SegmentEdits.ofIndex(Files.readAllBytes(file)), 31)) {
          judge(file, edit, asked(file));
        }
        for (Edit edit : Share.some(SegmentEdits.ofBlocks(Files.readAllBytes(file)), 31)) {
          judge(file, edit, r -> r.equals("verify"));
        }
      }
    }
    report(Share.of(500, 12));
  }

  @Test
  @Tag("share")
  void everyFieldOfEveryLock() throws IOException {
    wrong.clear();
    edits = 0;
    for (Path file : files) {
      if (file.endsWith("lock")) {
        byte[] bytes = Files.readAllBytes(file);
        var all = new ArrayList<>(SegmentEdits.ofIndex(bytes));
        all.addAll(SegmentEdits.ofBlocks(bytes));
        for (Edit edit : Share.some(all, 31)) {
          judge(file, edit, asked(file));
        }
      }
    }
    report(Share.of(500, 12));
  }

  @Test
  @Tag("share")
  void everyFileVanishes() throws IOException {
    wrong.clear();
    edits = 0;
    for (Path file : Share.some(files, 5)) {
      boolean known =
          !file.endsWith("prelock") && !file.equals(openFile) && !isUnnamed(file); // built anew
      boolean needed = known && !file.toString().endsWith(".log"); // of closed buckets they may go
      judge(
          file,
          new Edit("vanished", new byte[0]),
          r -> r.equals("verify") ? needed : known || !List.of("cat --live", "status").contains(r));
    }
    report(Share.of(40, 8));
  }

  private static void report(int least) {
    assertTrue(edits >= least, () -> edits + " edits");
    assertEquals(List.of(), wrong, () -> wrong.size() + " wrong answers to " + edits + " edits");
  }
}
