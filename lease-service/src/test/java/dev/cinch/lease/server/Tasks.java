package dev.cinch.lease.server;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/** A loop whose tasks run when a test says so, handed over by any thread. */
final class Tasks implements WaitingRoom.Loop {
  private final Queue<Runnable> tasks = new ConcurrentLinkedQueue<>();

  @Override
  public void run(Runnable task) {
    tasks.add(task);
  }

  /** Whose time never comes. */
  @Override
  public Runnable after(long ms, Runnable task) {
    return () -> {};
  }

  /** Runs what was handed over, until there is no more; on the thread of the loop. */
  void work() {
    for (Runnable next = tasks.poll(); next != null; next = tasks.poll()) {
      next.run();
    }
  }
}
