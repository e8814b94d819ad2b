package dev.cinch.cli.read;

import dev.cinch.cli.base.Io;
import dev.cinch.cli.base.Progress;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/** Shows on a terminal how far something is that goes on in one call, until it is closed. */
final class Watch implements AutoCloseable {
  private static final long PAUSE_MS = 200;

  private final CountDownLatch over = new CountDownLatch(1);
  private final Thread thread;

  /**
   * @param count how many there are so far; asked by a thread of its own
   * @param all how many there will be, more or less; 0 if nobody knows
   * @param rest what follows the count
   */
  Watch(Io io, LongSupplier count, LongSupplier all, String rest) {
    var progress = new Progress(io);
    thread =
        new Thread(
            () -> {
              try {
                while (!over.await(PAUSE_MS, TimeUnit.MILLISECONDS)) {
                  progress.show(count.getAsLong(), all.getAsLong(), rest);
                }
              } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
              }
              progress.end();
            },
            "cinch-progress");
    thread.setDaemon(true);
    if (io.terminal()) {
      thread.start();
    }
  }

  @Override
  public void close() {
    over.countDown();
    try {
      thread.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
