package dev.cinch.lease;

import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Carries tasks out in the thread that brings them, and takes none while another thread is at one:
 * for simulators, in which one thread runs at a time and none may wait for another.
 */
public final class InCaller implements Executor {
  private final ReentrantLock lock = new ReentrantLock();

  @Override
  public void execute(Runnable task) {
    if (!lock.tryLock()) {
      throw new RejectedExecutionException("another thread is at it");
    }
    try {
      task.run();
    } finally {
      lock.unlock();
    }
  }
}
