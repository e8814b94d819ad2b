package dev.cinch.lease;

import com.google.errorprone.annotations.CheckReturnValue;

/** What became of an {@link Operation}. Immutable and thread-safe. */
@CheckReturnValue
public sealed interface Outcome {
  /** The leases were given back, now or before. */
  Outcome RELEASED = new Released();

  /**
   * Throws the refusal if the answer is no.
   *
   * @throws LeaseRefusedException what {@link Refused} has
   */
  default void requireDone() throws LeaseRefusedException {}

  /**
   * The leases as they stand after it, for an operation that grants or prolongs some.
   *
   * @throws LeaseRefusedException if the answer is no
   */
  default Grant grant() throws LeaseRefusedException {
    requireDone();
    throw new IllegalStateException("nothing was granted");
  }

  /** The leases as they stand after it. */
  record Granted(Grant grant) implements Outcome {}

  /** As {@link #RELEASED}. */
  record Released() implements Outcome {}

  /**
   * A lease is prolonged no more.
   *
   * @param revocation as the store keeps it
   * @param expiry until when the holder may still write, unless it gives the lease back; then the
   *     name is granted again. Nanoseconds since the Unix epoch
   */
  record Revoked(Revocation revocation, long expiry) implements Outcome {}

  /** The answer is no; nothing was changed. */
  record Refused(LeaseRefusedException refusal) implements Outcome {
    @Override
    public void requireDone() throws LeaseRefusedException {
      throw refusal;
    }
  }
}
