package dev.cinch.lease.memory;

import dev.cinch.lease.Id;
import java.util.HashMap;
import java.util.Map;
import java.util.function.LongPredicate;
import org.jspecify.annotations.Nullable;

/** A stripe of the grants, by secret id. Guarded by its own monitor. */
final class Grants {
  private static final long SWEEP_EVERY = 1_000_000_000L;

  private final Map<Id, GrantEntry> byId = new HashMap<>();
  private final int soft;
  private long nextSweep = Long.MIN_VALUE;

  /**
   * @param soft how many it may have before ended ones go early
   */
  Grants(int soft) {
    this.soft = soft;
  }

  @Nullable GrantEntry get(Id id) {
    return byId.get(id);
  }

  void put(Id id, GrantEntry grant, long now) {
    byId.put(id, grant);
    if (byId.size() > soft && now >= nextSweep) {
      nextSweep = now + SWEEP_EVERY;
      sweep(until -> true, now);
    }
  }

  /** Forgets grants past their time. */
  void sweep(long now) {
    sweep(until -> until < now, now);
  }

  private void sweep(LongPredicate may, long now) {
    byId.values().removeIf(g -> g.released ? may.test(g.keepUntil) : g.keepUntil < now);
  }

  int size() {
    return byId.size();
  }
}
