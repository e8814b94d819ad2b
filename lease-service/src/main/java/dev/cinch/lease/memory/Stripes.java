package dev.cinch.lease.memory;

import dev.cinch.lease.Id;

/** All grants, by secret id, in stripes of their own monitors. */
final class Stripes {
  private final Grants[] stripes;
  private int next;

  Stripes(TableLimits limits, LogSets logSets) {
    stripes = new Grants[limits.partitions()];
    // As many as can be held, in stripes that are never filled quite alike, and some that ended.
    int soft = limits.maxEntriesPerPartition() + limits.maxEntriesPerPartition() / 4 + 64;
    long bytes = limits.maxBytesPerPartition();
    long softBytes = bytes > Long.MAX_VALUE / 2 ? bytes : bytes + bytes / 4;
    for (int i = 0; i < stripes.length; i++) {
      stripes[i] = new Grants(soft, softBytes, limits.retentionNanos(), logSets);
    }
  }

  Grants of(Id id) {
    return stripes[Math.floorMod(id.low() ^ id.high(), stripes.length)];
  }

  /**
   * Forgets the ids of grants that ended long ago, in an eighth of the stripes: a walk over all at
   * every call is a lot with ten million. From one thread at a time.
   */
  void sweep(long now) {
    for (int i = 0; i < (stripes.length + 7) / 8; i++) {
      Grants stripe = stripes[next++ % stripes.length];
      synchronized (stripe) {
        stripe.sweep(now);
      }
    }
    next %= stripes.length;
  }

  int size() {
    int sum = 0;
    for (Grants stripe : stripes) {
      synchronized (stripe) {
        sum += stripe.size();
      }
    }
    return sum;
  }
}
