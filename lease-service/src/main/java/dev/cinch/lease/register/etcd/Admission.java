package dev.cinch.lease.register.etcd;

import com.google.errorprone.annotations.CheckReturnValue;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Lets so many requests be under way at once: each has a connection of its own, and etcd serves no
 * more of them by being asked for more. Others wait, up to a limit. Thread-safe.
 */
@CheckReturnValue
final class Admission {
  private final int mostUnderWay;
  private final int mostWaiting;

  /** Guarded by this. */
  private final Queue<BooleanSupplier> waiting = new ArrayDeque<>();

  private int underWay; // guarded by this

  Admission(int mostUnderWay, int mostWaiting) {
    this.mostUnderWay = mostUnderWay;
    this.mostWaiting = mostWaiting;
  }

  /**
   * Begins a request, now or when another one has left.
   *
   * @param begin says whether it began; if so, it has to {@link #leave}
   * @return false if too many wait, and it will not begin
   */
  boolean enter(BooleanSupplier begin) {
    synchronized (this) {
      if (underWay >= mostUnderWay) {
        return waiting.size() < mostWaiting && waiting.add(begin);
      }
      underWay++;
    }
    if (!begin.getAsBoolean()) {
      leave();
    }
    return true;
  }

  /** A request has ended. */
  void leave() {
    BooleanSupplier next = next();
    while (next != null && !next.getAsBoolean()) {
      next = next();
    }
  }

  private synchronized @Nullable BooleanSupplier next() {
    BooleanSupplier next = waiting.poll();
    if (next == null) {
      underWay--;
    }
    return next;
  }
}
