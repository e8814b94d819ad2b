package dev.cinch.bag.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.cinch.bag.Ledger;
import dev.cinch.bag.Log;
import dev.cinch.bag.NotAStoreException;
import dev.cinch.bag.Rig;
import dev.cinch.bag.Store;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.storage.posix.PosixStore;
import dev.cinch.bag.write.LogWriter;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A log whose identity was removed: a new one would make all that it holds another log's. */
class LostIdentityTest {
  @Test
  void aLogThatHasRecordsIsNotMadeAgain() throws Exception {
    Rig rig = Rig.memory(3);
    StoreFs fs = rig.disk.view(Rig.ALICE);
    Log log = rig.open(fs);
    var ledger = new Ledger();
    try (LogWriter writer = log.writer(Durability.SYNC)) {
      ledger.append(writer, "m");
    }
    rig.settle(log);
    LogLayout layout = log.context().layout();
    byte[] identity =
        PosixStore.of(log.context().store().storage())
            .fresh()
            .readAll(layout.identity().path(), 1 << 16);
    fs.unlink(layout.identity().path());
    Store store = Store.open(rig.root, rig.environment(fs, rig.time));
    var refused = assertThrows(NotAStoreException.class, () -> store.createLog(Rig.JOBS));
    assertEquals(
        "/store/logs/jobs holds records and has lost its identity: restore that from a backup, or get the messages out with salvage",
        refused.getMessage());
    assertFalse(
        PosixStore.of(log.context().store().storage()).fresh().exists(layout.identity().path()));
    PosixStore.of(log.context().store().storage())
        .fresh()
        .publish(layout.identity().path(), identity, 0664);
    assertEquals(
        List.of("m"),
        Ledger.settled(store.createLog(Rig.JOBS)).stream().map(Ledger.Found::text).toList());
  }
}
