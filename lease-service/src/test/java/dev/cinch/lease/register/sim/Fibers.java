package dev.cinch.lease.register.sim;

import dev.cinch.lease.sim.Lanes;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Bodies that wait in the middle, as requests to a server do. Each has a lane, and one thread at a
 * time runs: that of the world, or the one that it handed over to. So what happens is the same each
 * time.
 */
final class Fibers {
  private final Thread world = Thread.currentThread();
  private final Lanes lanes = new Lanes();

  /** Whose body runs now. */
  private @Nullable Fiber current;

  /** The server of a body is gone: it ends where it waits. */
  static final class Gone extends Error {
    private static final long serialVersionUID = 1;

    Gone() {
      super("gone", null, false, false);
    }
  }

  /** One body. */
  final class Fiber implements Lanes.Task {
    private final Runnable body;
    private final Lanes.Lane lane;
    private volatile boolean runs;
    private @Nullable Throwable failure;
    private boolean gone;
    private boolean waits;
    private boolean done;
    private @Nullable Object owner;

    /** Watchers that it asked a register for, and that were not answered, or not carried out. */
    int failures;

    Fiber(Runnable body) {
      this.body = body;
      this.lane = lanes.assign(this);
    }

    /** Waits until somebody resumes it. */
    void await() {
      waits = true;
      handOver();
      while (!runs) {
        LockSupport.park(this);
      }
      waits = false;
      if (gone) {
        throw new Gone();
      }
    }

    @Override
    public boolean isCurrent() {
      return runs;
    }

    @Override
    public void runToEnd() {
      try {
        body.run();
      } catch (Gone e) {
        // its server has crashed
      } catch (RuntimeException | Error e) {
        failure = e;
      }
      done = true;
    }

    @Override
    public void handOver() {
      runs = false;
      LockSupport.unpark(world);
    }

    /** Goes on where it waits. */
    void resume() {
      if (waits) {
        go(this);
      }
    }

    /** Whom its body runs for. */
    void own(Object by) {
      owner = by;
    }

    /** Whether its body still runs, and for whom. */
    boolean isOf(Object by) {
      return !done && owner == by;
    }

    /** Ends it, if it runs for that one. */
    void end(Object by) {
      if (isOf(by)) {
        gone = true;
        resume();
      }
    }
  }

  /** Runs a body until it waits, or ends. */
  Fiber start(Runnable body) {
    var fiber = new Fiber(body);
    go(fiber);
    return fiber;
  }

  private void go(Fiber fiber) {
    current = fiber;
    fiber.runs = true;
    LockSupport.unpark(fiber.lane.thread());
    lanes.runUntil(() -> !fiber.runs);
    current = null;
    Throwable why = fiber.failure;
    fiber.failure = null;
    if (why instanceof RuntimeException runtime) {
      throw runtime;
    }
    if (why instanceof Error error) {
      throw error;
    }
  }

  /** The one that runs. */
  Fiber current() {
    Fiber now = current;
    if (now == null) {
      throw new IllegalStateException("no fiber runs");
    }
    return now;
  }
}
