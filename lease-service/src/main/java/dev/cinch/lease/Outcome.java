package dev.cinch.lease;

import com.google.errorprone.annotations.CheckReturnValue;

/** What became of an {@link Operation}. Immutable and thread-safe. */
@CheckReturnValue
public sealed interface Outcome {
  /** The leases were given back, now or before. */
  Outcome RELEASED = new Released();

  /** The leases as they stand after it. */
  record Granted(Grant grant) implements Outcome {}

  /** As {@link #RELEASED}. */
  record Released() implements Outcome {}

  /** The answer is no; nothing was changed. */
  record Refused(LeaseRefusedException refusal) implements Outcome {}
}
