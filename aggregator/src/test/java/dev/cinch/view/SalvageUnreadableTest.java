package dev.cinch.view;

import static dev.cinch.bag.audit.AuditStore.append;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Log;
import dev.cinch.bag.audit.AuditStore;
import dev.cinch.bag.audit.Salvage;
import dev.cinch.bag.audit.SalvageSink;
import dev.cinch.bag.audit.Salvaged;
import dev.cinch.bag.audit.Salvaged.State;
import dev.cinch.bag.fs.FilterFs;
import dev.cinch.bag.fs.PosixFs;
import dev.cinch.bag.fs.StoreFile;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.fs.UnreadableFs;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.StoreLayout;
import dev.cinch.bag.model.StoreSettings.Leases;
import dev.cinch.bag.storage.posix.PosixStore;
import dev.cinch.bag.write.LeaseStamp;
import dev.cinch.bag.write.LogWriter;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A disk with bad places: they cost what lies in them, and not what lies beside. */
class SalvageUnreadableTest {
  private static final int PAGE = 4096;
  private static final int BUCKETS = 5;

  /** Messages of a bucket, each a batch of nearly a page. */
  private static final int MESSAGES = 4;

  private static final LogName JOBS = new LogName("jobs");

  @TempDir Path temp;

  private Path root;
  private AuditStore s;
  private Log log;
  private final List<String> all = new ArrayList<>();

  @BeforeEach
  void fill() throws Exception {
    root = temp.resolve("store");
    s = new AuditStore(root, Leases.OPTIONAL);
    log = s.store.createLog(JOBS);
    try (LogWriter writer = s.writer(log)) {
      for (int bucket = 0; bucket < BUCKETS; bucket++) {
        long last = 0;
        for (int i = 0; i < MESSAGES; i++) {
          String text = text(bucket * MESSAGES + i);
          last = append(writer, LeaseStamp.NONE, text);
          all.add(text);
        }
        s.settle(log, last);
      }
    }
  }

  /** Letters in which nothing repeats that could be packed. */
  private static String text(int seed) {
    var letters = new Random(seed).ints(3_000, 'A', 'z' + 1);
    return letters
        .collect(StringBuilder::new, StringBuilder::appendCodePoint, StringBuilder::append)
        .toString();
  }

  private Path retire() throws Exception {
    assertEquals(1, new Aggregator(log).run().published());
    s.clock.sleepNanos(7_200_000_000_000L);
    assertEquals(BUCKETS, new Retention(log, Duration.ofHours(1)).run().buckets());
    return log.context().layout().segment(1).path();
  }

  private final class Haul implements SalvageSink {
    private final List<String> lost = new ArrayList<>(all);
    private final List<Path> damage = new ArrayList<>();
    private final List<Path> told = new ArrayList<>();
    private final List<State> states = new ArrayList<>();

    Haul(StoreFs fs) throws IOException {
      assertEquals(
          Salvage.run(PosixStore.unread(fs, root), new StoreLayout(root).log(JOBS), this),
          states.size());
      assertEquals(all.size() - lost.size(), states.size());
    }

    @Override
    public void message(Salvaged message) {
      assertTrue(lost.remove(new String(message.payload(), StandardCharsets.UTF_8)));
      states.add(message.state());
    }

    @Override
    public void left(Kind kind, Name path, long offset, long length, String why) {
      told.add(path.path());
      if (kind == Kind.DAMAGE) {
        damage.add(path.path());
      }
    }
  }

  private Haul unreadable(Path place, long page) throws IOException {
    return new Haul(new UnreadableFs(new PosixFs(null, null), place, page));
  }

  private List<Path> dataFiles() throws IOException {
    try (Stream<Path> walk = Files.walk(root)) {
      return walk.filter(p -> p.toString().endsWith(".log")).sorted().toList();
    }
  }

  /** Without its locks, which have all that is in the data files. */
  private void unlock() throws IOException {
    for (Path file : dataFiles()) {
      Files.deleteIfExists(file.resolveSibling("lock"));
    }
    assertEquals(List.of(), new Haul(new PosixFs(null, null)).lost);
  }

