package dev.cinch.lease.register;

import static dev.cinch.lease.rules.Refusals.invalid;
import static dev.cinch.lease.rules.Refusals.notYet;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.Ending;
import dev.cinch.lease.Fence;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Revocation;
import dev.cinch.lease.rules.Inheritance;
import dev.cinch.lease.rules.LeaseRules;
import dev.cinch.lease.rules.LeaseState;
import dev.cinch.lease.rules.LeaseStateCodec;
import dev.cinch.lease.rules.LeaseStateCodec.MalformedLeaseStateException;
import dev.cinch.lease.rules.Moment;
import dev.cinch.lease.rules.Revocations;
import dev.cinch.lease.rules.Unreleased;
import dev.cinch.lease.table.LeaseBackend.UnansweredException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BiConsumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Watchers of the states of leases in a register: each reads the last state, and writes the next in
 * one step (rule L17). Thread-safe.
 */
@CheckReturnValue
final class Transitions {
  /** A register gives up earlier; after so long something is wrong with it. */
  private static final long PATIENCE_SECONDS = 20;

  private static final long RETRY_AFTER = 200_000_000L;

  private final StateRegister register;
  private final Forgotten forgotten;
  private final LongSupplier time;
  private final BiConsumer<String, byte[]> listener;

  /**
   * @param forgotten what may have been where the register has forgotten
   * @param time of this machine
   * @param listener told of what was written, by the thread that waits for it
   */
  Transitions(
      StateRegister register,
      Forgotten forgotten,
      LongSupplier time,
      BiConsumer<String, byte[]> listener) {
    this.register = register;
    this.forgotten = forgotten;
    this.time = time;
    this.listener = listener;
  }

  /** What a change makes of a name's state: what is to be written, or nothing. */
  @FunctionalInterface
  interface Transition {
    /**
     * Called perhaps several times.
     *
     * @param lease as it was found
     * @param at not before anything that was done to the lease
     */
    Optional<LeaseState> apply(LeaseState lease, Moment at, StateRegister.Found found)
        throws LeaseRefusedException;
  }

  /** A change that is under way. */
  final class Pending {
    private final LeaseName name;
    private final CompletableFuture<Boolean> done;

    /** What the last call of the transition made; read when it is done. */
    private volatile @Nullable LeaseState made;

    private volatile byte[] written = {};

    private Pending(LeaseName name, Moment now, Transition transition, boolean ofLast) {
      this.name = name;
      this.done =
          register.change(
              name,
              found -> {
                LeaseState lease = state(name, found);
                // Signed time does not go back for a name, whoever's clock it is (rule L6).
                Moment at =
                    now.among(forgotten.apartNanos())
                        .at(Math.max(earliest(now, found), lease.changedAt()));
                if (ofLast && forgotten.hides(lease, found, at.time())) {
                  lease = LeaseState.unknown(name);
                }
                made = null;
                Optional<LeaseState> next = transition.apply(lease, at, found);
                if (next.isEmpty()) {
                  return Optional.empty();
                }
                LeaseState fitting = next.get();
                byte[] bytes = LeaseStateCodec.encode(fitting);
                while (bytes.length > register.longestValue()) {
                  fitting = shorter(fitting, bytes.length);
                  bytes = LeaseStateCodec.encode(fitting);
                }
                written = bytes;
                made = fitting;
                return Optional.of(bytes);
              });
    }

    /**
     * A request may have waited for long. What was forgotten meanwhile may reach beyond the time
     * that it brings (rule L17).
     */
    private long earliest(Moment now, StateRegister.Found found) {
      return found.remembered() ? now.time() : Math.max(now.time(), time.getAsLong());
    }

    /** What was written; empty if nothing was. */
    Optional<LeaseState> await() throws LeaseRefusedException {
      boolean hasWritten = answer(done, name.value());
      if (hasWritten) {
        listener.accept(name.value(), written);
      }
      return hasWritten ? Optional.ofNullable(made) : Optional.empty();
    }
  }

  /**
   * Makes a change of each of several names, after looking whether all can be made: only what
   * others do in between can have it made of some alone.
   */
  List<LeaseState> together(List<LeaseName> names, Moment now, Transition transition)
      throws LeaseRefusedException {
    if (names.size() > 1) {
      Transition look =
          (lease, at, found) -> {
            Optional<LeaseState> unused = transition.apply(lease, at, found);
            return Optional.empty();
          };
      List<LeaseState> unused = all(each(names, now, look));
    }
    return all(each(names, now, transition));
  }

  private List<Pending> each(List<LeaseName> names, Moment now, Transition transition) {
    return names.stream().map(name -> change(name, now, transition)).toList();
  }

  /**
   * Begins a change of the last lease; {@code now} is this machine's time. Where a later one than
   * was found may be forgotten, nothing is known of any.
   */
  Pending change(LeaseName name, Moment now, Transition transition) {
    return new Pending(name, now, transition, true);
  }

  /** Likewise, of the lease that was found; for what grants the next one, or changes nothing. */
  Pending changeFound(LeaseName name, Moment now, Transition transition) {
    return new Pending(name, now, transition, false);
  }

  static LeaseState single(Pending change) throws LeaseRefusedException {
    return change.await().orElseThrow();
  }

  /** What was written, once all are done; refused if one is. */
  static List<LeaseState> all(List<Pending> pending) throws LeaseRefusedException {
    var states = new ArrayList<LeaseState>(pending.size());
    LeaseRefusedException refusal = null;
    for (Pending change : pending) {
      try {
        change.await().ifPresent(states::add);
      } catch (LeaseRefusedException e) {
        refusal = refusal == null ? e : refusal;
      }
    }
    if (refusal != null) {
      throw refusal;
    }
    return states;
  }

