package dev.cinch.lease.wire;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.LeaseInfo;
import java.util.List;
import java.util.OptionalInt;

/**
 * What a server knows of a name, with those who wait for it there. Immutable and thread-safe.
 *
 * @param waiting the first of them, in the order in which they would have it: 10 in a listing,
 *     1,000 of one name
 * @param waitingCount how many there are; empty where a server does not say
 */
@CheckReturnValue
public record LeaseDetail(LeaseInfo info, List<Waiter> waiting, OptionalInt waitingCount) {
  /**
   * One who waits.
   *
   * @param holder as it calls itself
   * @param since when it came, by the service's time, nanoseconds since the Unix epoch
   */
  public record Waiter(String holder, long since) {}

  public LeaseDetail {
    waiting = List.copyOf(waiting);
  }

  /**
   * When the lease was granted, also of one that was resumed or upgraded since: nanoseconds of the
   * service's time since the Unix epoch.
   */
  public long since() {
    return info.witness().correlation().high();
  }
}
