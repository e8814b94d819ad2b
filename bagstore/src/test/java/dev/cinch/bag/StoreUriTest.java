package dev.cinch.bag;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.MachineName;
import dev.cinch.bag.model.Receipt;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.lease.time.ManualTime;
import java.net.URI;
import java.nio.file.Path;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The storages that {@link Store#open(URI, Store.Environment)} knows. */
class StoreUriTest {
  private final ManualTime time = ManualTime.ticking();

  private Store open(URI where, String machine) throws Exception {
    return Store.open(where, Store.Environment.of(new MachineName(machine), time));
  }

  @Test
  void whoOpensTheSameNameInMemoryHasTheSameStore() throws Exception {
    URI where = URI.create("mem:StoreUriTest");
    try (LogWriter writer = open(where, "m1").createLog(Rig.JOBS).writer(Durability.SYNC)) {
      assertInstanceOf(Receipt.Committed.class, writer.append(new byte[] {1}));
    }
    Log log = open(where, "m2").log(Rig.JOBS);
    time.advanceMs(60_000);
    log.horizon().advance(log.horizon().reachable(), OptionalLong.of(time.wallNanos()));
    assertEquals(1, Ledger.settled(log).size());
    assertEquals(List.of(), open(URI.create("mem:another"), "m1").logs());
    assertEquals(OptionalLong.empty(), open(where, "m1").status().free());
  }

  @Test
  void aFileIsADirectory(@TempDir Path temp) throws Exception {
    Path root = temp.resolve("store");
    var environment = Store.Environment.of(new MachineName("m1"), time);
    Store made = Store.init(root, StoreSettings.DEFAULT, environment);
    assertEquals(
        made.context().identity().id(), open(root.toUri(), "m2").context().identity().id());
    assertTrue(made.status().free().isPresent());
  }

  @Test
  void anotherSchemeIsRefused() {
    var e =
        assertThrows(
            IllegalArgumentException.class, () -> open(URI.create("gs://bucket/store"), "m1"));
    assertEquals(
        "gs://bucket/store: expected file:///DIRECTORY, s3://BUCKET/PREFIX or mem:NAME",
        e.getMessage());
  }
}
