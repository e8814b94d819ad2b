package dev.cinch.bag.storage.posix;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.cinch.bag.Rig;
import dev.cinch.bag.Store;
import dev.cinch.bag.fs.PosixFs;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.fuzz.DataFile;
import dev.cinch.bag.layout.LogLayout;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.DataFileName;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.bag.storage.Closing;
import dev.cinch.bag.store.LogContext;
import dev.cinch.bag.store.StoreReplacedException;
import dev.cinch.lease.time.SystemTime;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
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
  private LogContext old;
  private LogContext now;

  @BeforeEach
  void replace() throws Exception {
    Path root = directory.resolve("store");
    old = make(root, 1);
    Path unused = Files.move(root, directory.resolve("old"));
    now = make(root, 2);
  }

  private LogContext make(Path root, long seed) throws IOException {
    Store.Environment here = Rig.at(root, seed).environment(fs, SystemTime.INSTANCE);
    return Store.init(root, StoreSettings.DEFAULT, here).createLog(Rig.JOBS).context();
  }

  @Test
  void nothingIsWritten() {
    assertThrows(
        StoreReplacedException.class, () -> old.storage().enter(BUCKET, NAME, Durability.CLOSE));
  }

  @Test
  void noDocumentIsPublished() throws Exception {
    Path record = old.layout().record(1);
    Path seal = old.layout().recordSeal(1, "a".repeat(64));
    assertThrows(StoreReplacedException.class, () -> old.storage().publish(record, new byte[] {1}));
    assertThrows(StoreReplacedException.class, () -> old.storage().publish(seal, new byte[0]));
    for (Path document : List.of(record, seal)) {
      assertEquals(Optional.empty(), now.documents().readIfListed(document, 10, bytes -> bytes));
    }
  }

  @Test
  void noDocumentOfTheStoreIsMade() throws Exception {
    Path ceilings = old.store().layout().ceilings();
    assertThrows(StoreReplacedException.class, () -> old.documents().note(ceilings.resolve("one")));
    assertThrows(
        StoreReplacedException.class,
        () -> old.documents().publish(ceilings.resolve("two"), new byte[] {1}));
    assertEquals(List.of(), now.documents().listNow(ceilings));
  }

  @Test
  void noLockIsPublished() throws Exception {
    now.storage().enter(BUCKET, NAME, Durability.CLOSE).leave();
    try (Closing closing = old.storage().seal(BUCKET)) {
      assertThrows(StoreReplacedException.class, () -> closing.publish(new byte[] {1}));
    }
    Path lock = LogLayout.lock(now.layout().bucket(BUCKET));
    assertEquals(Optional.empty(), now.documents().readIfListed(lock, 10, bytes -> bytes));
  }
}
