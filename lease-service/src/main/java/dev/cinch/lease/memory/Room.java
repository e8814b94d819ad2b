package dev.cinch.lease.memory;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.Ending;
import dev.cinch.lease.Fence;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.table.Inheritance;
import dev.cinch.lease.table.LeaseBackend.Tenure;
import dev.cinch.lease.table.LeaseLayout;
import dev.cinch.lease.table.LeaseState;
import dev.cinch.lease.table.Moment;
import dev.cinch.lease.table.SharedLogs;
import dev.cinch.lease.table.SortedRows;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The room that a table has for names (rule L4). Where there is none it forgets some that ended,
 * and keeps what the next leases of all that it has forgotten inherit. Not thread-safe.
 */
@CheckReturnValue
final class Room {
  /** How long a full table waits before it looks for room again, nanoseconds. */
  private static final long SWEEP_EVERY = 1_000_000_000L;

  /** How many names it looks at for one request at least, to make room. */
  private static final int AT_ONCE = 16_384;

  /** How many leases may be ended at once beyond those that room is needed for. */
  private static final int MOST_UNENDED = 64;

  /** What a new row needs at least, about; many more bytes than that are seldom needed. */
  private static final long NEW_ROW = 150;

  private final SortedRows names;
  private final TableLimits limits;
  private final Inheritance origin;
  private final Fence earlier;
  private final long longest;
  private final boolean resumable;
  private final SharedLogs logSets;

  private @Nullable Inheritance forgotten;
  private long forgottenUpTo = Long.MIN_VALUE;
  private List<Tenure> unended = List.of();
  private long nextSweep = Long.MIN_VALUE;
  private int place;

  /**
   * @param names the last leases of all names
   * @param origin what names never seen inherit
   * @param earlier what earlier instances may have signed
   * @param longest lease that was granted, here or before; nanoseconds
   * @param resumable whether leases are to be ended before they are forgotten (rule L11)
   */
  Room(
      SortedRows names,
      TableLimits limits,
      Inheritance origin,
      Fence earlier,
      long longest,
      boolean resumable,
      SharedLogs logSets) {
    this.names = names;
    this.limits = limits;
    this.origin = origin;
    this.earlier = earlier;
    this.longest = longest;
    this.resumable = resumable;
    this.logSets = logSets;
  }

  /** What the first lease of a name that has no entry inherits. */
  Inheritance inherited() {
    return forgotten == null ? origin : origin.orForgotten(forgotten);
  }

  /** Whether anything was forgotten. */
  boolean hasForgotten() {
    return forgotten != null;
  }

  /** Through when anything expires that was signed for names that have no entry (rule L19). */
  long signedUpTo() {
    return Math.max(origin.fence().upTo(), forgottenUpTo);
  }

  /** What the last attempt to make room could not forget because it was not ended (rule L11). */
  List<Tenure> unended() {
    return unended;
  }

  /** Whether there is room for so many new names as it is. */
  boolean isFor(int needed) {
    return names.size() + needed <= limits.maxEntries()
        && names.bytes() + needed * NEW_ROW <= limits.maxBytes();
  }

  /** Makes room for those of some names that are new; false if there is none. */
  boolean make(List<String> wanted, Moment now) {
    unended = List.of();
    if (isFor(wanted.size())) {
      return true;
    }
    int needed = 0;
    for (String name : wanted) {
      needed += names.get(LeaseRow.key(name)) == null ? 1 : 0;
    }
    if (needed == 0 || isFor(needed)) {
      return true;
    }
    if (now.time() < nextSweep) {
      return false;
    }
    // Down to 7/8, so that the walk is paid by many new names.
    int next = forget(needed, 8, true, now);
    if (!isFor(needed)) {
      next = forget(needed, Integer.MAX_VALUE, false, now);
    }
    place = next;
    boolean enough = isFor(needed);
    boolean again = enough || place != SortedRows.DONE || !unended.isEmpty();
    nextSweep = again ? now.time() : now.time() + SWEEP_EVERY;
    return enough;
  }

  /** Down to what leaves room for so many, and a part of what there may be; of some names. */
  private int forget(int needed, int part, boolean longEndedOnly, Moment now) {
    int most = limits.maxEntries() - limits.maxEntries() / part - needed;
    long mostBytes = limits.maxBytes() - limits.maxBytes() / part - needed * NEW_ROW;
    long[] left = {names.size(), names.bytes()};
    var first = new ArrayList<Tenure>();
    int next =
        names.sweep(
            place,
            names.size() / Grants.STEPS + AT_ONCE,
            row -> {
              if (left[0] <= Math.max(0, most) && left[1] <= Math.max(0, mostBytes)
                  || !mayForget(row, needed, longEndedOnly, first, now)) {
                return false;
              }
              left[0]--;
              left[1] -= SortedRows.bytesOf(row);
              return true;
            });
    if (longEndedOnly) {
      unended = first;
    }
    return next;
  }

  /** Whether a lease may be forgotten; then what it leaves is remembered. */
  private boolean mayForget(
      byte[] row, int needed, boolean longEndedOnly, List<Tenure> notEnded, Moment now) {
    if (LeaseRow.expiry(row) > now.time() && !LeaseRow.isReleased(row)) {
      return false; // held
    }
    LeaseState lease = LeaseLayout.unpack(row, logSets);
    if (lease.isHeld(now)) {
      return false; // though the wall clock was set past its expiry
    }
    boolean released = lease.state() == LeaseState.State.RELEASED;
    // Of what was left here audit can't tell later how it ended, so it stays until all is past.
    long ended =
        released && !lease.isLeft()
            ? lease.endedAt()
            : lease.signedUpTo(lease.isLeft() ? longest : 0, earlier);
    // Short of room also what was released just now, but not what others would have to fence:
    // a recent expiry handed out for unknown names makes everyone wait.
    boolean may =
        longEndedOnly
            ? now.time() - ended >= limits.retentionNanos()
            : released && !lease.carriesFence() && !lease.isLeft();
    if (may && resumable && lease.isUnended()) {
      // Later it would not be known whom a later instance may have resumed.
      if (notEnded.size() < needed + MOST_UNENDED) {
        notEnded.add(lease.tenure());
      }
      return false;
    }
    if (may) {
      long signedUpTo = lease.signedUpTo(longest, earlier);
      Inheritance left =
          lease.isLeft()
              ? Inheritance.origin(Ending.UNKNOWN, new Fence(signedUpTo, LogSet.ALL))
              : lease.inheritance(now.time(), earlier);
      forgottenUpTo = Math.max(forgottenUpTo, signedUpTo);
      forgotten = forgotten == null ? left : forgotten.orForgotten(left);
    }
    return may;
  }
}
