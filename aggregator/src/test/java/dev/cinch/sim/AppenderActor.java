package dev.cinch.sim;

import dev.cinch.bag.Store;
import dev.cinch.bag.write.LeaseStamp;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.bag.write.MessageRefusedException;
import dev.cinch.bag.write.PendingReceipt;
import dev.cinch.lease.sim.Rng;
import dev.cinch.sim.History.Attempt;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Appends without leases: one message at a time, several in a batch, or a long one; some with a
 * second thread on the same writers, which goes on while the first waits for a verdict.
 */
final class AppenderActor extends Actor {
  /** Above the limit of a batch that is written in one step. */
  private static final int LONG = 17_000;

  private final boolean twoThreads;

  /** Whether it closes writers again after a message or some, as short runs of a command do. */
  private final boolean brief;

  AppenderActor(World world, Rng rng) {
    super(world, rng);
    this.twoThreads = rng.oneIn(3);
    this.brief = !twoThreads && rng.oneIn(4);
  }

  /** What one thread is about. A writer blocks for real whoever comes while a batch is written. */
  private static final class Turn {
    boolean active;

    /** Its messages are handed over; if it dozes now, it is for a verdict. */
    boolean awaiting;

    @Nullable SimProcess thread;

    boolean leavesRoom() {
      SimProcess t = thread;
      // One whose verdict has expired is over in the middle of its turn.
      return !active || (t != null && (t.over() || (awaiting && t.dozes())));
    }
  }

  @Override
  public void run(SimProcess me) throws Exception {
    Store store = me.openStore();
    while (left > 0) {
      var writers = new ArrayList<LogWriter>();
      for (int i = 0; i < world.logs(); i++) {
        writers.add(log(store, i).writer(world.plan.durability()));
      }
      var mine = new Turn();
      var others = new Turn();
      SimProcess second = null;
      if (twoThreads) {
        second = me.thread(me + "+", it -> work(it, me.toString(), writers, others, mine));
      }
      work(me, me.toString(), writers, mine, others);
      while (second != null && !second.over()) {
        me.sleepNanos(10_000_000);
      }
      writers.forEach(LogWriter::close);
    }
  }

  private void work(SimProcess me, String who, List<LogWriter> writers, Turn mine, Turn others)
      throws InterruptedException {
    mine.thread = me;
    do {
      while (!others.leavesRoom()) {
        me.sleepNanos(1_000_000);
      }
      int index = rng.below(writers.size());
      mine.active = true;
      append(me, who, writers.get(index), index, rng.oneIn(4) ? rng.between(2, 5) : 1, mine);
      mine.active = false;
      mine.awaiting = false;
      rest(me);
    } while (left > 0 && !(brief && rng.oneIn(2)));
  }

  private void append(SimProcess me, String who, LogWriter writer, int log, int count, Turn turn) {
    var attempts = new ArrayList<Attempt>();
    var pending = new ArrayList<PendingReceipt>();
    for (int i = 0; i < count; i++) {
      left--;
      Attempt a = world.history.attempt(log, length(rng), who, List.of());
      try {
        a.submitted = true;
        byte[] payload = History.payload(a);
        pending.add(writer.submit(LeaseStamp.NONE, payload, 0, payload.length, false));
        attempts.add(a);
      } catch (MessageRefusedException e) {
        a.submitted = false;
      }
    }
    turn.awaiting = true;
    for (int i = 0; i < pending.size(); i++) {
      attempts.get(i).receipt = pending.get(i).await();
    }
  }

  static int length(Rng rng) {
    return rng.oneIn(12) ? LONG : rng.between(8, 300);
  }
}
