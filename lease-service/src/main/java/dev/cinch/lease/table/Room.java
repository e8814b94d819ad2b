package dev.cinch.lease.table;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.Ending;
import dev.cinch.lease.Fence;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Watermark;
import dev.cinch.lease.rules.Inheritance;
import dev.cinch.lease.rules.LeaseState;
import dev.cinch.lease.rules.Moment;
import dev.cinch.lease.rules.Unreleased;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.NavigableMap;
import java.util.concurrent.ConcurrentSkipListMap;
import org.jspecify.annotations.Nullable;

/**
 * The last leases of all names, and the room that there is for them (rule L4). Where there is none
 * it forgets some that ended, and keeps what the next leases of all that it has forgotten inherit.
 * Whoever reads {@link #all} needs no lock; all else is for one thread at a time.
 */
@CheckReturnValue
final class Room {
  /** How long a full table waits before it looks for room again, nanoseconds. */
  private static final long SWEEP_EVERY = 1_000_000_000L;

  /** At how many names it looks for one request at least, to make room. */
  private static final int AT_ONCE = 16_384;

  /** How many leases may be ended at once beyond those that room is needed for. */
  private static final int MOST_UNENDED = 64;

  /**
   * What a lease takes in the heap beside its name and its holder, with what {@link Grants} has of
   * it, where nothing came before it: as measured by {@code LeaseBytesTest}.
   */
  static final int LEASE_BYTES = 480;

  /** What it takes more if it followed another one, for each watermark, and for each log. */
  private static final int FOLLOWS_BYTES = 80;

  private static final int WATERMARK_BYTES = 40;
  private static final int LOG_BYTES = 80;

  private final NavigableMap<String, LeaseState> leases = new ConcurrentSkipListMap<>();
  private final TableLimits limits;
  private final Inheritance origin;
  private final Fence earlier;
  private final long longest;
  private final boolean resumable;

  /** What names without an entry inherit: {@link #origin}, and all that was forgotten. */
  private Inheritance inherited;

  private boolean hasForgotten;
  private long forgottenUpTo = Long.MIN_VALUE;
  private List<Unreleased> unended = List.of();
  private long nextSweep = Long.MIN_VALUE;
  private @Nullable String place;
  private long bytes;

  /**
   * @param origin what names never seen inherit
   * @param earlier what earlier instances may have signed
   * @param longest lease that was granted, here or before; nanoseconds
   * @param resumable whether leases are to be ended before they are forgotten (rule L11)
   */
  Room(TableLimits limits, Inheritance origin, Fence earlier, long longest, boolean resumable) {
    this.limits = limits;
    this.origin = origin;
    this.inherited = origin;
    this.earlier = earlier;
    this.longest = longest;
    this.resumable = resumable;
  }

  /** The last lease of a name; null if nothing is known of one. */
  @Nullable LeaseState get(String name) {
    return leases.get(name);
  }

  /** Keeps a lease in the place of the last one of its name. */
  void put(LeaseState lease) {
    bytes += bytesOf(lease);
    LeaseState before = leases.put(lease.name().value(), lease);
    bytes -= before == null ? 0 : bytesOf(before);
  }

  /** All leases in ascending order of names; those that come and go meanwhile may be in it. */
  NavigableMap<String, LeaseState> all() {
    return Collections.unmodifiableNavigableMap(leases);
  }

  /** Whether the leases take as much as they may. */
  boolean isFull() {
    return bytes > limits.maxBytes();
  }

  /**
   * What a lease takes in the heap at most, about: as if it shared nothing with others but what
   * {@link #inherited} gives to all.
   */
  static long bytesOf(LeaseState lease) {
    Inheritance from = lease.from();
    LogSet logs = lease.term().logs();
    LogSet asked = lease.request().logs();
    long bytes = LEASE_BYTES + lease.name().value().length() + 2L * lease.holder().length();
    bytes += from.correlation() == null ? 0 : FOLLOWS_BYTES + bytesOf(from.fence().logs());
    bytes += from.watermark() == Watermark.NONE ? 0 : WATERMARK_BYTES;
    bytes += lease.stated() == Watermark.NONE ? 0 : WATERMARK_BYTES;
    bytes += bytesOf(logs) + (asked == logs ? 0 : bytesOf(asked));
    for (LeaseReport.Metadata m : lease.recent()) {
      bytes += 2 * LOG_BYTES + 2L * m.dataFile().length();
    }
    return bytes;
  }

