package dev.cinch.bag;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.fs.ClockedFs;
import dev.cinch.bag.fs.FaultyFs;
import dev.cinch.bag.fs.FaultyFs.Fault;
import dev.cinch.bag.fs.PosixFs;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.lease.Share;
import java.nio.file.Path;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A fault at every single file operation; then another process finishes, and nothing is wrong. */
class FaultLoopTest {
  private static final int LARGE = 40_000;

  private enum Kind {
    FIRST,
    LATER,
    LARGE
  }

  /** A store, and how its processes reach it. */
  private interface Site {
    Rig rig();

    StoreFs view(int uid);
  }

  private static Site memory(long seed) throws Exception {
    Rig rig = Rig.memory(seed);
    return new Site() {
      @Override
      public Rig rig() {
        return rig;
      }

      @Override
      public StoreFs view(int uid) {
        return rig.disk.view(uid);
      }
    };
  }

  private static Site posix(Path root, long seed) throws Exception {
    Rig rig = Rig.at(root, seed);
    var fs = new ClockedFs(new PosixFs(null, null), rig.time);
    rig.make(fs, StoreSettings.DEFAULT);
    return new Site() {
      @Override
      public Rig rig() {
        return rig;
      }

      @Override
      public StoreFs view(int uid) {
        return fs;
      }
    };
  }

  /** Whether the fault was reached. */
  private static boolean appendWithFault(
      Site site, Kind kind, Durability durability, Fault fault, int k) throws Exception {
    var faulty = new FaultyFs(site.view(Rig.ALICE));
    var ledger = new Ledger();
    Log log = site.rig().open(faulty);
    LogWriter writer = log.writer(durability);
    if (kind != Kind.FIRST) {
      ledger.append(writer, "before");
    }
    faulty.arm(k, fault);
    byte[] payload = Ledger.payload("the one", kind == Kind.LARGE ? LARGE : 0);
    boolean alive = ledger.tryAppend(writer, "the one", payload);
    boolean fired = faulty.fired();
    faulty.disarm();
    if (alive) { // goes on, and never in a file whose end is not known (rule A2)
      ledger.append(writer, "after");
    }
    finish(site, ledger);
    return fired;
  }

  private static void finish(Site site, Ledger ledger) throws Exception {
    Log other = site.rig().open(site.view(Rig.BOB));
    site.rig().settle(other);
    List<Ledger.Found> found = Ledger.settled(other);
    ledger.check(found);
    assertEquals(found, Ledger.settled(site.rig().open(site.view(Rig.ALICE))));
    StoreFs fs = site.view(Rig.BOB);
    List<String> intents =
        fs.list(other.context().layout().intents().path()).stream()
            .filter(name -> !Name.isTemporary(name))
            .toList();
    assertEquals(List.of(), intents, "intents left");
  }

  @ParameterizedTest
  @Tag("share")
  @EnumSource(Fault.class)
  void appendWithAFaultAtEveryOperation(Fault fault) throws Exception {
    for (Kind kind : Kind.values()) {
      for (Durability durability : Durability.values()) {
        int k = 1 + Share.first(5);
        while (appendWithFault(memory(k), kind, durability, fault, k)) {
          k += Share.step(5);
        }
        assertTrue(k > 5, "no operations");
      }
    }
  }

  @Test
  @Tag("share")
  void appendOnARealFilesystemWithAFaultAtEveryOperation(@TempDir Path temp) throws Exception {
    for (Fault fault : List.of(Fault.ERROR_AFTER, Fault.CRASH_AFTER, Fault.CRASH_PARTIAL)) {
      for (Kind kind : List.of(Kind.FIRST, Kind.LARGE)) {
        int k = 1 + Share.first(11);
        while (appendWithFault(
            posix(temp.resolve("s" + fault + kind + k), k), kind, Durability.CLOSE, fault, k)) {
          k += Share.step(11);
        }
      }
    }
  }

  /** Three buckets, one with a torn file; a closer meets a fault at its k-th operation. */
  private static boolean advanceWithFault(Site site, Fault fault, int k) throws Exception {
    var ledger = new Ledger();
    var torn = new FaultyFs(site.view(Rig.ALICE));
    Log log = site.rig().open(torn);
    LogWriter writer = log.writer(Durability.SYNC);
    ledger.append(writer, "one");
    ledger.append(writer, "two", Ledger.payload("two", LARGE));
    site.rig().time.advanceMs(1_000);
    ledger.append(writer, "three");
    site.rig().time.advanceMs(1_000);
    ledger.append(writer, "four");
    torn.arm(1, Fault.CRASH_PARTIAL, op -> op.kind() == FaultyFs.Kind.WRITE);
    ledger.tryAppend(writer, "torn", new byte[] {'t', 'o', 'r', 'n'});
    long to = Bucket.ceiling(site.rig().time.wallNanos(), log.context().bucketWidth());
    site.rig().time.advanceMs(10_000);
    var faulty = new FaultyFs(site.view(Rig.BOB));
    Log closer = site.rig().open(faulty);
    faulty.arm(k, fault);
    try {
      closer.horizon().advance(to, OptionalLong.empty());
    } catch (FaultyFs.Crash | java.io.IOException e) {
      // Somebody else finishes; and nothing that it left looks as if a record were missing.
    }
    assertEquals(List.of(), site.rig().damage(site.view(Rig.BOB)), "at operation " + k);
    finish(site, ledger);
    return faulty.fired();
  }

  @ParameterizedTest
  @Tag("share")
  @EnumSource(Fault.class)
  void advanceWithAFaultAtEveryOperation(Fault fault) throws Exception {
    int k = 1 + Share.first(5);
    while (advanceWithFault(memory(k), fault, k)) {
      k += Share.step(5);
    }
    assertTrue(k > 50, "few operations: " + k);
  }

  @Test
  @Tag("share")
  void advanceOnARealFilesystemWithACrashAtEveryOperation(@TempDir Path temp) throws Exception {
    int k = 1 + Share.first(11);
    while (advanceWithFault(posix(temp.resolve("s" + k), k), Fault.CRASH_AFTER, k)) {
      k += Share.step(11);
    }
  }
}
