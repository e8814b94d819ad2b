package dev.cinch.bag;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.close.HorizonAdvance;
import dev.cinch.bag.fs.FaultyFs;
import dev.cinch.bag.fs.FaultyFs.Fault;
import dev.cinch.bag.write.Durability;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.lease.time.TimeSource;
import java.io.IOException;
import java.util.List;
import java.util.OptionalLong;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Writers and closers interleaved one file operation at a time. A failing seed prints itself and
 * what every process did; {@code -Dcinch.seed=N} runs it alone.
 */
class InterleavingTest {
  private static final int SEEDS = Integer.getInteger("cinch.seeds", Share.of(400, 60));
  private static final int MESSAGES = 5;

  private int committed;
  private int rejected;

  @Test
  @Tag("share")
  void everyReceiptHoldsWhateverTheOrderOfOperations() throws Exception {
    Long only = Long.getLong("cinch.seed");
    if (only != null) {
      run(only);
      return;
    }
    for (long seed = 1; seed <= SEEDS; seed++) {
      run(seed);
    }
    // Both outcomes happen, or the interleavings prove nothing.
    assertTrue(committed > SEEDS, committed + " committed");
    assertTrue(rejected > SEEDS / 20, rejected + " rejected");
  }

  private void run(long seed) throws Exception {
    var random = new Random(seed);
    Rig rig = Rig.memory(seed);
    var stepper = new Stepper(seed * 31);
    var ledger = new Ledger();
    try {
      for (int w = 0; w < 2; w++) {
        writer("w" + w, w == 0 ? Rig.ALICE : Rig.BOB, rig, stepper, ledger, random);
      }
      for (int c = 0; c < 2; c++) {
        closer("c" + c, c == 0 ? Rig.BOB : 0, rig, stepper, random);
      }
      stepper.run();
      Log last = rig.open(rig.disk.view(Rig.BOB));
      rig.settle(last);
      List<Ledger.Found> found = Ledger.settled(last);
      ledger.check(found);
      assertEquals(found, Ledger.settled(rig.open(rig.disk.view(Rig.ALICE))));
      committed += ledger.count(Receipt.Committed.class);
      rejected += ledger.count(Receipt.Rejected.class);
    } catch (Exception | AssertionError e) {
      throw new AssertionError(
          "seed " + seed + " (-Dcinch.seed=" + seed + ")\n" + String.join("\n", stepper.trace()),
          e);
    }
  }

  private static void maybeFault(FaultyFs fs, Random random) {
    Fault[] all = Fault.values();
    if (random.nextInt(4) == 0) {
      fs.arm(1 + random.nextInt(120), all[random.nextInt(all.length)]);
    }
  }

  private static void writer(
      String name, int uid, Rig rig, Stepper stepper, Ledger ledger, Random random)
      throws IOException {
    FaultyFs fs = stepper.fs(name, rig.disk, uid);
    TimeSource time = stepper.time(name, rig.time);
    Log log = rig.open(fs, time);
    maybeFault(fs, random);
    LogWriter writer = log.writer(random.nextBoolean() ? Durability.CLOSE : Durability.SYNC);
    boolean large = random.nextInt(4) == 0;
    stepper.process(
        name,
        () -> {
          for (int i = 0; i < MESSAGES; i++) {
            String text = name + "-" + i;
            byte[] payload = Ledger.payload(text, large && i == 1 ? 20_000 : 0);
            if (!ledger.tryAppend(writer, text, payload)) {
              return;
            }
          }
        });
  }

  private static void closer(String name, int uid, Rig rig, Stepper stepper, Random random)
      throws IOException {
    FaultyFs fs = stepper.fs(name, rig.disk, uid);
    TimeSource time = stepper.time(name, rig.time);
    Log log = rig.open(fs, time);
    maybeFault(fs, random);
    long[] naps = random.longs(6, 100_000_000L, 3_000_000_000L).toArray();
    stepper.process(
        name,
        () -> {
          HorizonAdvance horizon = log.horizon();
          for (int i = 0; i < 6; i++) {
            try {
              horizon.advance(horizon.reachable(), OptionalLong.empty());
            } catch (IOException e) {
              // An injected error; it tries again.
            }
            time.sleepNanos(naps[i]);
          }
        });
  }
}
