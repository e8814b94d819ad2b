package dev.cinch.lease.memory;

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
  final NameRows rows = new NameRows();

  private final LogSets logSets;

  /** What a new row needs at least, about; many more bytes than that are seldom needed. */
  private static final long NEW_ROW = 150;

  private final int maxEntries;
  private final long maxBytes;
  private final long retentionNanos;
  private final Inheritance origin;
  private @Nullable Inheritance forgotten;
  private long now = Long.MIN_VALUE;
  private long nextSweep = Long.MIN_VALUE;

  Shard(TableLimits limits, Inheritance origin, LogSets logSets) {
    this.maxEntries = limits.maxEntriesPerShard();
    this.maxBytes = limits.maxBytesPerShard();
    this.retentionNanos = limits.retentionNanos();
    this.origin = origin;
    this.logSets = logSets;
  }

  /** The highest time that anyone brought: what happened by it stays so (rules L1, L6). */
  long advance(long time) {
    now = Math.max(now, time);
    return now;
  }

  /** The last lease of a name, to work on. */
  @Nullable LeaseEntry get(String name) {
    byte[] row = rows.get(name);
    return row == null ? null : LeaseRow.unpack(row, logSets);
  }

  /** What the first lease of a name that has no entry inherits. */
  Inheritance unknown() {
    return forgotten == null ? origin : origin.orForgotten(forgotten);
  }

  /** Whether its rows take all the memory that they may (rule L4). */
  boolean isFull() {
    return rows.bytes() > maxBytes;
  }

  private boolean hasRoom(int needed) {
    return rows.size() + needed <= maxEntries && rows.bytes() + needed * NEW_ROW <= maxBytes;
  }

  /** Makes room for so many new entries by forgetting ended ones; false if there is none. */
  boolean makeRoom(int needed) {
    if (hasRoom(needed)) {
      return true;
    }
    if (now < nextSweep) {
      return false;
    }
    // Down to 7/8, so that the walk is paid by many new names.
    forget(needed, 8, true);
    if (!hasRoom(needed)) {
      forget(needed, Integer.MAX_VALUE, false);
    }
    boolean enough = hasRoom(needed);
    nextSweep = enough ? now : now + SWEEP_EVERY;
    return enough;
  }

  /** Down to what leaves room for so many, and a part of what there may be. */
  private void forget(int needed, int part, boolean longEndedOnly) {
    rows.removeUntil(
        Math.max(0, maxEntries - maxEntries / part - needed),
        Math.max(0, maxBytes - maxBytes / part - needed * NEW_ROW),
        row -> {
          if (LeaseRow.expiry(row) > now && !LeaseRow.isReleased(row)) {
            return false; // held
          }
          LeaseEntry entry = LeaseRow.unpack(row, logSets);
          boolean released = entry.state == LeaseEntry.State.RELEASED;
          long ended = released ? entry.endedAt : entry.expiry;
          // Short of room also what was released just now, but not what others would have to fence:
          // a recent expiry handed out for unknown names makes everyone wait.
          boolean may =
              longEndedOnly ? now - ended >= retentionNanos : released && !entry.carriesFence();
          if (may) {
            Inheritance left = entry.inheritance(now);
            forgotten = forgotten == null ? left : forgotten.orForgotten(left);
          }
          return may;
        });
  }
}
