package dev.cinch.view;

import static dev.cinch.bag.audit.AuditStore.append;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Log;
import dev.cinch.bag.Store;
import dev.cinch.bag.audit.AuditStore;
import dev.cinch.bag.audit.Salvage;
import dev.cinch.bag.audit.SalvageSink;
import dev.cinch.bag.audit.Salvaged;
import dev.cinch.bag.audit.Salvaged.State;
import dev.cinch.bag.file.SegmentReader;
import dev.cinch.bag.format.SegmentBlock;
import dev.cinch.bag.format.SegmentHeader;
import dev.cinch.bag.format.SegmentIndex;
import dev.cinch.bag.fs.CorruptCacheFs;
import dev.cinch.bag.fs.PosixFs;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.StoreLayout;
import dev.cinch.bag.model.StoreSettings.Leases;
import dev.cinch.bag.storage.posix.PosixStore;
import dev.cinch.bag.write.LeaseStamp;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.lease.Share;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Damage of every kind, everywhere in a small store: what is whole comes out, nothing else does,
 * and readers give the right answer or none.
 */
class SalvageTest {
  private static final LogName JOBS = new LogName("jobs");

  @TempDir Path temp;

  private Path root;
  private AuditStore s;
  private Log log;

  /** The ends of the batches of each data file, each of one message, and what the message says. */
  private final Map<Path, TreeMap<Long, String>> ends = new HashMap<>();

  private final List<String> all = new ArrayList<>();

  @BeforeEach
  void fill() throws Exception {
    root = temp.resolve("store");
    s = new AuditStore(root, Leases.OPTIONAL);
    log = s.store.createLog(JOBS);
    var aggregator = new Aggregator(log, new Aggregator.Limits(1, Long.MAX_VALUE));
    try (LogWriter writer = s.writer(log);
        LogWriter other = s.writer(log)) {
      for (String bucket : List.of("retired", "both", "closed", "open")) {
        long last = 0;
        for (String text : List.of("a", "b", "c")) {
          last = write(writer, bucket + " " + text);
        }
        last = write(other, bucket + " other");
        if (!bucket.equals("open")) {
          s.settle(log, last);
        }
        if (bucket.equals("retired") || bucket.equals("both")) {
          assertEquals(1, aggregator.run().published());
        }
        if (bucket.equals("retired")) {
          s.clock.sleepNanos(7_200_000_000_000L);
          assertEquals(1, new Retention(log, Duration.ofHours(1)).run().buckets());
        }
      }
    }
    ends.keySet().removeIf(file -> !Files.exists(file));
  }

  private long write(LogWriter writer, String text) throws Exception {
    var before = sizes();
    long timestamp = append(writer, LeaseStamp.NONE, text);
    all.add(text);
    sizes()
        .forEach(
            (file, size) -> {
              if (!size.equals(before.get(file))) {
                ends.computeIfAbsent(file, f -> new TreeMap<>()).put(size, text);
              }
            });
    return timestamp;
  }

  private Map<Path, Long> sizes() throws IOException {
    var sizes = new HashMap<Path, Long>();
    for (Path file : files()) {
      if (file.toString().endsWith(".log")) {
        sizes.put(file, Files.size(file));
      }
    }
    return sizes;
  }

  private List<Path> files() throws IOException {
    try (Stream<Path> walk = Files.walk(root)) {
      return walk.filter(Files::isRegularFile).sorted().toList();
    }
  }

  private static void put(Path file, byte[] bytes) throws IOException {
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-rw-r--"));
    Files.write(file, bytes, StandardOpenOption.WRITE, StandardOpenOption.TRUNCATE_EXISTING);
  }

  /** What a salvage finds. */
  private final class Haul implements SalvageSink {
    private final List<Salvaged> messages = new ArrayList<>();
    private final List<Path> damage = new ArrayList<>();

    Haul() throws IOException {
      this(new PosixFs(null, null));
    }

    Haul(StoreFs fs) throws IOException {
      long count = Salvage.run(PosixStore.unread(fs, root), new StoreLayout(root).log(JOBS), this);
      assertEquals(messages.size(), count);
    }

    @Override
    public void message(Salvaged message) {
      messages.add(message);
    }