  static LeaseState state(LeaseName name, StateRegister.Found found) throws LeaseRefusedException {
    return found.value().isPresent()
        ? decoded(name.value(), found.value().get())
        : LeaseState.unknown(name);
  }

  static LeaseState decoded(String name, byte[] value) throws LeaseRefusedException {
    String problem;
    try {
      LeaseState lease = LeaseStateCodec.decode(value);
      if (lease.name().value().equals(name)) {
        return lease;
      }
      problem = "it is of " + lease.name();
    } catch (MalformedLeaseStateException e) {
      problem = "perhaps another version wrote it: " + e.getMessage();
    }
    throw notYet("what is kept of " + name + " can't be read: " + problem, RETRY_AFTER);
  }

  private LeaseState shorter(LeaseState lease, int length) throws LeaseRefusedException {
    return lease
        .shorter()
        .orElseThrow(
            () ->
                invalid(
                    "the lease on %s takes %d bytes, more than the %d that fit; ask for all logs"
                        .formatted(lease.name(), length, register.longestValue())));
  }

  /**
   * What the next lease of a name inherits whose last value may be forgotten (rule L4): a fence up
   * to where a lease can reach that was granted before. Immutable.
   *
   * @param since signed time at which the first lease may have been granted: before it nothing is
   *     forgotten
   * @param longestNanos the longest lease, which may have begun when the value was written
   * @param apartNanos how far the clocks of two machines are apart at most
   */
  record Forgotten(long since, long longestNanos, long apartNanos) {
    /**
     * Of a lease that may have been; empty if there can't have been any.
     *
     * @param quietNanos so long ago its value was written, at the least
     * @param now by this machine's clock
     */
    Optional<Inheritance> lease(long quietNanos, long now) {
      // What acceptors forget by a restart has ended by then; what they forget since it is old may
      // have lasted for the longest lease from when it was written.
      long endedAgo = Math.max(0, quietNanos - longestNanos);
      long reach = now - endedAgo + apartNanos;
      return reach < since
          ? Optional.empty()
          : Optional.of(Inheritance.origin(Ending.UNKNOWN, new Fence(reach, LogSet.ALL)));
    }

    /**
     * Whether a later state of a name may be forgotten than the one that was found. Then that one
     * is not to be written again: with it the register would have a last state, and nobody would
     * know of the later one. What has a lease that has not expired by any clock was written after
     * all that is forgotten, which is as old as the longest lease.
     */
    boolean hides(LeaseState lease, StateRegister.Found found, long now) {
      return !found.remembered()
          && lease(found.quietNanos(), now).isPresent()
          && lease.expiry() <= now + apartNanos;
    }
  }

  /** Revokes leases of a register (rule L15). Thread-safe. */
  static final class Revoking {
    private final LeaseRules rules;
    private final Revocations revocations;
    private final Transitions changes;

    /**
     * @param revocations what this instance has revoked
     */
    Revoking(LeaseRules rules, Revocations revocations, Transitions changes) {
      this.rules = rules;
      this.revocations = revocations;
      this.changes = changes;
    }

    /** What revoking a lease would be; nothing changes. */
    Revocation revocable(Operation.Revoke request, Moment now) throws LeaseRefusedException {
      var found = new Revocation[1];
      var unused =
          changes
              .change(
                  request.name(),
                  now,
                  (lease, at, register) -> {
                    Revocation wanted = rules.revocable(request, lease, at);
                    found[0] =
                        lease.isUnended()
                            ? wanted
                            : revocations.of(lease.correlation()).orElse(wanted);
                    return Optional.empty();
                  })
              .await();
      return found[0];
    }

    /** Revokes; returns when the lease ends, signed time. */
    long revoked(Revocation revocation, long now) throws LeaseRefusedException {
      revocations.add(revocation);
      var unreleased = new Unreleased(revocation.name().value(), revocation.correlation());
      var end = new long[1];
      Optional<LeaseState> unusedState =
          changes
              .change(
                  revocation.name(),
                  new Moment(now, Moment.UNKNOWN),
                  (lease, at, found) -> {
                    boolean same =
                        lease.isKnown() && lease.correlation().equals(revocation.correlation());
                    boolean over = !same || lease.state() == LeaseState.State.RELEASED;
                    end[0] = over ? at.time() : lease.expiry();
                    // Also one that is ended already: what was found alone may be gone (rule L17).
                    return same
                        ? Optional.of(LeaseRules.ended(lease, unreleased).orElse(lease))
                        : Optional.empty();
                  })
              .await();
      return end[0];
    }
  }

  /**
   * Waits for what a register answers.
   *
   * @param what is asked for, to say so
   * @throws LeaseRefusedException that the register has; {@code NOT_YET} if it did nothing
   * @throws UnansweredException if it may have done it
   */
  static <T> T answer(CompletableFuture<T> answer, String what) throws LeaseRefusedException {
    try {
      return answer.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
    } catch (ExecutionException e) {
      throw refusal(e.getCause());
    } catch (TimeoutException e) {
      throw new UnansweredException(what + ": no answer");
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new UnansweredException(what + ": the service ends");
    }
  }

  private static LeaseRefusedException refusal(@Nullable Throwable failure) {
    if (failure instanceof LeaseRefusedException refused) {
      return refused;
    }
    throw failure instanceof RuntimeException runtime
        ? runtime
        : new IllegalStateException(failure);
  }
}
