package dev.cinch.lease.server;

import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.UnaryOperator;

/** Timers of requests that wait, which are due when a test says so. */
final class Timers {
  private Timers() {}

  /** A timer that was set. */
  static final class Timer {
    final long ms;
    final Runnable task;
    final WaitingRoom.Loop loop;
    final BlockingQueue<Boolean> forgotten = new LinkedBlockingQueue<>();

    Timer(long ms, Runnable task, WaitingRoom.Loop loop) {
      this.ms = ms;
      this.task = task;
      this.loop = loop;
    }

    void fire() {
      loop.run(task);
    }
  }

  /** Loops that put what is set into a queue. */
  static UnaryOperator<WaitingRoom.Loop> into(BlockingQueue<Timer> set) {
    return loop ->
        new WaitingRoom.Loop() {
          @Override
          public void run(Runnable task) {
            loop.run(task);
          }

          @Override
          public Runnable after(long ms, Runnable task) {
            var timer = new Timer(ms, task, this);
            set.add(timer);
            return () -> timer.forgotten.add(true);
          }
        };
  }
}
