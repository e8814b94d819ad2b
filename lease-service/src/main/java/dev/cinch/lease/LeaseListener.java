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
}
