package dev.cinch.lease;

import com.google.errorprone.annotations.CheckReturnValue;
import java.util.List;

/** What became of an {@link Operation}. Immutable and thread-safe. */
@CheckReturnValue
public sealed interface Outcome {
  /** The leases were given back, now or before; it is not said which. */
  Outcome RELEASED = new Released(List.of());

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

  /**
   * The leases were given back.
   *
   * @param witnesses of them, where the service is here and has not heard of it before
   */
  record Released(List<Witness> witnesses) implements Outcome {
    public Released {
      witnesses = List.copyOf(witnesses);
    }
  }

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