    @Override
    public void left(Kind kind, Name path, long offset, long length, String why) {
      if (kind == Kind.DAMAGE) {
        damage.add(path.path());
      }
    }

    List<String> texts() {
      return messages.stream().map(m -> new String(m.payload(), StandardCharsets.UTF_8)).toList();
    }

    /** What is missing; what is there must be of the store, in its order, once. */
    List<String> lost(String what) {
      List<String> texts = texts();
      List<String> lost = all.stream().filter(t -> !texts.contains(t)).toList();
      assertEquals(all.stream().filter(texts::contains).toList(), texts, what);
      return lost;
    }
  }

  @Test
  void aWholeStoreComesOutWhole() throws Exception {
    var haul = new Haul();
    assertEquals(all, haul.texts());
    assertEquals(List.of(), haul.damage);
    for (Salvaged m : haul.messages) {
      boolean open = new String(m.payload(), StandardCharsets.UTF_8).startsWith("open");
      assertEquals(open ? State.UNSETTLED : State.SETTLED, m.state());
    }
  }

  @Test
  @Tag("share")
  void everyFlippedByteCostsItsBatchAndNothingElse() throws Exception {
    for (Path file : files()) {
      byte[] good = Files.readAllBytes(file);
      for (int i = Share.first(37); i < good.length; i += Share.step(37)) {
        byte[] bad = good.clone();
        bad[i] ^= 1;
        put(file, bad);
        String what = "byte " + i + " of " + root.relativize(file);
        var haul = new Haul();
        List<String> lost = haul.lost(what);
        if (!lost.isEmpty()) {
          // In a bucket that is not closed the last batch may as well be torn.
          assertTrue(haul.damage.contains(file) || open(file), what);
          assertEquals(mayCost(file, i), lost, what);
        }
        readersAreRightOrSilent(what);
      }
      put(file, good);
    }
    assertEquals(all, new Haul().texts());
  }

  /** What a flipped byte may cost: its batch, and of a segment what stands nowhere else. */
  private List<String> mayCost(Path file, int at) {
    TreeMap<Long, String> batches = ends.get(file);
    if (batches != null) {
      return List.of(batches.higherEntry((long) at).getValue());
    }
    // The header's checksum, with which that of every block begins, is in the trailer's too.
    boolean only = file.endsWith("segments/0000000001") && at >= SegmentHeader.BYTES;
    return only ? all.stream().filter(t -> t.startsWith("retired")).toList() : List.of();
  }

  /** It reads segments twice: to find the blocks, and to get the messages out. */
  @Test
  void p7_aPageThatIsBadTheSecondTimeIsNotTakenForData() throws Exception {
    Path segment = log.context().layout().segment(1).path();
    int[] opened = {0};
    var fs =
        new CorruptCacheFs(
            new PosixFs(null, null), file -> file.equals(segment) && ++opened[0] > 1, 200);
    var haul = new Haul(fs);
    assertTrue(opened[0] > 1);
    assertEquals(all, haul.texts());
    assertEquals(List.of(), haul.damage);
  }

  @Test
  void p7_aBlockThatDecaysBetweenIsToldAndNotTakenForData() throws Exception {
    Path segment = log.context().layout().segment(1).path();
    byte[] good = Files.readAllBytes(segment);
    List<String> retired = all.stream().filter(t -> t.startsWith("retired")).toList();
    byte[] bad = good.clone();
    try (SegmentReader reader = SegmentReader.open(log.context(), 1)) {
      SegmentIndex index = reader.index();
      int first = 0;
      while (index.kind(first) != SegmentBlock.MESSAGES) {
        first++;
      }
      bad[(int) index.offset(first) + index.length(first) - 1] ^= 1;
    }
    int[] opened = {0};
    var fs =
        new CorruptCacheFs(
            new PosixFs(null, null),
            file -> {
              if (file.equals(segment) && ++opened[0] == 2) {
                decay(segment, bad);
              }
              return false;
            },
            0);
    var haul = new Haul(fs);
    assertEquals(retired, haul.lost("after decay"));
    assertEquals(List.of(segment), haul.damage);
  }

