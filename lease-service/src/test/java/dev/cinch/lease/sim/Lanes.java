package dev.cinch.lease.sim;

import java.util.ArrayDeque;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Threads for the processes, or requests, of one simulation after another. One simulation at a time
 * uses an instance, and in it one thread at a time runs, so that nothing here needs a lock.
 */
public final class Lanes implements AutoCloseable {
  private final ArrayDeque<Lane> free = new ArrayDeque<>();
  private final @Nullable Carrier carrier = Carrier.orNull();
  private int made;

  /** What a lane runs, in pieces: it parks where others go on. */
  public interface Task {
    /** Whether it may run now. */
    boolean isCurrent();

    void runToEnd();

    /** Gives way for good; its lane is free. */
    void handOver();
  }

  /** One thread, which runs a process at a time. */
  public final class Lane implements Runnable {
    private final Thread thread;
    private volatile @Nullable Task task;
    private volatile boolean ending;

    Lane(String name) {
      if (carrier != null) {
        thread = carrier.thread(name, this);
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
        Task process = task;
        if (process == null || !process.isCurrent()) {
          LockSupport.park(this);
          continue;
        }
        process.runToEnd();
        task = null;
        free.addFirst(this);
        process.handOver(); // from here on somebody else may use this lane
      }
    }
  }

  /** A thread that will run the process as soon as it becomes the current one. */
  public Lane assign(Task process) {
    Lane lane = free.pollFirst();
    if (lane == null) {
      lane = new Lane("lane-" + made++);
      lane.thread().start();
    }
    lane.task = process;
    return lane;
  }

  /**
   * Lets the lanes run; returns when it is over, of which the caller's thread is told by unpark.
   */
  public void runUntil(BooleanSupplier over) {
    if (carrier != null) {
      carrier.runUntil(over);
      return;
    }
    while (!over.getAsBoolean()) {
      LockSupport.park(this);
    }
  }

  @Override
  public void close() {
    for (Lane lane : free) {
      lane.ending = true;
      LockSupport.unpark(lane.thread());
    }
    if (carrier != null) {
      carrier.runUntil(() -> free.stream().noneMatch(lane -> lane.thread().isAlive()));
    }
  }
}
