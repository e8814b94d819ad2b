package dev.cinch.lease.register;

import static dev.cinch.lease.table.Refusals.notYet;

import dev.cinch.lease.ChangeListener;
import dev.cinch.lease.ChangeListener.Listeners;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.table.LeaseState;
import dev.cinch.lease.table.LeaseStateCodec;
import dev.cinch.lease.table.LeaseStateCodec.MalformedLeaseStateException;
import dev.cinch.lease.table.Moment;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells listeners what becomes of leases, from the values that are written here and elsewhere. What
 * comes twice, or after what followed it, is told once. Knows whether it hears of others at all: as
 * long as what keeps the leases can be reached. Thread-safe.
 */
final class Changes {
  /**
   * So many leases that somebody watches are remembered; then all are forgotten, and told again.
   */
  private static final int MOST = 65_536;

  /** What was told last of a lease that is watched. */
  private record Told(long changedAt, Id correlation, LeaseState.State state) {}

  private static final long RETRY_AFTER = 200_000_000L;
  private static final Logger log = LoggerFactory.getLogger(Changes.class);

  private final StateRegister register;
  private final long instance;
  private final Listeners listeners = new Listeners();
  private final Map<String, Told> told = new HashMap<>();
  private final AtomicBoolean probing = new AtomicBoolean();

  /** Why others could not be reached the last time; empty if they could, and at first. */
  private volatile Optional<LeaseRefusedException> unreached = Optional.empty();

  /**
   * @param instance number of the service's instance
   */
  Changes(StateRegister register, long instance) {
    this.register = register;
    this.instance = instance;
  }

  void listen(ChangeListener listener) {
    listeners.add(listener);
  }

  /** Values may have been written that nobody told of here. */
  void lost() {
    synchronized (told) {
      told.clear();
    }
    listeners.lost();
  }

  /** A value was written, or may have been. */
  void written(String name, byte[] value) {
    LeaseState lease;
    try {
      lease = LeaseStateCodec.decode(value);
    } catch (MalformedLeaseStateException e) {
      return; // whoever asks for it is told so
    }
    listeners.changed(name, lease.state() != LeaseState.State.FULL);
    synchronized (told) {
      if (!listeners.isWatched(name)) {
        told.remove(name);
        return;
      }
      var next = new Told(lease.changedAt(), lease.correlation(), lease.state());
      Told last = told.get(name);
      if (last != null && last.changedAt() > next.changedAt()) {
        return;
      }
      if (told.size() >= MOST) {
        told.clear();
      }
      told.put(name, next);
      if (last == null
          || !last.correlation().equals(next.correlation())
          || last.state() != next.state()) {
        listeners.became(
            name, () -> lease.info(instance, new Moment(lease.changedAt(), Moment.UNKNOWN)));
      }
    }
  }

  /** Why what keeps the leases could not be reached the last time; empty if it could. */
  Optional<LeaseRefusedException> obstacle() {
    return unreached;
  }

  /** One at a time: where nobody answers each takes a while. */
  void probe() {
    if (probing.compareAndSet(false, true)) {
      var unused =
          register
              .reach()
              .handle(
                  (answer, failure) -> {
                    probing.set(false);
                    return reached(failure == null ? Optional.empty() : Optional.of(failure));
                  });
    }
  }

  private boolean reached(Optional<Throwable> failure) {
    boolean before = unreached.isEmpty();
    unreached = failure.map(Changes::refusal);
    if (before && failure.isPresent()) {
      log.warn("{}", String.valueOf(unreached.map(Throwable::getMessage).orElse("")));
      lost(); // from now on is missed what others do
    }
    return failure.isEmpty();
  }

  private static LeaseRefusedException refusal(Throwable failure) {
    Throwable why = failure instanceof CompletionException ? failure.getCause() : failure;
    return why instanceof LeaseRefusedException refused
        ? refused
        : notYet("what keeps the leases can't be asked: " + why, RETRY_AFTER);
  }

  Optional<LeaseRefusedException> deafness() {
    return unreached.isPresent() || register.hears()
        ? unreached
        : Optional.of(
            notYet(
                "this server hears of no changes yet: a node that starts does when it votes",
                1_000_000_000L));
  }
}
