package dev.cinch.lease.register.sim;

import dev.cinch.lease.sim.Lanes;
import dev.cinch.lease.sim.SimCrash;
import org.jspecify.annotations.Nullable;

/** Bodies that wait in the middle, as requests to a server do. The world goes on meanwhile. */
final class Fibers implements AutoCloseable {
  private final Lanes<Fiber> lanes = new Lanes<>();

  /** One body. */
  final class Fiber implements Lanes.Task<Fiber> {
    private final Runnable body;
    private final Lanes.Lane<Fiber> lane;
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
      lanes.giveWay(this, null);
      waits = false;
      if (gone) {
        throw new SimCrash("gone");
      }
    }

    @Override
    public Lanes.Lane<Fiber> lane() {
      return lane;
    }

    @Override
    public void runToEnd() {
      try {
        body.run();
      } catch (SimCrash e) {
        // its server has crashed
      } catch (RuntimeException | Error e) {
        failure = e;
      }
      done = true;
    }

    @Override
    public @Nullable Fiber next() {
      return null;
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
    lanes.run(fiber);
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
    return lanes.running();
  }

  @Override
  public void close() {
    lanes.close();
  }
}
