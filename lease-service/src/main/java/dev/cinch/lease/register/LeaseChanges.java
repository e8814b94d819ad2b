package dev.cinch.lease.register;

import static dev.cinch.lease.table.Refusals.invalid;
import static dev.cinch.lease.table.Refusals.notYet;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.table.LeaseState;
import dev.cinch.lease.table.LeaseStateCodec;
import dev.cinch.lease.table.MalformedLeaseStateException;
import dev.cinch.lease.table.Moment;
import dev.cinch.lease.table.Tenure;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiConsumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Changes of the states of leases in a register: each reads the last state, and writes the next in
 * one step (rule L17). Thread-safe.
 */
@CheckReturnValue
final class LeaseChanges {
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
  LeaseChanges(
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
     * @param lease as it was found, which may be changed in place
     * @param at not before anything that was done to the lease
     */
    Optional<LeaseState> apply(LeaseState lease, Moment at, StateRegister.Found found)
        throws LeaseRefusedException;
  }

  /** A change that is under way. */
  final class Change {
    private final LeaseName name;
    private final CompletableFuture<Boolean> done;

    /** What the last call of the transition made; read when it is done. */
    private volatile @Nullable LeaseState made;

    private volatile byte[] written = {};

    private Change(LeaseName name, Moment now, Transition transition, boolean ofLast) {
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
                  lease = new LeaseState(name.value());
                }
                made = null;
                LeaseState next = transition.apply(lease, at, found).orElse(null);
                if (next == null) {
                  return Optional.empty();
                }
                byte[] bytes = encoded(next);
                written = bytes;
                made = next;
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
      boolean hasWritten = Answers.of(done, name.value());
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

  private List<Change> each(List<LeaseName> names, Moment now, Transition transition) {
    return names.stream().map(name -> change(name, now, transition)).toList();
  }

  /**
   * Begins a change of the last lease; {@code now} is this machine's time. Where a later one than
   * was found may be forgotten, nothing is known of any.
   */
  Change change(LeaseName name, Moment now, Transition transition) {
    return new Change(name, now, transition, true);
  }

  /** Likewise, of the lease that was found; for what grants the next one, or changes nothing. */
  Change changeFound(LeaseName name, Moment now, Transition transition) {
    return new Change(name, now, transition, false);
  }

  static LeaseState single(Change change) throws LeaseRefusedException {
    return change.await().orElseThrow();
  }

  /** What was written, once all are done; refused if one is. */
  static List<LeaseState> all(List<Change> pending) throws LeaseRefusedException {
    var states = new ArrayList<LeaseState>(pending.size());
    LeaseRefusedException refusal = null;
    for (Change change : pending) {
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
        : new LeaseState(name.value());
  }

  static LeaseState decoded(String name, byte[] value) throws LeaseRefusedException {
    String problem;
    try {
      LeaseState lease = LeaseStateCodec.decode(value);
      if (lease.name().equals(name)) {
        return lease;
      }
      problem = "it is of " + lease.name();
    } catch (MalformedLeaseStateException e) {
      problem = "perhaps another version wrote it: " + e.getMessage();
    }
    throw notYet("what is kept of " + name + " can't be read: " + problem, RETRY_AFTER);
  }

  private byte[] encoded(LeaseState lease) throws LeaseRefusedException {
    byte[] bytes = LeaseStateCodec.encode(lease);
    while (bytes.length > register.longestValue()) {
      if (!lease.shorten()) {
        throw invalid(
            "the lease on %s takes %d bytes, more than the %d that fit; ask for all logs"
                .formatted(lease.name(), bytes.length, register.longestValue()));
      }
      bytes = LeaseStateCodec.encode(lease);
    }
    return bytes;
  }

  /** All leases in the way of a request that have to be ended first. */
  List<Tenure> unended(List<LeaseName> names, Moment now) throws LeaseRefusedException {
    var tenures = new ArrayList<Tenure>();
    for (LeaseName name : names) {
      var unused =
          changeFound(
                  name,
                  now,
                  (lease, at, found) -> {
                    if (lease.isKnown() && lease.isUnended() && !lease.excludes(at)) {
                      tenures.add(lease.tenure());
                    }
                    return Optional.empty();
                  })
              .await();
    }
    if (tenures.isEmpty()) {
      throw notYet("another request has the leases that were in the way; ask again", RETRY_AFTER);
    }
    return tenures.stream().distinct().toList();
  }
}
