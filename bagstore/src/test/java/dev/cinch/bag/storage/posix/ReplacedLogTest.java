package dev.cinch.bag.storage.posix;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.cinch.bag.Rig;
import dev.cinch.bag.Store;
import dev.cinch.bag.fs.PosixFs;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.fuzz.DataFile;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.DataFileName;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.bag.storage.Closing;
import dev.cinch.bag.storage.Key;
import dev.cinch.bag.storage.LogStorage;
import dev.cinch.bag.storage.LogStorage.Freshness;
import dev.cinch.bag.store.StoreReplacedException;
import dev.cinch.lease.time.SystemTime;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
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
  private LogStorage old;
  private LogStorage now;

  @BeforeEach
  void replace() throws Exception {
    Path root = directory.resolve("store");
    old = make(root, 1);
    Path unused = Files.move(root, directory.resolve("old"));
    now = make(root, 2);
  }

  private LogStorage make(Path root, long seed) throws IOException {
    Store.Environment here = Rig.at(root, seed).environment(fs, SystemTime.INSTANCE);
    return Store.init(root, StoreSettings.DEFAULT, here).createLog(Rig.JOBS).context().storage();
  }

  @Test
  void nothingIsWritten() {
    assertThrows(StoreReplacedException.class, () -> old.enter(BUCKET, NAME, Durability.CLOSE));
  }

  @Test
  void noDocumentIsPublished() throws Exception {
    assertThrows(
        StoreReplacedException.class, () -> old.publish(new Key.Record(1), new byte[] {1}));
    var seal = new Key.RecordSeal(1, "a".repeat(64));
    assertThrows(StoreReplacedException.class, () -> old.publish(seal, new byte[0]));
    assertEquals(0, now.records(Freshness.CERTAIN).last());
  }

  @Test
  void noLockIsPublished() throws Exception {
    now.enter(BUCKET, NAME, Durability.CLOSE).leave();
    try (Closing closing = old.seal(BUCKET)) {
      assertThrows(StoreReplacedException.class, () -> closing.publish(new byte[] {1}));
    }
    assertEquals(Optional.empty(), now.readIfListed(new Key.Lock(BUCKET), 10, bytes -> bytes));
  }
}
