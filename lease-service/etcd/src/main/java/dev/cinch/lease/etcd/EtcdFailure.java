package dev.cinch.lease.etcd;

import dev.cinch.lease.OneLine;
import java.util.concurrent.CompletionException;

/** Why etcd did not do what was asked for, or is not known to have; one line with the endpoint. */
final class EtcdFailure extends Exception {
  private static final long serialVersionUID = 1;

  /** What is known of the request. */
  enum Kind {
    /** It was not done; it may be at another endpoint, or later. */
    NOT_DONE,
    /** It may have been done, or still be. */
    UNKNOWN,
    /** It was not done, since the etcd lease in it is not there. */
    NO_LEASE,
    /** It was not done, and won't be if it is asked again. */
    REFUSED
  }

  private final Kind kind;

  /**
   * @param message one line
   */
  EtcdFailure(Kind kind, String message) {
    super(message, null, false, false); // its trace would be of gRPC's threads
    this.kind = kind;
  }

  /** What a call has ended with. */
  static EtcdFailure of(Throwable broken) {
    Throwable cause =
        broken instanceof CompletionException && broken.getCause() != null
            ? broken.getCause()
            : broken;
    return cause instanceof EtcdFailure failure
        ? failure
        : new EtcdFailure(
            Kind.UNKNOWN, "etcd's answer was not understood: " + OneLine.of(cause.toString(), 200));
  }

  Kind kind() {
    return kind;
  }
}
