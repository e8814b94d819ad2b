package dev.cinch.lease.memory;

import dev.cinch.lease.table.Inheritance;
import dev.cinch.lease.table.LeaseState;
import dev.cinch.lease.table.Moment;
import dev.cinch.lease.table.Tenure;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Some of the names, and what is left of those forgotten (rule L4). Everything but {@link #lock} is
 * guarded by it.
 */
final class Partition {
  /** How long a full partition waits before it looks for room again, nanoseconds. */
  private static final long SWEEP_EVERY = 1_000_000_000L;

  /** How many leases may be ended at once beyond those that room is needed for. */
  private static final int MOST_UNENDED = 64;

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

  /** Whether a later instance might resume leases that were not ended. */
  private final boolean resumable;

  /** What the last attempt to make room could not forget because it was not ended (rule L11). */
  private List<Tenure> unended = List.of();

  private @Nullable Inheritance forgotten;
  private long now = Long.MIN_VALUE;
  private long steady = Long.MIN_VALUE;
  private long nextSweep = Long.MIN_VALUE;

  Partition(TableLimits limits, Inheritance origin, boolean resumable, LogSets logSets) {
    this.maxEntries = limits.maxEntriesPerPartition();
    this.maxBytes = limits.maxBytesPerPartition();
    this.retentionNanos = limits.retentionNanos();
    this.origin = origin;
    this.resumable = resumable;
    this.logSets = logSets;
  }

  /** The highest time that anyone brought: what happened by it stays so (rules L1, L6). */
  long advance(long time) {
    now = Math.max(now, time);
    return now;
  }

  /** Likewise, with the highest that the steady clock showed. */
  Moment advance(Moment time) {
    steady = Math.max(steady, time.steady());
    return new Moment(advance(time.time()), time.bound(), steady, time.apart());
  }

  /** As late as anyone has brought it. */
  Moment now() {
    return new Moment(now, Moment.UNKNOWN, steady, 0);
  }

  /** The last lease of a name, to work on. */
  @Nullable LeaseEntry get(String name) {
    byte[] row = rows.get(name);
    return row == null ? null : LeaseRow.unpack(row, logSets);
  }

  /** The same; of a name that has none one of which nothing is known. */
  LeaseEntry entry(String name) {
    LeaseEntry known = get(name);
    return known == null ? new LeaseEntry(name) : known;
  }

  /**
   * As {@link #get(String)}, by a row of it that somebody else has: nothing to look up if that
   * still stands.
   */
  @Nullable LeaseEntry get(String name, byte[] known) {
    return LeaseRow.isCurrent(known) ? LeaseRow.unpack(known, logSets) : get(name);
  }

  /** Whether it may have had an entry for a name that it has none for. */
  boolean hasForgotten() {
    return forgotten != null;
  }

  List<Tenure> unended() {
    return unended;
  }

  /** What the first lease of a name that has no entry inherits. */
  Inheritance unknown() {
    return forgotten == null ? origin : origin.orForgotten(forgotten);
  }

  /** Whether its rows take all the memory that they may (rule L4). */
  boolean isFull() {
    return rows.bytes() > maxBytes;
  }

  /** Whether there is room for so many new entries as it is. */
  boolean hasRoom(int needed) {
    return rows.size() + needed <= maxEntries && rows.bytes() + needed * NEW_ROW <= maxBytes;
  }

  /** Makes room for so many new entries by forgetting ended ones; false if there is none. */
  boolean makeRoom(int needed) {
    unended = List.of();
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
    nextSweep = enough || !unended.isEmpty() ? now : now + SWEEP_EVERY;
    return enough;
  }

  /** Down to what leaves room for so many, and a part of what there may be. */
  private void forget(int needed, int part, boolean longEndedOnly) {
    var first = new ArrayList<Tenure>();
    rows.removeUntil(
        Math.max(0, maxEntries - maxEntries / part - needed),
        Math.max(0, maxBytes - maxBytes / part - needed * NEW_ROW),
        row -> {
          if (LeaseRow.expiry(row) > now && !LeaseRow.isReleased(row)) {
            return false; // held
          }
          LeaseEntry entry = LeaseRow.unpack(row, logSets);
          if (entry.isHeld(now())) {
            return false; // though the wall clock was set past its expiry
          }
          boolean released = entry.state() == LeaseState.State.RELEASED;
          long ended = released ? entry.endedAt() : entry.expiry();
          // Short of room also what was released just now, but not what others would have to fence:
          // a recent expiry handed out for unknown names makes everyone wait.
          boolean may =
              longEndedOnly ? now - ended >= retentionNanos : released && !entry.carriesFence();
          if (may && resumable && entry.isUnended()) {
            // Later it would not be known whom a later instance may have resumed.
            if (first.size() < needed + MOST_UNENDED) {
              first.add(new Tenure(entry.name(), entry.correlation()));
            }
            return false;
          }
          if (may) {
            Inheritance left = entry.inheritance(now, origin.fence());
            forgotten = forgotten == null ? left : forgotten.orForgotten(left);
          }
          return may;
        });
    if (longEndedOnly) {
      unended = first;
    }
  }
}
