package dev.cinch.lease.rules;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.IsoTime;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseRefusedException.LeaseHeldException;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.Shard;
import java.util.List;

/** The refusals of lease services, one line each. Thread-safe. */
@CheckReturnValue
public final class Refusals {
  private static final long NANOS_PER_MS = 1_000_000;

  private Refusals() {}

  public static LeaseRefusedException invalid(String message) {
    return new LeaseRefusedException(Reason.INVALID, message, 0);
  }

  public static LeaseRefusedException held(LeaseName name, String holder, long leftNanos) {
    return new LeaseHeldException(
        name,
        name + " is held by \"" + holder + "\" for another " + millis(leftNanos) + " ms",
        millis(leftNanos));
  }

  public static LeaseRefusedException notHeld(String message) {
    return new LeaseRefusedException(Reason.NOT_HELD, message, 0);
  }

  public static LeaseRefusedException otherInstance(long instance) {
    return new LeaseRefusedException(
        Reason.OTHER_INSTANCE,
        "the lease service was restarted: this is instance "
            + instance
            + ", and the leases are another's; resume them",
        0);
  }

  public static LeaseRefusedException watermark(String message) {
    return new LeaseRefusedException(Reason.WATERMARK, message, 0);
  }

  public static LeaseRefusedException notYet(String message, long waitNanos) {
    return new LeaseRefusedException(Reason.NOT_YET, message, millis(waitNanos));
  }

  /**
   * @param end of the signing key, nanoseconds since the Unix epoch
   */
  public static LeaseRefusedException keyEnds(long end) {
    return notYet(
        "the signing key ends at "
            + IsoTime.text(end)
            + ", before such a lease; sign another one, and start the lease server with it",
        1_000_000_000L);
  }

  public static LeaseRefusedException superseded(String by, long instance) {
    return new LeaseRefusedException(
        Reason.SUPERSEDED,
        by + " of the lease service has taken over; instance " + instance + " has stopped for good",
        0);
  }

  public static void requireShard(Shard mine, List<LeaseName> names) throws LeaseRefusedException {
    int wanted = mine.map().shardOf(names.get(0));
    for (LeaseName name : names) {
      if (mine.map().shardOf(name) != wanted) {
        throw invalid(
            "%s and %s are in shards %d and %d of %s; ask for each in a request of its own"
                .formatted(
                    names.get(0), name, wanted, mine.map().shardOf(name), mine.map().inWords()));
      }
    }
    if (wanted != mine.index()) {
      throw otherShard(names.get(0) + " is in shard " + wanted + " of", mine);
    }
  }

  public static LeaseRefusedException otherShard(String what, Shard mine) {
    return new LeaseRefusedException(
        Reason.OTHER_SHARD,
        "%s %s, and this server has shard %d: GET /v1/shards says where the others are"
            .formatted(what, mine.map().inWords(), mine.index()),
        0);
  }

  /** Rounded up, so that whoever waits so long does not come too early; at least 1. */
  public static long millis(long nanos) {
    return Math.max(1, nanos / NANOS_PER_MS + (nanos % NANOS_PER_MS > 0 ? 1 : 0));
  }
}
