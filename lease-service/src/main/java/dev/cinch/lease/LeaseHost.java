package dev.cinch.lease;

import com.google.errorprone.annotations.CheckReturnValue;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * A lease service in this process, as a server needs it: it carries out requests without waiting,
 * and tells what changes. Thread-safe.
 */
@CheckReturnValue
public interface LeaseHost extends LeaseService {
  /**
   * Whether its calls may wait for other machines or for files: then {@link #begin} is none of its
   * own.
   */
  default boolean waits() {
    return true;
  }

  /**
   * The same for callers that must not wait, and for several requests at once, whose witnesses may
   * share a signature.
   *
   * @return for each request what {@link #carryOut(List)} would return or throw, most often at
   *     once; for the first ones alone where those grant so much that the others had to wait long:
   *     they are to be brought again
   * @throws UnsupportedOperationException if it {@link #waits}
   */
  default List<CompletableFuture<List<Outcome>>> begin(List<List<Operation>> requests) {
    throw new UnsupportedOperationException("this service may wait: use carryOut");
  }

  /**
   * Has a listener told of changes from now on, for as long as the service lasts.
   *
   * @return whether it will be; services that are elsewhere don't
   */
  default boolean listen(ChangeListener listener) {
    return false;
  }

  /**
   * Whether listeners are told at present of all that is done. A service that is one of several
   * machines may be cut off from the others. Never waits.
   */
  default boolean hears() {
    return false;
  }

  /** What it counts. May take as long as a listing. */
  default ServiceCounts counts() {
    return ServiceCounts.NONE;
  }
}
