package dev.cinch.bag.storage.posix;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Log;
import dev.cinch.bag.Rig;
import dev.cinch.bag.Store;
import dev.cinch.bag.close.BucketCloser;
import dev.cinch.bag.close.HorizonChain;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.fs.FaultyFs;
import dev.cinch.bag.fs.PosixFs;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.fuzz.DataFile;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.DataFileName;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Receipt;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.bag.model.Stored;
import dev.cinch.bag.read.LogReader;
import dev.cinch.bag.storage.Freshness;
import dev.cinch.bag.storage.StoreReplacedException;
import dev.cinch.bag.store.LogContext;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.lease.time.SystemTime;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A store that took another one's place gets nothing of what was meant for that (section 1). */
@SuppressWarnings("NullAway.Init")
class ReplacedLogTest {
  private static final Bucket BUCKET = DataFile.HEADER.bucket();
  private static final DataFileName NAME = DataFile.HEADER.name();

  private final StoreFs fs = new PosixFs(null, null);
  @TempDir Path directory;
  private LogContext old;
  private LogContext now;
  private Log oldLog;
  private Log nowLog;

  @BeforeEach
  void replace() throws Exception {
    Path root = directory.resolve("store");
    oldLog = make(root, 1);
    Path unused = Files.move(root, directory.resolve("old"));
    nowLog = make(root, 2);
    old = oldLog.context();
    now = nowLog.context();
  }

  private Log make(Path root, long seed) throws IOException {
    Store.Environment here = Rig.at(root, seed).environment(fs, SystemTime.INSTANCE);
    return Store.init(root, StoreSettings.DEFAULT, here).createLog(Rig.JOBS);
  }

  @Test
  void nothingIsWritten() throws Exception {
    try (LogWriter writer = oldLog.writer(Durability.CLOSE)) {
      Receipt receipt = writer.append(new byte[] {1});
      assertInstanceOf(Receipt.Rejected.class, receipt);
    }
    for (Bucket bucket : now.buckets().known(Long.MIN_VALUE, Long.MAX_VALUE)) {
      for (DataFileName name : now.buckets().look(bucket, Freshness.CERTAIN).files()) {
        Name file = LogLayout.dataFile(now.layout().bucket(bucket), name);
        try (Stored in = now.storage().open(file, Freshness.CERTAIN)) {
          assertEquals(0, in.size());
        }
      }
    }
  }

  @Test
  void noDocumentIsPublished() throws Exception {
    Name record = old.layout().record(1);
    Name seal = old.layout().recordSeal(1, "a".repeat(64));
    now.storage().prepare(now.layout().recordGroup(0));
    assertThrows(StoreReplacedException.class, () -> old.publish(record, new byte[] {1}));
    assertThrows(StoreReplacedException.class, () -> old.publish(seal, new byte[0]));
    for (Name document : List.of(record, seal)) {
      assertThrows(
          NoSuchFileException.class,
          () -> now.storage().read(document, 10, Freshness.CACHED, bytes -> bytes));
    }
  }

  /** Before the look it is another one, and after it there is no temporary file of that name. */
  @Test
  void noDocumentIsPublishedWheneverTheStoreIsReplaced() throws Exception {
    boolean fired = true;
    for (int k = 0; fired; k++) {
      Path root = directory.resolve("at" + k);
      Path away = directory.resolve("away" + k);
      var slow = new FaultyFs(fs);
      Store.Environment here = Rig.at(root, 1).environment(slow, SystemTime.INSTANCE);
      LogContext log = Store.init(root, StoreSettings.DEFAULT, here).createLog(Rig.JOBS).context();
      log.storage().prepare(log.layout().recordGroup(0));
      int at = k;
      int[] done = {0};
      slow.before(
          op -> {
            if (done[0]++ == at) {
              Path unused = Files.move(root, away);
              LogContext other = make(root, 2).context();
              other.storage().prepare(other.layout().recordGroup(0));
            }
          });
      try {
        log.publish(log.layout().record(1), new byte[] {1});
      } catch (IOException e) {
        assertTrue(done[0] > at, "" + e);
      }
      slow.before(op -> {});
      fired = done[0] > at;
      assertTrue(!fired || !Files.exists(log.layout().record(1).path()), "operation " + k);
      assertTrue(fired || k > 8);
    }
  }

  @Test
  void noDocumentOfTheStoreIsMade() throws Exception {
    Name ceilings = old.store().layout().ceilings();
    assertThrows(
        StoreReplacedException.class,
        () -> old.store().publish(ceilings.resolve("one"), new byte[0]));
    assertThrows(
        StoreReplacedException.class,
        () -> old.store().publish(ceilings.resolve("two"), new byte[] {1}));
    assertEquals(List.of(), now.store().listNow(ceilings));
  }

  /** It is not damaged, whether the new one has records or not. */
  @Test
  void whoReadsOrFollowsTheOldOneIsTold() throws Exception {
    for (int records = 0; records < 2; records++) {
      try (var following = oldLog.follow(Instant.EPOCH)) {
        var e = assertThrows(UncheckedIOException.class, following::hasNext);
        assertInstanceOf(StoreReplacedException.class, e.getCause(), records + " records");
      }
      if (records > 0) {
        var reader = new LogReader(old);
        assertThrows(
            StoreReplacedException.class,
            () -> reader.settled(Long.MIN_VALUE, Long.MAX_VALUE, m -> true, (m, f, why) -> {}));
        assertThrows(
            StoreReplacedException.class,
            () -> reader.live(Long.MIN_VALUE, Long.MAX_VALUE, m -> true, (m, f, why) -> {}));
      }
      HorizonChain.Link unused = nowLog.horizon().end();
    }
  }

  /** As where a mount has gone. */
  @Test
  void aStoreThatIsAwayIsNotDamaged() throws Exception {
    Path unused = Files.move(directory.resolve("store"), directory.resolve("away"));
    Files.createDirectory(directory.resolve("store"));
    var e =
        assertThrows(
            NoSuchFileException.class,
            () ->
                new LogReader(old)
                    .settled(Long.MIN_VALUE, Long.MAX_VALUE, m -> true, (m, f, why) -> {}));
    assertTrue(String.valueOf(e.getMessage()).endsWith("store.json"), e.getMessage());
  }

  /** That is damage. */
  @Test
  void aLogWhoseDirectoryIsLostIsDamaged() throws Exception {
    Path unused = Files.move(now.layout().root().path(), directory.resolve("log"));
    assertThrows(
        DamagedException.class,
        () ->
            new LogReader(now)
                .settled(Long.MIN_VALUE, Long.MAX_VALUE, m -> true, (m, f, why) -> {}));
  }

  @Test
  void noLockIsPublished() throws Exception {
    Name place = now.layout().bucket(BUCKET);
    now.storage().enter(LogLayout.dataFile(place, NAME), Durability.CLOSE).leave();
    var closer = new BucketCloser(old);
    assertThrows(StoreReplacedException.class, () -> closer.close(BUCKET, end -> false));
    Name lock = LogLayout.lock(place);
    assertFalse(now.storage().isThere(lock, Freshness.CERTAIN));
  }
}