  /** What a set of logs takes in a lease; nothing if it names none. */
  static long bytesOf(LogSet logs) {
    return logs.ids().isEmpty() ? 0 : (2 + logs.ids().size()) * (long) LOG_BYTES;
  }

  /** What the first lease of a name that has no entry inherits. */
  Inheritance inherited() {
    return inherited;
  }

  /** Whether anything was forgotten. */
  boolean hasForgotten() {
    return hasForgotten;
  }

  /** Through when anything expires that was signed for names that have no entry (rule L19). */
  long signedUpTo() {
    return Math.max(origin.fence().upTo(), forgottenUpTo);
  }

  /** What the last attempt to make room could not forget because it was not ended (rule L11). */
  List<Unreleased> unended() {
    return unended;
  }

  /**
   * Whether there is room for so many new names as it is.
   *
   * @param more bytes that these take beside, or names that are there take from now on
   */
  boolean isFor(int needed, long more) {
    return leases.size() + needed <= limits.maxEntries()
        && bytes + (long) needed * LEASE_BYTES + more <= limits.maxBytes();
  }

  /**
   * Makes room for those of some names that are new, and for the logs that all are to have; false
   * if there is none.
   */
  boolean make(List<LeaseName> wanted, LogSet logs, Moment now) {
    unended = List.of();
    long more = wanted.size() * bytesOf(logs);
    if (isFor(wanted.size(), more)) {
      return true;
    }
    int needed = 0;
    for (LeaseName name : wanted) {
      needed += get(name.value()) == null ? 1 : 0;
    }
    // What names no logs takes the place of what was there, also where there is no room.
    if ((needed == 0 && more == 0) || isFor(needed, more)) {
      return true;
    }
    if (now.time() < nextSweep) {
      return false;
    }
    int most = leases.size() / Grants.STEPS + AT_ONCE;
    Collection<LeaseState> rest = (place == null ? leases : leases.tailMap(place, true)).values();
    List<LeaseState> some = rest.stream().limit(most + 1L).toList();
    place = some.size() > most ? some.get(most).name().value() : null;
    some = some.subList(0, Math.min(most, some.size()));
    // Down to 7/8, so that the walk is paid by many new names.
    List<LeaseState> left = forget(some, needed, more, 8, true, now);
    if (!isFor(needed, more)) {
      List<LeaseState> unused = forget(left, needed, more, Integer.MAX_VALUE, false, now);
    }
    boolean enough = isFor(needed, more);
    boolean again = enough || place != null || !unended.isEmpty();
    nextSweep = again ? now.time() : now.time() + SWEEP_EVERY;
    return enough;
  }

  /** Down to what leaves room for so many, and a part of what there may be; what is left. */
  private List<LeaseState> forget(
      List<LeaseState> some, int needed, long more, int part, boolean longEndedOnly, Moment now) {
    int most = limits.maxEntries() - limits.maxEntries() / part - needed;
    long wanted = (long) needed * LEASE_BYTES + more;
    long mostBytes = limits.maxBytes() - limits.maxBytes() / part - wanted;
    var left = new ArrayList<LeaseState>();
    var first = new ArrayList<Unreleased>();
    for (LeaseState lease : some) {
      boolean isEnough = leases.size() <= Math.max(0, most) && bytes <= Math.max(0, mostBytes);
      if (!isEnough && mayForget(lease, needed, longEndedOnly, first, now)) {
        bytes -= bytesOf(lease);
        leases.remove(lease.name().value());
      } else {
        left.add(lease);
      }
    }
    if (longEndedOnly) {
      unended = first;
    }
    return left;
  }

  /** Whether a lease may be forgotten; then what it leaves is remembered. */
  private boolean mayForget(
      LeaseState lease, int needed, boolean longEndedOnly, List<Unreleased> notEnded, Moment now) {
    if (lease.isHeld(now)) {
      return false;
    }
    boolean released = lease.state() == LeaseState.State.RELEASED;
    // Of what was left here audit can't tell later how it ended, so it stays until all is past.
    long ended =
        released && !lease.isLeft()
            ? lease.end().at()
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
        notEnded.add(lease.unreleased());
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
      inherited = inherited.orForgotten(left);
      hasForgotten = true;
    }
    return may;
  }
}
