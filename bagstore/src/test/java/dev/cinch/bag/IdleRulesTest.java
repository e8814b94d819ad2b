package dev.cinch.bag;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.close.HorizonChain;
import dev.cinch.bag.close.IdleLog;
import dev.cinch.bag.format.HorizonRecord;
import dev.cinch.bag.fs.FaultyFs;
import dev.cinch.bag.fs.FaultyFs.Kind;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.Receipt;
import dev.cinch.bag.write.LogWriter;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

/** Rule H9: what idle time costs, and what ends a pause. */
class IdleRulesTest {
  private static final long SECOND = 1_000_000_000;
  private static final long HALF_AN_HOUR = 1_800 * SECOND;
  private static final long DAY = 86_400 * SECOND;

  private final Rig rig = rig();
  private final Ledger ledger = new Ledger();

  private static Rig rig() {
    try {
      return Rig.memory(17);
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  /** A closer that goes on for ever, or starts anew for each round, with nobody to ask. */
  private final class Rounds implements Closer.Listener {
    private final Store store;
    private final Log log;
    private final boolean forgets;
    private Closer closer;
    private boolean settled;

    Rounds(StoreFs fs, boolean forgets) throws IOException {
      this.store = Store.open(rig.root, rig.environment(fs, rig.time));
      this.log = store.log(Rig.JOBS);
      this.forgets = forgets;
      this.closer = new Closer(store, List.of(), null, this);
    }

    @Override
    public void settled(Closer.Settled further) {
      settled = true;
    }

    boolean round() throws IOException, InterruptedException {
      if (forgets) {
        closer = new Closer(store, List.of(), null, this);
      }
      settled = false;
      closer.round(OptionalLong.empty(), false);
      return settled;
    }

    /** Comes so often for so long; how many records there are then. */
    long rounds(long every, long nanos) throws IOException, InterruptedException {
      for (long passed = 0; passed < nanos; passed += every) {
        rig.time.advanceNanos(every);
        boolean unused = round();
      }
      return tip(log).number();
    }
  }

  private Rounds closer() throws IOException {
    return new Rounds(rig.disk.view(Rig.BOB), false);
  }

  private static HorizonRecord tip(Log log) throws IOException {
    return log.horizon().chain().freshTip().orElseThrow().record();
  }

  private List<Long> lengths(Log log) throws IOException {
    HorizonChain chain = log.horizon().chain();
    var lengths = new ArrayList<Long>();
    for (long n = 2; n <= tip(log).number(); n++) {
      HorizonRecord record = chain.read(n).record();
      lengths.add((record.to() - record.from()) / SECOND);
    }
    return lengths;
  }

  @Test
  void h9_thePauseDoublesUpToHalfAnHour() throws Exception {
    ledger.append(rig.open(rig.disk.view(Rig.ALICE)).writer(Durability.SYNC), "m");
    Rounds closer = closer();
    closer.rounds(SECOND, 3 * 3_600 * SECOND);
    List<Long> lengths = lengths(closer.log);
    int first = lengths.lastIndexOf(1L); // behind the message
    assertEquals(
        List.of(1L, 2L, 4L, 8L, 16L, 32L, 64L, 128L, 256L, 512L, 1_024L, 1_800L, 1_800L),
        lengths.subList(first, first + 13));
    assertTrue(lengths.size() < 20, lengths::toString);
  }

  @Test
  void h9_aClosersIntervalAndHowManyThereAreChangeNothing() throws Exception {
    Rounds one = closer();
    Rounds two = new Rounds(rig.disk.view(Rig.ALICE), true);
    for (long passed = 0; passed < DAY; passed += 20 * SECOND) {
      rig.time.advanceNanos(20 * SECOND);
      boolean first = one.round();
      assertFalse(two.round() && first); // it has nothing left to do
    }
    long records = tip(one.log).number();
    assertTrue(records > 48 && records < 60, records + " records a day");
  }

  @Test
  void h9_aBucketEndsThePauseAndNothingElseDoes() throws Exception {
    Rounds closer = closer();
    long idle = closer.rounds(10 * SECOND, DAY);
    while (closer.round()) {
      rig.time.advanceMs(1_000);
    }
    LogWriter writer = rig.open(rig.disk.view(Rig.ALICE)).writer(Durability.SYNC);
    Receipt message = ledger.append(writer, "m");
    long grace = closer.log.context().store().settings().graceNanos();
    rig.time.advanceNanos(grace + 2 * SECOND);
    assertTrue(closer.round());
    assertTrue(tip(closer.log).settles(message.timestamp()));
    assertTrue(tip(closer.log).number() <= idle + 3);
    ledger.check(Ledger.settled(closer.log));
  }

  @Test
  void h9_aFenceAndALateAppendWaitForNoPause() throws Exception {
    Rounds closer = closer();
    closer.rounds(10 * SECOND, DAY);
    long fence = closer.log.horizon().reachable();
    closer.log.horizon().advance(fence, OptionalLong.empty());
    assertEquals(fence, tip(closer.log).to());
    rig.time.advanceMs(60_000);
    assertFalse(closer.round()); // the fence settled time without a bucket
    var late = new FaultyFs(rig.disk.view(Rig.ALICE));
    LogWriter writer = rig.open(late).writer(Durability.SYNC);
    late.beforeFirst( // a closer fails behind its intent, so that the writer must settle itself
        op -> op.kind() == Kind.WRITE && op.path().toString().endsWith(".log"),
        () -> {
          rig.time.advanceMs(30_000);
          var fails = new FaultyFs(rig.disk.view(Rig.BOB));
          Log other = rig.open(fails);
          fails.arm(1, FaultyFs.Fault.CRASH_BEFORE, op -> op.kind() == Kind.LINK);
          try {
            other.horizon().advance(other.horizon().reachable(), OptionalLong.empty());
          } catch (FaultyFs.Crash e) {
            // as meant
          }
        });
    Receipt receipt = ledger.append(writer, "late");
    assertTrue(tip(closer.log).settles(receipt.timestamp()));
    ledger.check(Ledger.settled(closer.log));
  }

  /** Else closers that were away for a moment could not go on by themselves. */
  @Test
  void h9_theLongestPauseLeavesHalfOfWhatNeedsAnOpinion() throws Exception {
    Rounds closer = closer();
    closer.rounds(10 * SECOND, DAY);
    rig.time.advanceNanos(HALF_AN_HOUR - 30 * SECOND);
    boolean unused = closer.round();
    while (closer.round()) {
      rig.time.advanceMs(1_000);
    }
    rig.time.advanceNanos(2 * HALF_AN_HOUR - 60 * SECOND);
    assertTrue(closer.round()); // and no OpinionNeededException
  }

  @Test
  void h9_aLookAtAnIdleLogTakesAHandfulOfOperations() throws Exception {
    ledger.append(rig.open(rig.disk.view(Rig.ALICE)).writer(Durability.SYNC), "m");
    closer().rounds(10 * SECOND, 3_600 * SECOND);
    var disk = new FaultyFs(rig.disk.view(Rig.BOB));
    var idle = new IdleLog(rig.open(disk).context());
    long to = tip(closer().log).to() + SECOND;
    assertFalse(idle.isDue(to));
    disk.clearTrace();
    assertFalse(idle.isDue(to));
    assertEquals(
        Map.of(Kind.CREATE, 2, Kind.CLOSE, 2, Kind.UNLINK, 2, Kind.LIST, 2), disk.counts());
  }
}
