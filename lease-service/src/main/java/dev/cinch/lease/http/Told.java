package dev.cinch.lease.http;

import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Outcome;

/**
 * What a server said of an operation.
 *
 * @param unsure whether it may be otherwise by now
 */
record Told(Outcome outcome, boolean unsure) {
  static Told of(Operation operation, Outcome outcome, boolean again) {
    // The first one may have been granted, or may be granted still when it comes.
    boolean unsure =
        again
            && operation instanceof Operation.Acquire
            && outcome instanceof Outcome.Refused refused
            && (refused.refusal().reason() == Reason.HELD
                || refused.refusal().reason() == Reason.NOT_YET);
    return new Told(outcome, unsure);
  }

  /** Whether the server does no such thing at the moment, and another one may. */
  boolean isTurnedAway() {
    return outcome instanceof Outcome.Refused refused
        && refused.refusal().reason() == Reason.NOT_YET;
  }

  /**
   * The outcome, if it stands.
   *
   * @throws LeaseUnavailableException if it may be otherwise by now
   */
  Outcome known() throws LeaseUnavailableException {
    if (unsure && outcome instanceof Outcome.Refused refused) {
      throw new LeaseUnavailableException(
          "the lease service did not answer at first, and then: " + refused.refusal().getMessage(),
          refused.refusal());
    }
    return outcome;
  }
}
