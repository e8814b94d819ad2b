package dev.cinch.lease.memory;

import java.util.Iterator;
import java.util.TreeMap;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Some of the names, and what is left of those forgotten (rule L4). Everything but {@link #lock} is
 * guarded by it.
 */
final class Shard {
  /** How long a full shard waits before it looks for room again, nanoseconds. */
  private static final long SWEEP_EVERY = 1_000_000_000L;

  final ReentrantLock lock = new ReentrantLock();

  /** Sorted, so that listing a page costs no walk over all names. */
  final TreeMap<String, LeaseEntry> entries = new TreeMap<>();

  private final int maxEntries;
  private final long retentionNanos;
  private final Inheritance origin;
  private @Nullable Inheritance forgotten;
  private long now = Long.MIN_VALUE;
  private long nextSweep = Long.MIN_VALUE;

  Shard(int maxEntries, long retentionNanos, Inheritance origin) {
    this.maxEntries = maxEntries;
    this.retentionNanos = retentionNanos;
    this.origin = origin;
  }

  /** The highest time that anyone brought: what happened by it stays so (rules L1, L6). */
  long advance(long time) {
    now = Math.max(now, time);
    return now;
  }

  /** What the first lease of a name that has no entry inherits. */
  Inheritance unknown() {
    return forgotten == null ? origin : origin.orForgotten(forgotten);
  }

  /** Makes room for so many new entries by forgetting ended ones; false if there is none. */
  boolean makeRoom(int needed) {
    if (entries.size() + needed <= maxEntries) {
      return true;
    }
    if (now < nextSweep) {
      return false;
    }
    // Down to 7/8, so that the walk is paid by many new names.
    forget(Math.max(0, maxEntries - maxEntries / 8 - needed), true);
    if (entries.size() + needed > maxEntries) {
      forget(Math.max(0, maxEntries - needed), false);
    }
    boolean enough = entries.size() + needed <= maxEntries;
    nextSweep = enough ? now : now + SWEEP_EVERY;
    return enough;
  }

  private void forget(int downTo, boolean longEndedOnly) {
    Iterator<LeaseEntry> all = entries.values().iterator();
    while (entries.size() > downTo && all.hasNext()) {
      LeaseEntry entry = all.next();
      if (entry.isHeld(now)) {
        continue;
      }
      boolean released = entry.state == LeaseEntry.State.RELEASED;
      long ended = released ? entry.endedAt : entry.expiry;
      // Short of room also what was released just now, but not what others would have to fence: a
      // recent expiry handed out for unknown names makes everyone wait.
      boolean may =
          longEndedOnly ? now - ended >= retentionNanos : released && !entry.carriesFence();
      if (may) {
        Inheritance left = entry.inheritance(now);
        forgotten = forgotten == null ? left : forgotten.orForgotten(left);
        entry.grant = null;
        all.remove();
      }
    }
  }
}
