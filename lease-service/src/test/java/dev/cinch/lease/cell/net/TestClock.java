package dev.cinch.lease.cell.net;

import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;

/** A clock that runs, and that a test puts forward. */
final class TestClock implements LongSupplier {
  private final long origin = System.nanoTime();
  private final AtomicLong forward = new AtomicLong();

  void forward(long nanos) {
    forward.addAndGet(nanos);
  }

  @Override
  public long getAsLong() {
    return System.nanoTime() - origin + forward.get();
  }
}
