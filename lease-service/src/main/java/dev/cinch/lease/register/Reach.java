package dev.cinch.lease.register;

import static dev.cinch.lease.table.Refusals.notYet;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.LeaseRefusedException;
import java.util.Optional;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Whether what keeps the leases can be reached, as it was found last. Thread-safe. */
@CheckReturnValue
final class Reach {
  private static final long RETRY_AFTER = 200_000_000L;
  private static final Logger log = LoggerFactory.getLogger(Reach.class);

  private final StateRegister register;
  private final Runnable lost;
  private final AtomicBoolean probing = new AtomicBoolean();

  /** Why others could not be reached the last time; empty if they could, and at first. */
  private volatile Optional<LeaseRefusedException> unreached = Optional.empty();

  /**
   * @param lost told when it can't be reached any more: from then on is missed what others do
   */
  Reach(StateRegister register, Runnable lost) {
    this.register = register;
    this.lost = lost;
  }

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
    unreached = failure.map(Reach::refusal);
    if (before && failure.isPresent()) {
      log.warn("{}", String.valueOf(unreached.map(Throwable::getMessage).orElse("")));
      lost.run();
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
