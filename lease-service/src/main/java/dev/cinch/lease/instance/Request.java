package dev.cinch.lease.instance;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Outcome;
import dev.cinch.lease.Revocation;
import dev.cinch.lease.instance.StoreCalls.StoreNeededException;
import dev.cinch.lease.witness.TrustedKeys;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** Operations that are carried out one after the other. For one thread at a time. */
@CheckReturnValue
final class Request {
  /** How long an operation that goes on without the store waits for it, nanoseconds. */
  private static final long SOON = 1_000_000_000L;

  /** How long a request waits for the store in all, nanoseconds. */
  private static final long PATIENCE = 10 * SOON;

  private final List<Operation> wanted;
  private final Operations operations;
  private final Batch batch;
  private final CompletableFuture<List<Outcome>> done = new CompletableFuture<>();
  private final long since;
  private int next;

  /** The next operation, once it was tried; null before. */
  private @Nullable Attempt attempt;

  Request(List<Operation> wanted, Operations operations) {
    this.wanted = wanted;
    this.operations = operations;
    this.batch = new Batch(wanted.size());
    this.since = operations.monotonic();
  }

  /** How much longer it waits for the store, nanoseconds. */
  long patience(StoreNeededException needed) {
    long left = Math.max(0, PATIENCE - (operations.monotonic() - since));
    return needed.isOptional() ? Math.min(left, SOON) : left;
  }

  /** One operation, and what was found in the store for it. */
  static final class Attempt {
    /** How often it is tried at most: others may expire as fast as leases are ended. */
    private static final int MOST_TRIES = 8;

    final Operation operation;

    /** When it was tried first, monotonic nanoseconds. */
    final long asked;

    private int tries;
    boolean clockCompared;

    /** Whether a ceiling was published for it. */
    boolean covered;

    @Nullable TrustedKeys keys;
    boolean verified;
    boolean takenOver;
    @Nullable Revocation kept;

    Attempt(Operation operation, long asked) {
      this.operation = operation;
      this.asked = asked;
    }

    /** Whether it was not tried yet. */
    boolean isFirst() {
      return tries == 0;
    }

    /** Counts one; false if there were enough. */
    boolean again() {
      return ++tries <= MOST_TRIES;
    }
  }

  /** Goes on until it is through: null; or until the store is needed. */
  @Nullable StoreNeededException advance() {
    try {
      while (next < wanted.size() && !batch.isFull()) {
        if (attempt == null) {
          attempt = new Attempt(wanted.get(next), operations.monotonic());
        }
        operations.carryOut(attempt, batch);
        goNext();
      }
      return null;
    } catch (StoreNeededException e) {
      return e;
    }
  }

  private void goNext() {
    attempt = null;
    next++;
  }

  /** The store did not do what the next operation needs: it is refused, unless it needs it not. */
  void unmet(StoreNeededException needed, Throwable why) {
    if (why instanceof Error error) {
      throw error;
    } else if (why instanceof RuntimeException bug) {
      throw bug;
    } else if (!needed.isOptional()) {
      batch.add(
          new Outcome.Refused(
              why instanceof LeaseRefusedException refused ? refused : Publisher.notAnswered()));
      goNext();
    }
  }

  /** What became of its operations, unsigned. */
  Batch batch() {
    return batch;
  }

  /** What became of them, once that is known. */
  CompletableFuture<List<Outcome>> done() {
    return done;
  }
}
