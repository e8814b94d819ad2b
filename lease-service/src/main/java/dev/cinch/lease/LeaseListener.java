package dev.cinch.lease;

import com.google.errorprone.annotations.CheckReturnValue;

/** Told of changes of leases by a service that has them in its memory. Thread-safe. */
@CheckReturnValue
@FunctionalInterface
public interface LeaseListener {
  /**
   * A lease was granted, prolonged, or ended by somebody; not that its time is over. Called while
   * the change is made, for each name in the order of its changes: it must not wait, nor ask the
   * service, which may answer with the state before.
   *
   * @param free whether others may be granted the name from now on
   */
  void changed(String name, boolean free);

  /** Whether {@link #became} is to be called for changes of a name; must not wait. */
  default boolean watches(String name) {
    return false;
  }

  /**
   * A lease was granted, upgraded, released, revoked, or noticed to have expired; not that it was
   * prolonged. Called likewise.
   */
  default void became(LeaseInfo lease) {}

  /** Changes may have been made of which nothing was told; must not wait. */
  default void lost() {}
}
