package dev.cinch.cli.serve;

import static java.util.Objects.requireNonNull;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Log;
import dev.cinch.bag.audit.AuditStore;
import dev.cinch.bag.audit.KeyForgeries;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.StoreSettings.Leases;
import dev.cinch.bag.write.LeaseStamp;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.cli.Cinch;
import dev.cinch.lease.witness.SigningKey;
import dev.cinch.lease.witness.WitnessSigner;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Keys on the command line: made, pinned, signed, altered and forged (rule F3). */
class KeysTest {
  private static final List<List<String>> READERS =
      List.of(
          List.of("cat", "--log=jobs"),
          List.of("cat", "--log=jobs", "--live"),
          List.of("view", "cat", "--log=jobs"),
          List.of("cat", "--all"));

  @TempDir Path temp;

  private int stores;

  /** A store that was filled. */
  private record Filled(Path root, KeyForgeries forgeries) {}

  private Filled fill(boolean pinned, boolean good) throws Exception {
    Path root = temp.resolve("store" + stores++);
    var s = new AuditStore(root, Leases.REQUIRED, pinned);
    Log log = s.store.createLog(new LogName("jobs"));
    SigningKey key = good ? s.key : KeyForgeries.FORGER;
    var lease = s.first("unit", s.clock.wallNanos() + 900 * AuditStore.SECOND);
    LeaseStamp under = AuditStore.stamp(new WitnessSigner(key).sign(lease));
    try (LogWriter writer = s.writer(log)) {
      s.settle(log, AuditStore.append(writer, under, "one"));
      s.settle(log, AuditStore.append(writer, under, "two"));
    }
    var id = s.store.context().identity().id();
    return new Filled(
        root, new KeyForgeries(root, log.context().layout().root().path(), id, s.key));
  }

  private static Cinch.Ran run(Path store, List<String> command) throws Exception {
    return Cinch.on(store).run(command.toArray(String[]::new));
  }

  @Test
  void f3_anAlteredKeyIsToldByEveryReader() throws Exception {
    for (boolean pinned : new boolean[] {true, false}) {
      for (String name : fill(pinned, true).forgeries().damaging().keySet()) {
        Filled it = fill(pinned, true);
        for (List<String> reader : READERS) {
          assertEquals("one\ntwo\n", run(it.root(), reader).ended(0).out());
        }
        requireNonNull(it.forgeries().damaging().get(name)).run();
        for (List<String> reader : READERS) {
          Cinch.Ran ran = run(it.root(), reader);
          ran.failed(1, "damaged at byte");
          assertEquals("", ran.out(), name);
        }
        assertTrue(run(it.root(), List.of("verify")).ended(1).out().contains("damage "), name);
        run(it.root(), List.of("audit")).ended(1);
      }
    }
  }

  @Test
  void f3_aForgedKeyChangesNoAnswerAndVerifyTells() throws Exception {
    for (String name : fill(true, true).forgeries().idle().keySet()) {
      Filled it = fill(true, true);
      requireNonNull(it.forgeries().idle().get(name)).run();
      for (List<String> reader : READERS) {
        assertEquals("one\ntwo\n", run(it.root(), reader).ended(0).out(), name);
      }
      run(it.root(), List.of("audit")).ended(0);
      String told = run(it.root(), List.of("verify")).ended(1).out();
      assertTrue(told.contains("keys/0000000002"), told);
    }
  }

  @Test
  void aStoreOfWhichNoMessagePassesIsSaidLoudly() throws Exception {
    Filled it = fill(true, false);
    for (List<String> reader : READERS) {
      Cinch.Ran ran = run(it.root(), reader).ended(1);
      assertEquals("", ran.out());
      assertTrue(ran.err().contains("no message passed: all 2 were left out"), ran.err());
    }
    run(it.root(), List.of("cat", "--log=jobs", "--from=2100-01-01T00:00:00Z")).ended(0);
    String told = run(it.root(), List.of("verify")).ended(1).out();
    assertTrue(told.contains("a message that a valid lease permits"), told);
  }
}