  private static void decay(Path file, byte[] bad) {
    try {
      put(file, bad);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Test
  @Tag("share")
  void aFileCutAnywhereGivesWhatIsBeforeTheCut() throws Exception {
    for (Path file : files()) {
      byte[] good = Files.readAllBytes(file);
      for (int length = Share.first(37); length < good.length; length += Share.step(37)) {
        put(file, Arrays.copyOf(good, length));
        String what = root.relativize(file) + " cut to " + length;
        var haul = new Haul();
        List<String> lost = haul.lost(what);
        TreeMap<Long, String> batches = ends.get(file);
        if (batches != null) {
          List<String> behind = List.copyOf(batches.tailMap((long) length, false).values());
          assertTrue(behind.containsAll(lost), what + " lost " + lost);
        } else if (!file.endsWith("segments/0000000001")) {
          assertEquals(List.of(), lost, what);
        }
        assertTrue(lost.isEmpty() || open(file) || haul.damage.contains(file), what);
      }
      put(file, good);
    }
  }

  /** Whether it is a data file of the bucket that is not closed. */
  private boolean open(Path file) {
    TreeMap<Long, String> batches = ends.get(file);
    return batches != null && batches.firstEntry().getValue().startsWith("open");
  }

  /** What data files say beside a whole lock, or a segment, counts for nothing (rule C2). */
  @Test
  void dataFilesCountWhereALockIsNotWhole() throws Exception {
    for (Path file : List.copyOf(ends.keySet())) {
      if (open(file)) {
        continue;
      }
      byte[] good = Files.readAllBytes(file);
      put(file, Arrays.copyOf(good, good.length - 10));
      var haul = new Haul();
      assertEquals(all, haul.texts());
      assertEquals(List.of(), haul.damage);
      put(file, good);
      Path lock = file.resolveSibling("lock");
      byte[] whole = Files.readAllBytes(lock);
      put(lock, Arrays.copyOf(whole, whole.length - 1));
      var again = new Haul();
      assertEquals(all, again.texts());
      assertTrue(again.damage.contains(lock), again.damage::toString);
      put(lock, whole);
    }
    Path segment = log.context().layout().segment(2).path();
    byte[] bad = Files.readAllBytes(segment);
    for (int at : occurrences(bad, "both ")) {
      bad[at] ^= 1;
    }
    put(segment, bad);
    var haul = new Haul();
    assertEquals(all, haul.texts());
    assertEquals(List.of(segment), haul.damage);
  }

  private static List<Integer> occurrences(byte[] bytes, String text) {
    String all = new String(bytes, StandardCharsets.ISO_8859_1);
    var found = new ArrayList<Integer>();
    for (int at = all.indexOf(text); at >= 0; at = all.indexOf(text, at + 1)) {
      found.add(at);
    }
    assertFalse(found.isEmpty());
    return found;
  }

  private Path bucketOf(String texts) {
    return ends.entrySet().stream()
        .filter(e -> e.getValue().firstEntry().getValue().startsWith(texts))
        .map(e -> java.util.Objects.requireNonNull(e.getKey().getParent()))
        .findFirst()
        .orElseThrow();
  }

  private static void copy(Path from, Path to) throws IOException {
    try (Stream<Path> walk = Files.walk(from)) {
      for (Path file : walk.toList()) {
        Path copy = to.resolve(from.relativize(file).toString());
        if (!Files.isDirectory(copy)) {
          Files.copy(file, copy);
        }
      }
    }
  }

  /** Settles all without the bucket that is open, and retires all; that writer sleeps. */
  private void retireWithoutOpen(Path aside) throws Exception {
    Path late = bucketOf("open");
    Files.move(late, aside);
    all.removeIf(text -> text.startsWith("open"));
    for (int i = 0; i < 2; i++) {
      s.clock.sleepNanos(10_000_000_000L);
      s.settle(log, s.clock.wallNanos());
    }
    var aggregator = new Aggregator(log, new Aggregator.Limits(1, Long.MAX_VALUE));
    assertEquals(3, aggregator.run().published());
    s.clock.sleepNanos(7_200_000_000_000L);
    assertEquals(2, new Retention(log, Duration.ofHours(1)).run().buckets());
    assertEquals(all, new Haul().texts());
    Files.createDirectories(java.util.Objects.requireNonNull(late.getParent()));
  }

  @Test
  void r2_aBucketMadeAfterItsTimeWasRetiredDoesNotExist() throws Exception {
    Path late = bucketOf("open");
    retireWithoutOpen(temp.resolve("aside"));
    copy(temp.resolve("aside"), late);
    assertLateDoesNotExistUnlessSegmentsAreDamaged();
  }

  /** The closer's view is that of the store before: a copy, in which it closes the bucket. */
  @Test
  void r2_norIfACloserThatSleptLinksARetiredRecordAgain() throws Exception {
    Path late = bucketOf("open");
    Path before = temp.resolve("before");
    copy(root, before);
    Log asleep = Store.open(before, s.environment).log(JOBS);
    retireWithoutOpen(temp.resolve("aside"));
    asleep
        .horizon()
        .advance(s.clock.wallNanos() - 3_600_000_000_000L, OptionalLong.of(s.clock.wallNanos()));
    copy(before.resolve(root.relativize(late)), late);
    Path record = asleep.context().layout().record(4).path();
    Path again = log.context().layout().record(4).path();
    assertFalse(Files.exists(again));
    Files.copy(record, again);
    assertLateDoesNotExistUnlessSegmentsAreDamaged();
  }

  private void assertLateDoesNotExistUnlessSegmentsAreDamaged() throws Exception {
    var haul = new Haul();
    assertEquals(all, haul.texts());
    assertEquals(List.of(), haul.damage);
    readersAreRightOrSilent("a late bucket");
    var layout = log.context().layout();
    for (Name name : List.of(layout.checkpoint(5), layout.segment(4), layout.segment(1))) {
      Path file = name.path();
      byte[] good = Files.readAllBytes(file);
      byte[] bad = good.clone();
      bad[bad.length - 60] ^= 1;
      put(file, bad);
      assertLateIsUnproven();
      put(file, good);
      Files.move(file, temp.resolve("moved"));
      assertLateIsUnproven();
      Files.move(temp.resolve("moved"), file);
    }
    assertEquals(all, new Haul().texts());
  }

  private void assertLateIsUnproven() throws IOException {
    List<Salvaged> late =
        new Haul()
            .messages.stream()
                .filter(m -> new String(m.payload(), StandardCharsets.UTF_8).startsWith("open"))
                .toList();
    assertEquals(4, late.size());
    for (Salvaged m : late) {
      assertEquals(State.UNPROVEN, m.state());
    }
  }

  @Test
  void everyMissingFileCostsWhatOnlyItHeld() throws Exception {
    for (Path file : files()) {
      byte[] good = Files.readAllBytes(file);
      Path directory = java.util.Objects.requireNonNull(file.getParent());
      Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwxrwxr-x"));
      Files.delete(file);
      String what = root.relativize(file) + " is gone";
      var haul = new Haul();
      List<String> lost = haul.lost(what);
      assertTrue(lost.isEmpty() || open(file) || haul.damage.contains(file), what);
      TreeMap<Long, String> batches = ends.get(file);
      if (batches != null) {
        assertTrue(batches.values().containsAll(lost), what);
        boolean kept = batches.firstEntry().getValue().startsWith("both");
        assertTrue(!kept || lost.isEmpty(), what);
      } else {
        assertEquals(file.endsWith("segments/0000000001") ? 4 : 0, lost.size(), what);
      }
      Files.write(file, good);
    }
    assertEquals(all, new Haul().texts());
  }

  /** Wrong bytes, or a part without a word, would be the worst of all. */
  private void readersAreRightOrSilent(String what) throws Exception {
    var seen = new ArrayList<String>();
    try {
      Log read = Store.open(root, s.environment).log(JOBS);
      read.reader()
          .settled(
              Long.MIN_VALUE,
              Long.MAX_VALUE,
              false,
              m -> seen.add(new String(m.payload(), StandardCharsets.UTF_8)),
              (m, f, why) -> {});
    } catch (IOException e) {
      assertTrue(isPrefix(seen), what);
      return;
    }
    assertFalse(seen.isEmpty(), what);
    assertTrue(isPrefix(seen) && seen.size() % 4 == 0, what + " gave " + seen);
  }

  private boolean isPrefix(List<String> seen) {
    return all.subList(0, seen.size()).equals(seen);
  }
}
