package dev.cinch.sim;

import dev.cinch.lease.sim.Events;
import dev.cinch.lease.sim.Lanes;
import dev.cinch.lease.sim.Rng;
import dev.cinch.lease.sim.SimCrash;
import dev.cinch.sim.fs.Ambush;
import dev.cinch.sim.fs.ClientFs;
import dev.cinch.sim.fs.Op;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Owns time and decides who runs. Exactly one process runs at any time, on its own thread; it hands
 * over at operations and sleeps only, and mostly goes on for a burst of them.
 */
final class Scheduler implements ClientFs.Later {
  private static final long HOUR_NANOS = 3_600_000_000_000L;

  private final Lanes<SimProcess> lanes;
  private final Rng rng;
  private final Trace trace = new Trace();
  private final List<SimProcess> alive = new ArrayList<>();
  private final List<SimProcess> daemons = new ArrayList<>();
  private final Events events = new Events();
  private final List<Watch> watches = new ArrayList<>();
  private final boolean byPriority;
  private final int longestBurst;
  private final long stepLimit;
  private final long timeLimit;

  private boolean quiet;
  private @Nullable String stuck;
  private int burst;
  private int expected;
  private int processes;
  private long steps;
  private long quietFrom;
  private long switches;
  private @Nullable Throwable failure;
  private Runnable atLimit = () -> {};

  /**
   * @param lanes whose threads run the processes
   * @param byPriority whether the process of highest priority runs, with priorities that change now
   *     and then, instead of any
   * @param longestBurst operations that one process may do in a row
   * @param stepLimit after so many operations {@code atLimit} is called, after four times as many
   *     the run is given up
   * @param timeLimit nanoseconds of simulated time after which the run is given up
   */
  Scheduler(
      Lanes<SimProcess> lanes,
      long seed,
      boolean byPriority,
      int longestBurst,
      long stepLimit,
      long timeLimit) {
    this.lanes = lanes;
    this.rng = Rng.of(seed, 5);
    this.byPriority = byPriority;
    this.longestBurst = longestBurst;
    this.stepLimit = stepLimit;
    this.timeLimit = timeLimit;
  }

  void atLimit(Runnable what) {
    atLimit = what;
  }

  long now() {
    return events.time;
  }

  Trace trace() {
    return trace;
  }

  long switches() {
    return switches;
  }

  long steps() {
    return steps;
  }

  /** How far the run came before it was given up; null unless it was. */
  @Nullable String stuck() {
    return stuck;
  }

  @Nullable Throwable failure() {
    return failure;
  }

  SimProcess running() {
    return lanes.running();
  }

  @Override
  public void in(long nanos, Runnable what) {
    events.in(Math.max(0, nanos), what);
  }

  /** Someone will be added later; the run is not over before. */
  void expect() {
    expected++;
  }

  void expectNoMore() {
    expected--;
  }

  void add(SimProcess p) {
    p.number = ++processes;
    p.priority = rng.nextLong();
    alive.add(p);
  }

  /** Runs everything to its end; called on the main thread. */
  void run() {
    SimProcess first = choose();
    if (first == null) {
      return;
    }
    lanes.run(first);
    while (!daemons.isEmpty()) {
      SimProcess daemon = daemons.get(0);
      daemon.kill();
      lanes.run(daemon);
    }
  }

  /** One that is ended when all others have. */
  void addDaemon(SimProcess p) {
    p.number = ++processes;
    p.priority = rng.nextLong();
    daemons.add(p);
  }

  /** From now on the calling thread alone works, without processes. */
  void quiet() {
    quiet = true;
    quietFrom = steps;
  }

  /** At an operation of the running process. */
  void step(long latency) {
    if (!quiet && Thread.currentThread() != running().lane().thread()) {
      throw new IllegalStateException(
          "a thread that is not simulated: " + Thread.currentThread().getName());
    }
    steps++;
    events.time += latency;
    events.runDue();
    if (quiet) {
      if (steps > quietFrom + 8 * stepLimit) {
        throw new SimCrash("the checks do not end");
      }
      return;
    }
    if (steps >= stepLimit) {
      checkLimit();
    }
    if (--burst <= 0) {
      reschedule();
    }
  }

  private void checkLimit() {
    if (steps == stepLimit) {
      atLimit.run();
    } else if (steps > 4 * stepLimit) {
      stuck = 4 * stepLimit + " operations";
      throw new SimCrash("the run does not end");
    }
  }

