package dev.cinch.lease.http;

import io.vertx.core.Context;
import io.vertx.core.Vertx;

/** An event loop of Vert.x and its timers. */
record LoopTimers(Vertx vertx, Context loop) implements WaitingRoom.Loop {
  @Override
  public void run(Runnable task) {
    loop.runOnContext(v -> task.run());
  }

  @Override
  public Runnable after(long ms, Runnable task) {
    long timer = vertx.setTimer(ms, due -> task.run());
    return () -> {
      boolean unused = vertx.cancelTimer(timer);
    };
  }
}
