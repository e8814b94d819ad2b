package dev.cinch.lease.sim;

import java.util.ArrayDeque;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Threads for the processes, or requests, of one simulation after another. One simulation at a time
 * uses an instance, and in it one thread at a time runs: the one that made it, or one of these. So
 * what happens is the same each time, and nothing needs a lock.
 *
 * @param <T> what runs on them
 */
public final class Lanes<T extends Lanes.Task<T>> implements AutoCloseable {
  private final ArrayDeque<Lane<T>> free = new ArrayDeque<>();
  private final Thread main = Thread.currentThread();
  private final @Nullable Carrier carrier = Carrier.orNull();
  private int made;

  /** Who runs; null if the main thread does. */
  private volatile @Nullable T current;

  /** What a lane runs, in pieces: it gives way where others go on. */
  public interface Task<T extends Task<T>> {
    /** What {@link #assign} gave it. */
    Lane<T> lane();

    /** Leaves nothing to catch. */
    void runToEnd();

    /** Who goes on when it has ended; null for the main thread. */
    @Nullable T next();
  }

  /** One thread, which runs a task at a time. */
  public static final class Lane<T extends Task<T>> implements Runnable {
    private final Lanes<T> lanes;
    private final Thread thread;
    private volatile @Nullable T task;
    private volatile boolean ending;

    Lane(Lanes<T> lanes, String name) {
      this.lanes = lanes;
      if (lanes.carrier != null) {
        thread = lanes.carrier.thread(name, this);
      } else {
        thread = new Thread(this, name);
        thread.setDaemon(true);
      }
    }

    public Thread thread() {
      return thread;
    }

    @Override
    public void run() {
      while (!ending) {
        T mine = task;
        if (mine == null || mine != lanes.current) {
          LockSupport.park(this);
          continue;
        }
        mine.runToEnd();
        task = null;
        lanes.free.addFirst(this);
        lanes.switchTo(mine.next()); // from here on somebody else may use this lane
      }
    }
  }

  /** A thread that will run the task as soon as it becomes the current one. */
  public Lane<T> assign(T task) {
    Lane<T> lane = free.pollFirst();
    if (lane == null) {
      lane = new Lane<>(this, "lane-" + made++);
      lane.thread().start();
    }
    lane.task = task;
    return lane;
  }

  /** Who runs; null if the main thread does. */
  public @Nullable T current() {
    return current;
  }

  /** Who runs; fails if the main thread does. */
  public T running() {
    T now = current;
    if (now == null) {
      throw new IllegalStateException("nobody runs");
    }
    return now;
  }

  /** Of the main thread: has one go on, and whomever it gives way to, until they give it back. */
  public void run(T first) {
    switchTo(first);
    if (carrier != null) {
      carrier.runUntil(() -> current == null);
      return;
    }
    while (current != null) {
      LockSupport.park(this);
    }
  }

  /**
   * Of a task that runs: waits until it is its turn again.
   *
   * @param next who goes on meanwhile; null for the main thread
   */
  public void giveWay(T me, @Nullable T next) {
    switchTo(next);
    while (current != me) {
      LockSupport.park(this);
    }
  }

  private void switchTo(@Nullable T next) {
    Thread thread = next == null ? main : next.lane().thread();
    current = next;
    LockSupport.unpark(thread);
  }

  @Override
  public void close() {
    for (Lane<T> lane : free) {
      lane.ending = true;
      LockSupport.unpark(lane.thread());
    }
    if (carrier != null) {
      carrier.runUntil(() -> free.stream().noneMatch(lane -> lane.thread().isAlive()));
    }
  }
}
