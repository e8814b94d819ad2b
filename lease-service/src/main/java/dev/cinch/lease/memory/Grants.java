package dev.cinch.lease.memory;

import dev.cinch.lease.Id;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A stripe of the grants, by secret id. Guarded by its own monitor. */
final class Grants {
  private static final long SWEEP_EVERY = 1_000_000_000L;

  private final Map<Id, GrantEntry> byId = new HashMap<>();
  private final int soft;
  private final long retentionNanos;
  private long nextSweep = Long.MIN_VALUE;

  /**
   * @param soft how many it may have before ended ones go early
   * @param retentionNanos how long ended ones are kept otherwise
   */
  Grants(int soft, long retentionNanos) {
    this.soft = soft;
    this.retentionNanos = retentionNanos;
  }

  @Nullable GrantEntry get(Id id) {
    return byId.get(id);
  }

  void put(Id id, GrantEntry grant, long now) {
    byId.put(id, grant);
    if (byId.size() > soft && now >= nextSweep) {
      nextSweep = now + SWEEP_EVERY;
      sweep(now);
      // The longest ended first: a copy of a request comes late by seconds, if at all.
      for (int quarter = 1; quarter <= 4 && byId.size() > soft; quarter++) {
        long earlierBy = retentionNanos / 4 * quarter;
        byId.values().removeIf(g -> g.released && g.keepUntil - earlierBy <= now);
      }
    }
  }

  /** Forgets grants past their time. */
  void sweep(long now) {
    byId.values().removeIf(g -> g.keepUntil < now);
  }

  int size() {
    return byId.size();
  }
}
