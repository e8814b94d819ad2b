package dev.cinch.lease.memory;

import dev.cinch.lease.Id;
import java.util.List;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * A stripe of the grants, by secret id; after its end a grant stays for a while, so that a late
 * copy of its request is not granted anew. Guarded by its own monitor.
 *
 * <p>An open-addressing table with three kinds of things in its slots: for a grant of one name that
 * lease's row, which the partition has too, so that it costs the slot alone; for one of several
 * names an array of such rows; for one that was released, or given back before it came, a stub. A
 * row whose lease somebody else has taken since is here alone, which is why bytes are counted here
 * too (rule L4). At most two thirds of the slots are in use.
 */
final class Grants {
  private static final long SWEEP_EVERY = 1_000_000_000L;

  /** An array's header, in slots. A collector's region that it goes over by that is lost. */
  private static final int HEADER = 4;

  private final LogSets logSets;
  private final int soft;
  private final long softBytes;
  private final long retentionNanos;
  private long nextSweep = Long.MIN_VALUE;

  /** So many of them as fill a power of two bytes with the array's header, as collectors like. */
  private @Nullable Object[] slots = new @Nullable Object[8 - HEADER];

  private int size;
  private long bytes;

  /**
   * @param soft how many it may have before ended ones go early
   * @param softBytes how much what it has may take in the heap before ended ones go early, about
   * @param retentionNanos how long ended ones are kept otherwise
   */
  Grants(int soft, long softBytes, long retentionNanos, LogSets logSets) {
    this.soft = soft;
    this.softBytes = softBytes;
    this.retentionNanos = retentionNanos;
    this.logSets = logSets;
  }

  boolean wasReleased(Id id) {
    return slots[find(slots, id)] instanceof byte[] row
        && LeaseRow.isStub(row)
        && !LeaseRow.isGivenUp(row);
  }

  /** Whether it was given back before it was granted. */
  boolean wasGivenUp(Id id) {
    return slots[find(slots, id)] instanceof byte[] row
        && LeaseRow.isStub(row)
        && LeaseRow.isGivenUp(row);
  }

  /** A grant that was not released. */
  @Nullable GrantEntry get(Id id) {
    Object found = slots[find(slots, id)];
    if (found instanceof byte[] row) {
      return LeaseRow.isStub(row) ? null : new GrantEntry(new byte[][] {row}, logSets);
    }
    return found == null ? null : new GrantEntry((byte[][]) found, logSets);
  }

  /**
   * Adds a grant, or keeps what became of it.
   *
   * @param rows its leases, as their partitions keep them, in ascending order of names
   */
  void put(Id id, List<byte[]> rows, long now) {
    Object known = slots[find(slots, id)];
    if (known instanceof byte[][] several && areThose(several, rows)) {
      return;
    }
    put(id, rows.size() == 1 ? rows.get(0) : rows.toArray(new byte[0][]));
    makeRoom(now);
  }

  private static boolean areThose(byte[][] rows, List<byte[]> others) {
    boolean same = rows.length == others.size();
    for (int i = 0; same && i < rows.length; i++) {
      same = rows[i] == others.get(i);
    }
    return same;
  }

  void release(Id id, long now) {
    put(id, LeaseRow.stub(id, now));
  }

  /** Takes note that a request that is not known is not to be granted when it comes. */
  void giveUp(Id id, long now) {
    put(id, LeaseRow.givenUp(id, now));
    makeRoom(now);
  }

  private void put(Id id, Object what) {
    int at = find(slots, id);
    if (slots[at] == null && size >= slots.length * 2L / 3) {
      // First, since it may fail for want of memory: no slot may ever be the last free one.
      rebuild(2 * (slots.length + HEADER) - HEADER, any -> true);
      at = find(slots, id);
    }
    Object before = slots[at];
    if (before == null) {
      size++;
    } else {
      bytes -= bytesOf(before);
    }
    slots[at] = what;
    bytes += bytesOf(what);
  }

  private void makeRoom(long now) {
    if (isOver() && now >= nextSweep) {
      nextSweep = now + SWEEP_EVERY;
      sweep(now);
      // The longest ended first: a copy of a request comes late by seconds, if at all. What the
      // next holders of the names inherit stands in the partitions; of a grant that is over nothing
      // is
      // needed but its id.
      for (int quarter = 1; quarter <= 4 && isOver(); quarter++) {
        long earlierBy = retentionNanos / 4 * quarter;
        rebuild(slots.length, g -> keepUntil(g) - earlierBy > now);
      }
    }
  }

  private boolean isOver() {
    return size > soft || bytes > softBytes;
  }

  /** Forgets grants past their time. */
  void sweep(long now) {
    for (Object slot : slots) {
      if (slot != null && keepUntil(slot) < now) {
        rebuild(slots.length, g -> keepUntil(g) >= now);
        return;
      }
    }
  }

  int size() {
    return size;
  }

  /** What all that it has takes in the heap, also what partitions have too; about. */
  long bytes() {
    return bytes;
  }

  private static long bytesOf(Object slot) {
    if (slot instanceof byte[] row) {
      return NameRows.bytesOf(row);
    }
    long sum = 0;
    for (byte[] row : (byte[][]) slot) {
      sum += NameRows.bytesOf(row);
    }
    return sum;
  }

  private long keepUntil(Object slot) {
    return LeaseRow.expiry(anyRow(slot)) + retentionNanos;
  }

  /** The leases of a grant have the same expiry and id. */
  private static byte[] anyRow(Object slot) {
    return slot instanceof byte[] row ? row : ((byte[][]) slot)[0];
  }

  private void rebuild(int capacity, Predicate<Object> keep) {
    var fresh = new @Nullable Object[capacity];
    int kept = 0;
    long keptBytes = 0;
    for (Object slot : slots) {
      if (slot != null && keep.test(slot)) {
        fresh[find(fresh, LeaseRow.id(anyRow(slot)))] = slot;
        kept++;
        keptBytes += bytesOf(slot);
      }
    }
    slots = fresh;
    size = kept;
    bytes = keptBytes;
  }

  /** Where an id is, or would be. */
  private static int find(@Nullable Object[] slots, Id id) {
    // Mixed, since nothing obliges clients to draw good ids; the stripe took other bits.
    long mixed = (id.high() * 31 + id.low()) * 0x9E3779B97F4A7C15L;
    int at = (int) ((mixed >>> 32) * slots.length >>> 32);
    while (true) {
      Object slot = slots[at];
      if (slot == null || LeaseRow.hasId(anyRow(slot), id)) {
        return at;
      }
      at = at + 1 == slots.length ? 0 : at + 1;
    }
  }
}