  @Test
  void p7_anUnreadablePageOfADataFileCostsTheBatchesInIt() throws Exception {
    unlock();
    boolean any = false;
    for (Path file : dataFiles()) {
      long pages = (Files.size(file) + PAGE - 1) / PAGE;
      assertTrue(pages >= 3, "several pages");
      for (long page = 0; page < pages; page++) {
        Haul haul = unreadable(file, page);
        assertTrue(haul.lost.size() <= 3, page + ": " + haul.lost.size());
        assertFalse(!haul.lost.isEmpty() && !haul.told.contains(file), "" + page);
        any |= !haul.lost.isEmpty();
      }
    }
    assertTrue(any);
  }

  /** A page can't be read, and then the file can't be opened once more to look past the cache. */
  @Test
  void p7_aDataFileThatGoesWhileItIsReadCostsNoOther() throws Exception {
    unlock();
    Path file = dataFiles().get(0);
    int[] opened = {0};
    var fs =
        new FilterFs(new UnreadableFs(new PosixFs(null, null), file, 1)) {
          @Override
          public StoreFile read(Path path) throws IOException {
            if (path.equals(file) && opened[0]++ > 0) {
              throw new NoSuchFileException(path.toString());
            }
            return super.read(path);
          }

          @Override
          public StoreFile readUncached(Path path) throws IOException {
            if (path.equals(file)) {
              throw new NoSuchFileException(path.toString());
            }
            return super.readUncached(path);
          }
        };
    var haul = new Haul(fs);
    assertTrue(haul.damage.contains(file));
    assertTrue(haul.lost.size() <= MESSAGES, "" + haul.lost.size());
  }

  /** The first one holds the header too, whose checksum that of every block is begun with. */
  @Test
  void p7_anUnreadablePageOfASegmentCostsTheBucketsInIt() throws Exception {
    Path segment = retire();
    long pages = (Files.size(segment) + PAGE - 1) / PAGE;
    for (long page = 0; page < pages; page++) {
      Haul haul = unreadable(segment, page);
      assertTrue(haul.lost.size() <= 2 * MESSAGES, page + ": " + haul.lost.size());
      assertEquals(List.of(segment), haul.damage.stream().distinct().toList(), "" + page);
    }
  }

  @Test
  void p7_aDirectoryThatCanNotBeListedIsToldAndCostsProofsOnly() throws Exception {
    Path records = log.context().layout().records().path();
    Path group = records.resolve("0000000");
    for (Path place : List.of(records, group)) {
      Haul haul = unreadable(place, 0);
      assertEquals(List.of(), haul.lost);
      assertEquals(List.of(place), haul.damage);
      assertEquals(List.of(State.UNPROVEN), haul.states.stream().distinct().toList());
    }
    Haul haul = unreadable(log.context().layout().checkpoints().path(), 0);
    assertEquals(List.of(), haul.lost);
  }

  @Test
  void p7_bucketsThatAreGoneAreTold() throws Exception {
    Path buckets = log.context().layout().buckets().path();
    Path first = java.util.Objects.requireNonNull(dataFiles().get(0).getParent());
    Path group = java.util.Objects.requireNonNull(first.getParent());
    var fs = new PosixFs(null, null);
    for (Path gone : List.of(first, group, buckets)) {
      Files.move(gone, temp.resolve("gone"));
      Haul haul = new Haul(fs);
      assertFalse(haul.lost.isEmpty());
      assertEquals(haul.lost.size() / MESSAGES, haul.damage.size());
      assertEquals(List.of(buckets), haul.damage.stream().distinct().toList());
      Files.move(temp.resolve("gone"), gone);
    }
    assertEquals(1, new Aggregator(log).run().published());
    Files.move(first, temp.resolve("gone"));
    Haul haul = new Haul(fs);
    assertEquals(List.of(), haul.lost, "a segment has it");
    assertEquals(List.of(), haul.damage);
  }

  @Test
  void p7_segmentsAndRecordsThatAreGoneAreTold() throws Exception {
    var fs = new PosixFs(null, null);
    Path record = log.context().layout().record(2).path();
    Files.move(record, temp.resolve("gone"));
    Haul haul = new Haul(fs);
    assertEquals(List.of(), haul.lost);
    assertEquals(List.of(record), haul.damage);
    assertTrue(haul.states.contains(State.UNPROVEN));
    Files.move(temp.resolve("gone"), record);
    Path segment = retire();
    Files.delete(segment);
    haul = new Haul(fs);
    assertEquals(all, haul.lost);
    assertEquals(List.of(segment), haul.damage);
    Path last = log.context().layout().record(BUCKETS).path();
    Files.delete(last);
    assertTrue(new Haul(fs).damage.contains(last));
  }
}
