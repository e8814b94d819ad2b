package dev.cinch.lease.cell.net;

import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;

/** A clock that runs, and that a test puts forward. */
final class TestClock implements LongSupplier {
  private final long origin = System.nanoTime();
  private final AtomicLong forward = new AtomicLong();
  private volatile long stoodAt = -1;

  void forward(long nanos) {
    forward.addAndGet(nanos);
  }

  /** From now on it shows no more than what it is put forward by. */
  void stop() {
    stoodAt = System.nanoTime();
  }

  @Override
  public long getAsLong() {
    return (stoodAt < 0 ? System.nanoTime() : stoodAt) - origin + forward.get();
  }
}
