package dev.cinch.sim;

import java.util.ArrayDeque;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Threads for the processes of one simulation after another. One simulation at a time uses an
 * instance, and in it one thread at a time runs, so that nothing here needs a lock.
 */
final class Lanes implements AutoCloseable {
  private final ArrayDeque<Lane> free = new ArrayDeque<>();
  private int made;

  /** One thread, which runs a process at a time. */
  final class Lane extends Thread {
    private volatile @Nullable SimProcess task;
    private volatile boolean ending;

    Lane(int number) {
      super("lane-" + number);
      setDaemon(true);
    }

    @Override
    public void run() {
      while (!ending) {
        SimProcess process = task;
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
  Lane assign(SimProcess process) {
    Lane lane = free.pollFirst();
    if (lane == null) {
      lane = new Lane(made++);
      lane.start();
    }
    lane.task = process;
    return lane;
  }

  @Override
  public void close() {
    for (Lane lane : free) {
      lane.ending = true;
      LockSupport.unpark(lane);
    }
  }
}
