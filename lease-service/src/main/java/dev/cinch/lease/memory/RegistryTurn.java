package dev.cinch.lease.memory;

import com.google.errorprone.annotations.CheckReturnValue;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;

/** Whose turn it is to call the registry, which only one thread at a time may. Thread-safe. */
@CheckReturnValue
final class RegistryTurn {
  /**
   * How long after a turn began others wait for its end, nanoseconds. It is counted from the
   * beginning and not for each of them: a store that hangs costs a server's threads one such wait,
   * and not one a request.
   */
  static final long PATIENCE = 1_000_000_000L;

  private final ReentrantLock lock = new ReentrantLock();
  private final LongSupplier monotonic;

  /** When the present turn began; empty also for a moment after it did. */
  private volatile OptionalLong since = OptionalLong.empty();

  /**
   * @param monotonic the monotonic clock, nanoseconds
   */
  RegistryTurn(LongSupplier monotonic) {
    this.monotonic = monotonic;
  }

  /** Takes the turn unless another thread has it. */
  boolean takeIfFree() {
    if (!lock.tryLock()) {
      return false;
    }
    began();
    return true;
  }

  /**
   * Takes the turn, after waiting for that of another thread until {@link #PATIENCE} after it
   * began, or an interrupt, which is kept.
   *
   * @return whether it was taken
   */
  boolean takeSoon() {
    if (takeIfFree()) {
      return true;
    }
    OptionalLong began = since;
    long waited = began.isPresent() ? monotonic.getAsLong() - began.getAsLong() : 0;
    try {
      if (!lock.tryLock(PATIENCE - waited, TimeUnit.NANOSECONDS)) {
        return false;
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
    began();
    return true;
  }

  private void began() {
    since = OptionalLong.of(monotonic.getAsLong());
  }

  /** Ends the turn of this thread. */
  void end() {
    since = OptionalLong.empty();
    lock.unlock();
  }
}
