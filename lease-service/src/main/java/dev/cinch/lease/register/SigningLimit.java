package dev.cinch.lease.register;

import com.google.errorprone.annotations.CheckReturnValue;

/**
 * What a node's signature needs beside a lease that its acceptor has accepted. Thread-safe; called
 * on the node's thread: quick, and without waiting.
 */
@CheckReturnValue
@FunctionalInterface
public interface SigningLimit {
  /** Whatever was accepted. */
  SigningLimit NONE = (issuedAt, expiry, again) -> true;

  /**
   * Whether a lease may be signed now.
   *
   * @param issuedAt signed time at which it was granted or prolonged, nanoseconds since the Unix
   *     epoch
   * @param expiry likewise
   * @param again to be called once it may be signed, if that will be; may be dropped
   */
  boolean allows(long issuedAt, long expiry, Runnable again);
}
