package dev.cinch.lease.http;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.Operation;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.ToLongFunction;

/**
 * Gathers operations with those that wait for a server about as long. What is gathered waits while
 * requests are under way, and so for as long as a server may hang: the renewal of a short lease
 * would run out behind that of a long one. Thread-safe.
 *
 * @param <R> what becomes of an operation
 */
@CheckReturnValue
final class Lanes<R> {
  private final Gatherer.Sender<R> sender;
  private final ToLongFunction<Operation> waitMs;

  /** By the length of the wait in bits: those of one lane differ by less than a factor of two. */
  private final Map<Integer, Gatherer<R>> lanes = new ConcurrentHashMap<>();

  /**
   * @param waitMs how long one server is waited for, milliseconds
   */
  Lanes(Gatherer.Sender<R> sender, ToLongFunction<Operation> waitMs) {
    this.sender = sender;
    this.waitMs = waitMs;
  }

  /** As {@link Gatherer#call}. */
  R call(Operation operation) throws LeaseUnavailableException {
    int bits = Long.SIZE - Long.numberOfLeadingZeros(waitMs.applyAsLong(operation));
    return lanes.computeIfAbsent(bits, unused -> new Gatherer<>(sender)).call(operation);
  }
}
