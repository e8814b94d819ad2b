package dev.cinch.lease.memory;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Revocation;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.Witness;
import dev.cinch.lease.service.InstanceRegistry;
import dev.cinch.lease.table.Refusals;
import dev.cinch.lease.witness.WitnessException;
import dev.cinch.lease.witness.WitnessVerifier;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Which instance ends a lease: the one that signed it, or the one that resumes it (rules L10, L11).
 * Thread-safe; calls the registry in turn with {@link InstanceGuard}.
 */
@CheckReturnValue
final class LeaseEnds {
  private static final Logger log = LoggerFactory.getLogger(LeaseEnds.class);

  private final @Nullable InstanceRegistry registry;
  private final StoreTurn turn;
  private final long number;

  /**
   * @param registry null without a store: then every end is this instance's, and nothing is resumed
   */
  LeaseEnds(@Nullable InstanceRegistry registry, StoreTurn turn, long number) {
    this.registry = registry;
    this.turn = turn;
    this.number = number;
  }

  /**
   * The leases that a request wants to resume, as far as that is known without looking at their
   * names (rule L10).
   *
   * @throws LeaseRefusedException {@code NOT_HELD} if they can't be resumed; {@code NOT_YET} if the
   *     store did not answer
   */
  List<InstanceRegistry.End> resumable(Operation.Resume request) throws LeaseRefusedException {
    if (registry == null) {
      throw Refusals.notHeld("a lease service without a store resumes no leases; acquire anew");
    }
    var ends = new ArrayList<InstanceRegistry.End>();
    for (SignedWitness signed : request.witnesses()) {
      Witness w = signed.witness();
      OptionalLong lastEarlier = registry.lastEarlierInstance(w.name());
      if (w.instance() >= number || w.instance() < lastEarlier.orElse(Long.MAX_VALUE)) {
        // One in between may have granted the name, and would have known nothing of this lease.
        throw Refusals.notHeld(
            "%s is a lease of instance %d, and instance %d resumes %s; acquire anew"
                .formatted(
                    w.name(),
                    w.instance(),
                    number,
                    lastEarlier.isEmpty()
                        ? "none of an earlier one"
                        : "only those of instance " + lastEarlier.getAsLong()));
      }
      ends.add(new InstanceRegistry.End(w.correlation(), w.instance()));
    }
    var verifier = new WitnessVerifier(atStore(registry::trustedKeys));
    for (SignedWitness signed : request.witnesses()) {
      try {
        if (!verifier.verify(signed.bytes()).witness().equals(signed.witness())) {
          throw Refusals.notHeld("a witness was altered");
        }
      } catch (WitnessException e) {
        throw Refusals.notHeld(String.valueOf(e.getMessage()));
      }
    }
    return ends;
  }

  /**
   * Ends leases of an earlier instance, so that they go on here.
   *
   * @throws LeaseRefusedException {@code NOT_HELD} if another instance ended one; {@code NOT_YET}
   *     if the store did not answer
   */
  void takeOver(List<InstanceRegistry.End> ends) throws LeaseRefusedException {
    if (!isMine(ends)) {
      throw Refusals.notHeld("another instance of the lease service ended it; acquire anew");
    }
  }

  /**
   * Brings ends about.
   *
   * @return whether all are this instance's
   * @throws LeaseRefusedException {@code NOT_YET} if the store did not answer
   */
  boolean isMine(List<InstanceRegistry.End> ends) throws LeaseRefusedException {
    InstanceRegistry at = registry;
    return at == null || atStore(() -> at.end(ends)).containsAll(ends);
  }

  /**
   * Keeps a revocation of this instance.
   *
   * @return the one that stands
   * @throws LeaseRefusedException {@code NOT_YET} if the store did not answer
   */
  Revocation keep(Revocation revocation) throws LeaseRefusedException {
    InstanceRegistry at = registry;
    return at == null ? revocation : atStore(() -> at.revoked(revocation));
  }

  private interface StoreCall<T> {
    T get() throws IOException;
  }

  private <T> T atStore(StoreCall<T> call) throws LeaseRefusedException {
    if (!turn.takeSoon()) {
      throw Refusals.notYet(
          "the lease service waits for the store, which does not answer",
          InstanceGuard.RETRY_AFTER);
    }
    try {
      return call.get();
    } catch (IOException | UncheckedIOException e) {
      log.warn("the store does not tell whose leases are: {}", e.toString());
      throw Refusals.notYet(
          "the lease service can't tell in the store whose leases these are; it says: "
              + e.getMessage(),
          InstanceGuard.RETRY_AFTER);
    } finally {
      turn.end();
    }
  }

  /** Whose turn it is to call the registry, which only one thread at a time may. Thread-safe. */
  static final class StoreTurn {
    /**
     * How long after a turn began others wait for its end, nanoseconds. It is counted from the
     * beginning and not for each of them: a store that hangs costs a server's threads one such
     * wait, and not one a request.
     */
    static final long PATIENCE = 1_000_000_000L;

    private final ReentrantLock lock = new ReentrantLock();
    private final LongSupplier monotonic;

    /** When the present turn began; empty also for a moment after it did. */
    private volatile OptionalLong since = OptionalLong.empty();

    /**
     * @param monotonic the monotonic clock, nanoseconds
     */
    StoreTurn(LongSupplier monotonic) {
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
}
