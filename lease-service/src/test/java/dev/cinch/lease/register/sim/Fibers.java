package dev.cinch.lease.register.sim;

import java.util.ArrayDeque;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Bodies that wait in the middle, as requests to a server do. Each has a thread, and one thread at
 * a time runs: that of the world, or the one that it handed over to. So what happens is the same
 * each time.
 */
final class Fibers {
  private final Thread world = Thread.currentThread();
  private final ArrayDeque<Fiber> free = new ArrayDeque<>();

  /** Whose body runs now. */
  private @Nullable Fiber current;

  /** The server of a body is gone: it ends where it waits. */
  static final class Gone extends Error {
    private static final long serialVersionUID = 1;

    Gone() {
      super("gone", null, false, false);
    }
  }

  /** One body, and its thread, which later ones use again. */
  final class Fiber implements Runnable {
    private final Thread thread = new Thread(this, "fiber");
    private @Nullable Runnable body;
    private volatile boolean runs;
    private @Nullable Throwable failure;
    private boolean gone;
    private boolean waits;
    private @Nullable Object owner;

    /** Changes that it asked a register for, and that were not answered, or not carried out. */
    int failures;

    /** Waits until somebody resumes it. */
    void await() {
      waits = true;
      handBack();
      waits = false;
      if (gone) {
        throw new Gone();
      }
    }

    private void handBack() {
      runs = false;
      LockSupport.unpark(world);
      park();
    }

    private void park() {
      while (!runs) {
        LockSupport.park(this);
      }
    }

    @Override
    public void run() {
      while (true) {
        park();
        Runnable next = body;
        try {
          if (next != null) {
            next.run();
          }
        } catch (Gone e) {
          // its server has crashed
        } catch (RuntimeException | Error e) {
          failure = e;
        }
        body = null;
        free.addFirst(this);
        handBack();
      }
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
      return body != null && owner == by;
    }

    /** Ends it, if it runs for that one. */
    void end(Object by) {
      if (isOf(by)) {
        gone = true;
        resume();
      }
    }

    boolean isDone() {
      return body == null;
    }
  }

  /** Runs a body until it waits, or ends. */
  Fiber start(Runnable body) {
    Fiber fiber = free.pollFirst();
    if (fiber == null) {
      fiber = new Fiber();
      fiber.thread.setDaemon(true);
      fiber.thread.start();
    }
    fiber.body = body;
    fiber.gone = false;
    fiber.owner = null;
    fiber.failures = 0;
    go(fiber);
    return fiber;
  }

  private void go(Fiber fiber) {
    Fiber before = current;
    current = fiber;
    fiber.runs = true;
    LockSupport.unpark(fiber.thread);
    while (fiber.runs) {
      LockSupport.park(this);
    }
    current = before;
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
