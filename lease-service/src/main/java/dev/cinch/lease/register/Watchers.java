package dev.cinch.lease.register;

import static dev.cinch.lease.rules.Refusals.notYet;

import dev.cinch.lease.ChangeListener;
import dev.cinch.lease.ChangeListener.Listeners;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.rules.LeaseState;
import dev.cinch.lease.rules.LeaseStateCodec;
import dev.cinch.lease.rules.LeaseStateCodec.MalformedLeaseStateException;
import java.util.Optional;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells listeners which leases changed, from the values that are written here and elsewhere. Knows
 * whether it hears of others at all: as long as what keeps the leases can be reached. Thread-safe.
 */
final class Watchers {
  private static final long RETRY_AFTER = 200_000_000L;
  private static final Logger log = LoggerFactory.getLogger(Watchers.class);

  private final StateRegister register;
  private final Listeners listeners = new Listeners();
  private final AtomicBoolean probing = new AtomicBoolean();

  /** Why others could not be reached the last time; empty if they could, and at first. */
  private volatile Optional<LeaseRefusedException> unreached = Optional.empty();

  Watchers(StateRegister register) {
    this.register = register;
  }

  void listen(ChangeListener listener) {
    listeners.add(listener);
  }

  /** Values may have been written that nobody told of here. */
  void lost() {
    listeners.lost();
  }

  /** A value was written, or may have been. */
  void written(String name, byte[] value) {
    try {
      listeners.changed(name, LeaseStateCodec.decode(value).state() != LeaseState.State.FULL);
    } catch (MalformedLeaseStateException e) {
      // Whoever asks for it is told so.
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
    unreached = failure.map(Watchers::refusal);
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

  /** Whether listeners are told of what others do. */
  boolean hears() {
    return unreached.isEmpty() && register.hears();
  }
}