  /** A run in which all only sleep has no operations to count. */
  private void checkTime() {
    if (now() > timeLimit && stuck == null) {
      stuck = timeLimit / HOUR_NANOS + " hours of simulated time";
    }
  }

  /** Somebody stands still until another passes. */
  private record Watch(SimProcess who, Ambush.Point until) {}

  /**
   * The running process does nothing before that time.
   *
   * @param until what another does that ends it earlier
   */
  void standStill(long nanos, Ambush.@Nullable Point until) {
    if (until == null || quiet) {
      sleepUntil(now() + nanos);
      return;
    }
    var watch = new Watch(running(), until);
    watches.add(watch);
    try {
      sleepUntil(now() + nanos);
    } finally {
      watches.remove(watch);
    }
  }

  /** The running process has done that; who stands still until somebody does may go on. */
  void passed(Op op, Path path) {
    for (Watch w : watches) {
      if (w.who != lanes.current() && w.until.is(op, path)) {
        w.who.wakeAt = Math.min(w.who.wakeAt, now());
        burst = rng.oneIn(2) ? 1 : burst;
      }
    }
  }

  /** The running process does nothing before that time. */
  void sleepUntil(long at) {
    if (quiet) {
      events.time = Math.max(now(), at);
      events.runDue();
      return;
    }
    running().wakeAt = at;
    reschedule();
    if (stuck != null) {
      throw new SimCrash("the run does not end");
    }
  }

  private void reschedule() {
    SimProcess me = running();
    SimProcess next = choose();
    if (next != null && next != me) {
      switches++;
      lanes.giveWay(me, next);
    }
  }

  /** Who runs next, after as much time as it takes; null if nobody ever will. */
  private @Nullable SimProcess choose() {
    while (!alive.isEmpty() || (expected > 0 && stuck == null)) {
      checkTime();
      SimProcess next = pick();
      if (next != null) {
        burst = burst();
        return next;
      }
      long wake = Math.min(earliest(alive), earliest(daemons));
      if (events.next() < wake) {
        events.time = Math.max(now(), events.next());
        events.runDue();
      } else if (wake != Long.MAX_VALUE) {
        events.time = Math.max(now(), wake);
      } else {
        return null;
      }
    }
    return null;
  }

  /**
   * For how long nothing happens but what daemons do: nanoseconds; 0 or less if somebody is at
   * work.
   */
  long lull() {
    long next = Math.min(earliest(alive), events.next());
    return next == Long.MAX_VALUE ? 0 : next - now();
  }

  private static long earliest(List<SimProcess> of) {
    long wake = Long.MAX_VALUE;
    for (SimProcess p : of) {
      wake = Math.min(wake, p.wakeAt);
    }
    return wake;
  }

  private @Nullable SimProcess pick() {
    SimProcess best = null;
    for (SimProcess p : daemons) {
      if (p.wakeAt <= now()) {
        return p;
      }
    }
    int runnable = 0;
    for (SimProcess p : alive) {
      if (p.wakeAt <= now()) {
        runnable++;
        if (byPriority ? best == null || p.priority > best.priority : rng.below(runnable) == 0) {
          best = p;
        }
      }
    }
    return best;
  }

  private int burst() {
    if (byPriority) {
      if (rng.oneIn(3) && !alive.isEmpty()) {
        alive.get(rng.below(alive.size())).priority = rng.nextLong();
      }
      return rng.between(1, longestBurst);
    }
    return switch (rng.below(4)) {
      case 0 -> rng.between(1, 4);
      case 1 -> rng.between(1, 20);
      default -> rng.between(1, longestBurst);
    };
  }

  /** The process is over; called on its thread, before {@link #next}. */
  void ended(SimProcess p, @Nullable Throwable why) {
    if (why != null && failure == null) {
      failure = why;
    }
    alive.remove(p);
    daemons.remove(p);
  }

  /** Who goes on when a process is over; null if the run is. */
  @Nullable SimProcess next() {
    try {
      SimProcess next = choose();
      switches += next == null ? 0 : 1;
      return next;
    } catch (Throwable e) {
      if (failure == null) {
        failure = e;
      }
      return null;
    }
  }

  void note(Op op, Object who, int number, @Nullable Object what) {
    trace.add(now(), who, number, op, what);
  }
}
