package dev.cinch.lease.hold;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.LeaseName;
import java.time.Duration;
import java.util.List;

/**
 * Told by those who keep leases renewed what becomes of them. Called on the thread that found it,
 * under no lock, and with a {@link LeaseKeeper} for several leases at once. It must not block for
 * long: the leases are not renewed meanwhile.
 */
@CheckReturnValue
@FunctionalInterface
public interface LeaseListener {
  /**
   * The leases were not renewed in the first half of their time, since the service does not answer
   * or does not do it. It goes on trying. Told once, and again only after a renewal.
   *
   * @param left how long they may be used still: no more than half of their duration
   */
  default void atRisk(List<LeaseName> names, Duration left) {}

  /**
   * The leases are lost, once: nothing may be done under them any more. Where they were not renewed
   * in time, they can be another's after the margins of {@link HoldSettings}, a fiftieth of their
   * duration. Where the service said so, as of leases that were revoked, they exclude others as
   * long as {@link HeldLease#leftNanos} says.
   *
   * @param why one line for the user
   */
  void lost(List<LeaseName> names, String why);
}
