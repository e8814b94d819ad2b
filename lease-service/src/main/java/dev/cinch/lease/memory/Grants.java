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
 * lease's row, which the shard has too, so that it costs the slot alone; for one of several names a
 * {@link GrantEntry}; for one that was released a stub.
 */
final class Grants {
  private static final long SWEEP_EVERY = 1_000_000_000L;

  private final LogSets logSets;
  private final int soft;
  private final long retentionNanos;
  private long nextSweep = Long.MIN_VALUE;

  /** A power of two of them, at most two thirds in use. */
  private @Nullable Object[] slots = new @Nullable Object[4];

  private int size;

  /**
   * @param soft how many it may have before ended ones go early
   * @param retentionNanos how long ended ones are kept otherwise
   */
  Grants(int soft, long retentionNanos, LogSets logSets) {
    this.soft = soft;
    this.retentionNanos = retentionNanos;
    this.logSets = logSets;
  }

  boolean wasReleased(Id id) {
    return slots[find(slots, id)] instanceof byte[] row && LeaseRow.isStub(row);
  }

  /** A grant that was not released. */
  @Nullable GrantEntry get(Id id) {
    Object found = slots[find(slots, id)];
    if (found instanceof byte[] row) {
      return LeaseRow.isStub(row) ? null : new GrantEntry(LeaseRow.unpack(row, logSets));
    }
    return (GrantEntry) found;
  }

  /**
   * Adds a grant, or keeps what became of it.
   *
   * @param rows its leases, as their shards keep them
   */
  void put(GrantEntry grant, List<byte[]> rows, long now) {
    put(grant.id, rows.size() == 1 ? rows.get(0) : grant);
    makeRoom(now);
  }

  void release(Id id, long now) {
    put(id, LeaseRow.stub(id, now));
  }

  private void put(Id id, Object what) {
    int at = find(slots, id);
    if (slots[at] == null) {
      size++;
    }
    slots[at] = what;
    if (size > slots.length / 3 * 2) {
      rebuild(2 * slots.length, any -> true);
    }
  }

  private void makeRoom(long now) {
    if (size > soft && now >= nextSweep) {
      nextSweep = now + SWEEP_EVERY;
      sweep(now);
      // The longest ended first: a copy of a request comes late by seconds, if at all.
      for (int quarter = 1; quarter <= 4 && size > soft; quarter++) {
        long earlierBy = retentionNanos / 4 * quarter;
        rebuild(slots.length, g -> !(isStub(g) && keepUntil(g) - earlierBy <= now));
      }
    }
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

  private static boolean isStub(Object slot) {
    return slot instanceof byte[] row && LeaseRow.isStub(row);
  }

  private long keepUntil(Object slot) {
    long end = slot instanceof byte[] row ? LeaseRow.expiry(row) : ((GrantEntry) slot).expiry;
    return end + retentionNanos;
  }

  private void rebuild(int capacity, Predicate<Object> keep) {
    var fresh = new @Nullable Object[capacity];
    int kept = 0;
    for (Object slot : slots) {
      if (slot != null && keep.test(slot)) {
        fresh[find(fresh, id(slot))] = slot;
        kept++;
      }
    }
    slots = fresh;
    size = kept;
  }

  private static Id id(Object slot) {
    return slot instanceof byte[] row ? LeaseRow.id(row) : ((GrantEntry) slot).id;
  }

  /** Where an id is, or would be. */
  private static int find(@Nullable Object[] slots, Id id) {
    int mask = slots.length - 1;
    // Mixed, since nothing obliges clients to draw good ids; the stripe took other bits.
    long mixed = (id.high() * 31 + id.low()) * 0x9E3779B97F4A7C15L;
    int at = (int) (mixed >>> 32) & mask;
    while (true) {
      Object slot = slots[at];
      if (slot == null || is(slot, id)) {
        return at;
      }
      at = at + 1 & mask;
    }
  }

  private static boolean is(Object slot, Id id) {
    return slot instanceof byte[] row ? LeaseRow.hasId(row, id) : ((GrantEntry) slot).id.equals(id);
  }
}
