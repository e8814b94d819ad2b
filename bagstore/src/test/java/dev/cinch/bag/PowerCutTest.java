package dev.cinch.bag;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.fs.FaultyFs;
import dev.cinch.bag.fs.FaultyFs.Fault;
import dev.cinch.bag.fs.MemoryFs;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.MachineName;
import dev.cinch.bag.model.Receipt;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.bag.registry.StoreInstances;
import dev.cinch.bag.store.CountingKeys;
import dev.cinch.bag.store.StoreContext;
import dev.cinch.bag.store.TrustedKeyFiles;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.lease.Share;
import dev.cinch.lease.time.ManualTime;
import dev.cinch.lease.witness.SigningKey;
import dev.cinch.lease.witness.TrustedKeys;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalLong;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Power cuts at every operation, with SYNC durability: entries and bytes that nobody forced are
 * lost, or some of them; what was COMMITTED and what was settled is as it was.
 */
class PowerCutTest {
  private static void cut(Rig rig, int percent, long seed) {
    var random = new Random(seed);
    rig.disk.powerCut(() -> random.nextInt(100) < percent);
  }

  private static void finish(Rig rig, Ledger ledger) throws Exception {
    Log other = rig.open(rig.disk.view(Rig.BOB));
    rig.settle(other);
    ledger.check(Ledger.settled(other));
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 50, 90})
  void committedMessagesSurviveACutAtEveryOperation(int percent) throws Exception {
    boolean more = true;
    for (int k = 1; more; k++) {
      Rig rig = Rig.memory(k);
      var ledger = new Ledger();
      var faulty = new FaultyFs(rig.disk.view(Rig.ALICE));
      LogWriter writer = rig.open(faulty).writer(Durability.SYNC);
      faulty.arm(k, Fault.CRASH_AFTER);
      byte[] large = Ledger.payload("large", 40_000);
      more =
          !(ledger.tryAppend(writer, "first", new byte[] {'f', 'i', 'r', 's', 't'})
              && ledger.tryAppend(writer, "large", large)
              && ledger.tryAppend(writer, "last", new byte[] {'l', 'a', 's', 't'}));
      cut(rig, percent, k);
      finish(rig, ledger);
    }
  }

  @Test
  void aStoreThatWasMadeSurvivesWithAllThatInstancesOfTheServiceNeed() throws Exception {
    var time = ManualTime.ticking();
    var disk = new MemoryFs(time);
    Path root = Path.of("/store");
    var environment =
        new Store.Environment(disk.view(Rig.ALICE), new MachineName("m"), time, new Random(1));
    Store made = Store.init(root, StoreSettings.DEFAULT, environment);
    var first = new StoreInstances(made.context(), KEY);
    assertEquals(1, first.takeNumber());
    assertTrue(first.publishCeiling(time.wallNanos()));
    disk.powerCut(() -> false);
    var second = new StoreInstances(Store.open(root, environment).context(), KEY);
    assertEquals(2, second.takeNumber());
    assertTrue(second.highestEarlierCeiling().isPresent());
  }

  /** Who made the store, or added a key, stopped before the name was forced. */
  @Test
  void whoeverReliesOnAStoreOrAKeyForcesItsName() throws Exception {
    Rig rig = Rig.memory(5);
    var stopped = new FaultyFs(rig.disk.view(Rig.ALICE));
    StoreContext store = rig.open(rig.disk.view(Rig.BOB)).context().store();
    SigningKey key = SigningKey.ofSeed(new byte[32]);
    stopped.arm(1, Fault.CRASH_AFTER, op -> op.kind() == FaultyFs.Kind.LINK);
    assertThrows(
        FaultyFs.Crash.class, () -> TrustedKeyFiles.add(rig.open(stopped).context().store(), key));
    assertEquals(1, TrustedKeyFiles.add(store, key));
    rig.disk.powerCut(() -> false);
    assertEquals(TrustedKeys.of(key.publicKey()), CountingKeys.ofStore(store).counted(1));

    var time = ManualTime.ticking();
    var disk = new MemoryFs(time);
    var init = new FaultyFs(disk.view(Rig.ALICE));
    init.arm(1, Fault.CRASH_AFTER, op -> op.is(FaultyFs.Kind.LINK, "store.json"));
    Path root = Path.of("/store");
    var random = new Random(1);
    var name = new MachineName("m");
    assertThrows(
        FaultyFs.Crash.class,
        () ->
            Store.init(
                root, StoreSettings.DEFAULT, new Store.Environment(init, name, time, random)));
    var environment = new Store.Environment(disk.view(Rig.ALICE), name, time, random);
    LogWriter writer = Store.open(root, environment).createLog(Rig.JOBS).writer(Durability.SYNC);
    var ledger = new Ledger();
    ledger.append(writer, "kept");
    disk.powerCut(() -> false);
    assertEquals(List.of("kept"), Ledger.live(Store.open(root, environment).log(Rig.JOBS)));
  }

  /** Keys are numbered without gaps; whoever adds one may find another that was not forced. */
  @Test
  void f3_noKeyOutlivesTheOneBeforeIt() throws Exception {
    for (int seed = 0; seed < 20; seed++) {
      Rig rig = Rig.memory(seed);
      for (int k = 1; k <= 2; k++) {
        var stopped = new FaultyFs(rig.disk.view(Rig.ALICE));
        StoreContext store = rig.open(stopped).context().store();
        SigningKey key = SigningKey.ofSeed(Arrays.copyOf(new byte[] {(byte) k}, 32));
        SigningKey by = SigningKey.ofSeed(Arrays.copyOf(new byte[] {1}, 32));
        stopped.arm(1, Fault.CRASH_AFTER, op -> op.kind() == FaultyFs.Kind.LINK);
        assertThrows(FaultyFs.Crash.class, () -> TrustedKeyFiles.add(store, key.publicKey(), by));
      }
      cut(rig, 50, seed);
      StoreContext store = rig.open(rig.disk.view(Rig.BOB)).context().store();
      var unused = CountingKeys.ofStore(store).strict().now(); // fails if one of them is missed
    }
  }

  /**
   * Whoever makes a store stops at any operation, another one begins to use what there is and stops
   * too, and the power fails: then it is a store, or can be made one.
   */
  @ParameterizedTest
  @Tag("share")
  @ValueSource(ints = {0, 50, 90})
  void aStoreThatWasHalfMadeIsOneOrCanBeMadeOne(int percent) throws Exception {
    boolean more = true;
    for (int k = 1; more; k += Share.step(5)) {
      boolean used = true;
      for (int n = 0; used; n += Share.step(5)) {
        var time = ManualTime.ticking();
        var disk = new MemoryFs(time);
        var maker = new FaultyFs(disk.view(Rig.ALICE));
        maker.arm(k, Fault.CRASH_AFTER);
        try {
          Store.init(STORE, StoreSettings.DEFAULT, environment(maker, time, 1));
        } catch (FaultyFs.Crash e) {
          // The other one may find a store.
        }
        more = maker.fired();
        var user = new FaultyFs(disk.view(Rig.ALICE));
        user.arm(n, Fault.CRASH_AFTER);
        try {
          if (n > 0) {
            var unused = Store.open(STORE, environment(user, time, 2)).createLog(Rig.JOBS);
          }
        } catch (FaultyFs.Crash | NotAStoreException e) {
          // Or none.
        }
        used = n == 0 || user.fired();
        var random = new Random(100L * k + n);
        disk.powerCut(() -> random.nextInt(100) < percent);
        var environment = environment(disk.view(Rig.ALICE), time, 3);
        Store store;
        try {
          store = Store.open(STORE, environment);
        } catch (NotAStoreException e) {
          store = Store.init(STORE, StoreSettings.DEFAULT, environment);
        }
        var ledger = new Ledger();
        ledger.append(store.createLog(Rig.JOBS).writer(Durability.SYNC), "kept");
        assertEquals(List.of("kept"), Ledger.live(store.log(Rig.JOBS)));
        var instances = new StoreInstances(store.context(), KEY);
        assertEquals(1, instances.takeNumber());
        assertTrue(instances.publishCeiling(time.wallNanos()));
        assertEquals(1, TrustedKeyFiles.add(store.context(), KEY));
      }
    }
  }

  private static final Path STORE = Path.of("/store");
  private static final SigningKey KEY = SigningKey.ofSeed(new byte[32]);

  private static Store.Environment environment(StoreFs fs, ManualTime time, long seed) {
    return new Store.Environment(fs, new MachineName("m" + seed), time, new Random(seed));
  }

  /** A record that names a key which was lost could not be read where leases are required. */
  @Test
  void f3_aRecordOutlivesNoKeyThatItNames() throws Exception {
    Rig rig = Rig.memory(6);
    var stopped = new FaultyFs(rig.disk.view(Rig.ALICE));
    StoreContext store = rig.open(stopped).context().store();
    SigningKey key = SigningKey.ofSeed(new byte[32]);
    stopped.arm(1, Fault.CRASH_AFTER, op -> op.kind() == FaultyFs.Kind.LINK);
    var slow = new FaultyFs(rig.disk.view(Rig.BOB));
    Log closer = rig.open(slow);
    slow.beforeFirst( // it is added at the last moment at which it still counts
        op -> op.kind() == FaultyFs.Kind.LIST && op.path().endsWith("keys"),
        () -> assertThrows(FaultyFs.Crash.class, () -> TrustedKeyFiles.add(store, key)));
    rig.settle(closer);
    rig.disk.powerCut(() -> false);
    int named = closer.horizon().chain().freshTip().orElseThrow().record().trustedKeys();
    assertEquals(1, named);
    assertEquals(
        TrustedKeys.of(key.publicKey()),
        CountingKeys.ofStore(closer.context().store()).counted(named));
  }

  /** What a writer without SYNC made counts for nobody's durability. */
  @ParameterizedTest
  @ValueSource(ints = {0, 50})
  void aBucketMadeBySomebodyElseIsDurableToo(int percent) throws Exception {
    for (int seed = 0; seed < 20; seed++) {
      Rig rig = Rig.memory(seed);
      var stopped = new FaultyFs(rig.disk.view(Rig.BOB));
      LogWriter other = rig.open(stopped).writer(Durability.CLOSE);
      stopped.arm(1, Fault.CRASH_BEFORE, op -> op.kind() == FaultyFs.Kind.WRITE);
      var ledger = new Ledger();
      assertTrue(!ledger.tryAppend(other, "unknown", new byte[] {'u'}));
      LogWriter writer = rig.open(rig.disk.view(Rig.ALICE)).writer(Durability.SYNC);
      ledger.append(writer, "kept");
      cut(rig, percent, seed);
      finish(rig, ledger);
    }
  }

  /** A closer stops at its k-th operation and the power fails; whoever has a verdict keeps it. */
  @ParameterizedTest
  @ValueSource(ints = {0, 50, 90})
  void settledReadsSurviveACutAtEveryOperationOfAnAdvance(int percent) throws Exception {
    boolean more = true;
    for (int k = 1; more; k++) {
      Rig rig = Rig.memory(k);
      var ledger = new Ledger();
      LogWriter writer = rig.open(rig.disk.view(Rig.ALICE)).writer(Durability.SYNC);
      ledger.append(writer, "one");
      rig.time.advanceMs(1_000);
      ledger.append(writer, "two", Ledger.payload("two", 40_000));
      long to = Bucket.ceiling(rig.time.wallNanos(), 1_000_000_000);
      rig.time.advanceMs(10_000);
      var faulty = new FaultyFs(rig.disk.view(Rig.BOB));
      Log closer = rig.open(faulty);
      faulty.arm(k, Fault.CRASH_AFTER);
      try {
        closer.horizon().advance(to, OptionalLong.empty());
      } catch (FaultyFs.Crash e) {
        // The other one finishes.
      }
      more = faulty.fired();
      // Another one finds what the first left, relies on it, and tells somebody.
      Log second = rig.open(rig.disk.view(Rig.ALICE));
      second.horizon().advance(to, OptionalLong.empty());
      var found = Ledger.settled(second);
      ledger.check(found);
      cut(rig, percent, k);
      Log third = rig.open(rig.disk.view(Rig.BOB));
      third.horizon().advance(to, OptionalLong.empty());
      assertEquals(found, Ledger.settled(third), "cut after operation " + k);
    }
  }

  /** A verdict read from a record whose closer stopped before it forced the record's name. */
  @Test
  void aRejectedMessageDoesNotComeBackWithTheRecordLost() throws Exception {
    Rig rig = Rig.memory(1);
    var late = new FaultyFs(rig.disk.view(Rig.ALICE));
    var writer = rig.open(late).writer(Durability.SYNC);
    var ledger = new Ledger();
    var stopped = new FaultyFs(rig.disk.view(Rig.BOB));
    Log closer = rig.open(stopped);
    stopped.arm(1, Fault.CRASH_AFTER, op -> op.is(FaultyFs.Kind.LINK, "0000000001"));
    late.beforeFirst(
        op -> op.kind() == FaultyFs.Kind.MKDIR && op.path().toString().contains("buckets"),
        () -> assertThrows(FaultyFs.Crash.class, () -> rig.settle(closer)));
    assertInstanceOf(Receipt.Rejected.class, ledger.append(writer, "late"));
    rig.disk.powerCut();
    finish(rig, ledger);
  }

  /** What somebody else does to a half made log. */
  private enum Meanwhile {
    NOTHING,
    WRITES,
    SETTLES
  }

  /** Who makes a log stops at any operation; another one goes on; then the power fails. */
  @ParameterizedTest
  @ValueSource(ints = {0, 50, 90})
  void aLogThatWasHalfMadeIsMadeWhole(int percent) throws Exception {
    for (Meanwhile meanwhile : Meanwhile.values()) {
      int k = 1;
      while (halfMade(k, meanwhile, percent)) {
        k++;
      }
      assertTrue(k > 10, "operations of making a log");
    }
  }

  /** False if making a log has fewer operations than that. */
  private static boolean halfMade(int k, Meanwhile meanwhile, int percent) throws Exception {
    var name = new LogName("more");
    Rig rig = Rig.memory(k);
    var stopped = new FaultyFs(rig.disk.view(Rig.BOB));
    Store store = Store.open(rig.root, rig.environment(stopped, rig.time));
    stopped.arm(k, Fault.CRASH_AFTER);
    try {
      Log unused = store.createLog(name);
    } catch (FaultyFs.Crash e) {
      // Its maker is gone.
    }
    var ledger = new Ledger();
    switch (meanwhile) {
      case WRITES -> ledger.append(again(rig, name).writer(Durability.SYNC), "one");
      case SETTLES -> rig.settle(again(rig, name));
      case NOTHING -> {}
    }
    cut(rig, percent, k);
    Log log = again(rig, name);
    rig.settle(log); // an append to a damaged log would wait for ever
    ledger.append(log.writer(Durability.SYNC), "two");
    rig.settle(log);
    ledger.check(Ledger.settled(log));
    return stopped.fired();
  }

  private static Log again(Rig rig, LogName name) throws Exception {
    var environment = rig.environment(rig.disk.view(Rig.ALICE), rig.time);
    return Store.open(rig.root, environment).createLog(name);
  }

  /**
   * Who makes a log stops before its identity's name is forced, a writer stops at any operation,
   * and the power fails: a log that lost its identity and has buckets would stop everybody.
   */
  @ParameterizedTest
  @EnumSource(Durability.class)
  void noBucketOutlivesTheIdentity(Durability durability) throws Exception {
    var name = new LogName("more");
    boolean more = true;
    for (int k = 1; more; k++) {
      for (int seed = 0; seed < 8; seed++) {
        Rig rig = Rig.memory(seed);
        var maker = new FaultyFs(rig.disk.view(Rig.BOB));
        Store half = Store.open(rig.root, rig.environment(maker, rig.time));
        maker.arm(1, Fault.CRASH_AFTER, op -> op.is(FaultyFs.Kind.LINK, "identity"));
        assertThrows(FaultyFs.Crash.class, () -> half.createLog(name));
        var stopped = new FaultyFs(rig.disk.view(Rig.BOB));
        Store store = Store.open(rig.root, rig.environment(stopped, rig.time));
        LogWriter writer = store.log(name).writer(durability);
        stopped.arm(k, Fault.CRASH_AFTER);
        var unused = new Ledger().tryAppend(writer, "unknown", new byte[] {'u'});
        more = stopped.fired();
        cut(rig, 50, 8L * k + seed);
        Store after = Store.open(rig.root, rig.environment(rig.disk.view(Rig.BOB), rig.time));
        int whole = after.whole(after.freshLogs()).size(); // fails if it must be told of a loss
        assertTrue(whole >= 1, "cut after operation " + k);
      }
    }
  }

  /** A record was read whose closer stopped before it forced the record's name. */
  @Test
  void whatAReaderFoundSettledStaysSo() throws Exception {
    Rig rig = Rig.memory(1);
    var ledger = new Ledger();
    ledger.append(rig.open(rig.disk.view(Rig.ALICE)).writer(Durability.SYNC), "one");
    var stopped = new FaultyFs(rig.disk.view(Rig.BOB));
    Log closer = rig.open(stopped);
    stopped.arm(1, Fault.CRASH_AFTER, op -> op.is(FaultyFs.Kind.LINK, "0000000001"));
    assertThrows(FaultyFs.Crash.class, () -> rig.settle(closer));
    Log reader = rig.open(rig.disk.view(Rig.ALICE));
    ledger.check(Ledger.settled(reader));
    rig.disk.powerCut();
    ledger.check(Ledger.settled(reader));
  }

  /** Their closers stop between linking and forcing; the power fails after the second. */
  @Test
  void noRecordOutlivesTheOneBeforeIt() throws Exception {
    for (int seed = 0; seed < 20; seed++) {
      Rig rig = Rig.memory(seed);
      var ledger = new Ledger();
      ledger.append(rig.open(rig.disk.view(Rig.ALICE)).writer(Durability.SYNC), "one");
      for (String record : List.of("0000000001", "0000000002")) {
        var stopped = new FaultyFs(rig.disk.view(Rig.BOB));
        Log closer = rig.open(stopped);
        stopped.arm(1, Fault.CRASH_AFTER, op -> op.is(FaultyFs.Kind.LINK, record));
        assertThrows(FaultyFs.Crash.class, () -> rig.settle(closer));
      }
      cut(rig, 50, seed);
      finish(rig, ledger);
    }
  }

  /** Without SYNC a message may be lost; what was settled is readable all the same. */
  @Test
  void aRecordDoesNotOutliveTheBucketsThatItLists() throws Exception {
    Rig rig = Rig.memory(1);
    var ledger = new Ledger();
    var stopped = new FaultyFs(rig.disk.view(Rig.ALICE));
    LogWriter writer = rig.open(stopped).writer(Durability.CLOSE);
    stopped.arm(1, Fault.CRASH_BEFORE, op -> op.kind() == FaultyFs.Kind.WRITE);
    assertTrue(!ledger.tryAppend(writer, "unknown", new byte[] {'u'}));
    Log closer = rig.open(rig.disk.view(Rig.BOB));
    rig.settle(closer);
    rig.disk.powerCut();
    assertEquals(List.of(), Ledger.settled(rig.open(rig.disk.view(Rig.BOB))));
  }

  /** Its messages stand between others that are SYNC, and must not make them unreadable. */
  @ParameterizedTest
  @ValueSource(ints = {0, 50})
  void whatIsSettledIsDurableWhateverItsWriterWanted(int percent) throws Exception {
    for (int seed = 0; seed < 10; seed++) {
      Rig rig = Rig.memory(seed);
      var ledger = new Ledger();
      LogWriter quick = rig.open(rig.disk.view(Rig.ALICE)).writer(Durability.CLOSE);
      LogWriter safe = rig.open(rig.disk.view(Rig.BOB)).writer(Durability.SYNC);
      ledger.append(quick, "one");
      ledger.append(quick, "two", Ledger.payload("two", 40_000));
      ledger.append(quick, "three");
      ledger.append(safe, "four");
      rig.settle(rig.open(rig.disk.view(Rig.BOB)));
      cut(rig, percent, seed);
      ledger.check(Ledger.settled(rig.open(rig.disk.view(Rig.BOB))));
    }
  }
}
