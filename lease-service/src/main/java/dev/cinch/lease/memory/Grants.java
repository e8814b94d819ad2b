package dev.cinch.lease.memory;

import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.Operation;
import dev.cinch.lease.table.LeaseLayout;
import dev.cinch.lease.table.SharedLogs;
import dev.cinch.lease.table.SortedRows;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The grants by secret id: the rows of their leases, which the table has by name too, so that a
 * lease costs a slot here. A row whose name somebody else has taken since is here alone, which is
 * why bytes are counted here too (rule L4). After its end a grant stays for a while, and a stub
 * after it was released or given back before it came, so that a late copy of its request is not
 * granted anew. Not thread-safe.
 */
final class Grants {
  private static final long SWEEP_EVERY = 1_000_000_000L;

  /** In so many steps all of them are looked at, as none may take long. */
  static final int STEPS = 64;

  private final SharedLogs logSets;
  private final int soft;
  private final long softBytes;
  private final long retentionNanos;
  private final SortedRows rows = new LeaseRow.ById();
  private long nextSqueeze = Long.MIN_VALUE;
  private int place;

  /** What went last. The other rows of its grant may go in a later step. */
  private byte @Nullable [] lastGone;

  /** How many quarters of their time ended ones are not kept, for want of room. */
  private int earlierBy;

  /**
   * @param soft how many leases it may have before ended ones go early
   * @param softBytes how much what it has may take in the heap before ended ones go early, about
   * @param retentionNanos how long ended ones are kept otherwise
   */
  Grants(int soft, long softBytes, long retentionNanos, SharedLogs logSets) {
    this.soft = soft;
    this.softBytes = softBytes;
    this.retentionNanos = retentionNanos;
    this.logSets = logSets;
  }

  /**
   * A request that was granted, or given back before.
   *
   * @param rows its leases as it last left them, in ascending order of names, at least one. The
   *     request and what became of it are the same in each. Or the stub that is left of it.
   */
  record Grant(List<byte[]> rows) {
    /** Whether nothing is left of it but that it is over. */
    boolean isOver() {
      return LeaseRow.isStub(rows.get(0));
    }

    /** Whether it is over since it was released; else, if it is over, it was never granted. */
    boolean isReleased() {
      return isOver() && !LeaseRow.isGivenUp(rows.get(0));
    }

    /** Whether its leases are full: asked for so, or upgraded. */
    boolean isFull() {
      return LeaseRow.isFull(rows.get(0));
    }

    /** In ascending order. */
    List<String> names() {
      var names = new ArrayList<String>(rows.size());
      rows.forEach(row -> names.add(LeaseRow.name(row)));
      return names;
    }

    /** The same. */
    List<LeaseName> leaseNames() {
      return names().stream().map(LeaseName::new).toList();
    }
  }

  /** What is known of a request. */
  @Nullable Grant get(Id id) {
    List<byte[]> found = rows(id);
    return found.isEmpty() ? null : new Grant(found);
  }

  private List<byte[]> rows(Id id) {
    byte[] key = LeaseRow.key(id);
    return lastGone != null && LeaseRow.hasId(lastGone, key)
        ? List.of()
        : rows.from(key, true, Integer.MAX_VALUE, row -> LeaseRow.hasId(row, key));
  }

  /** Whether a grant is of the same request, whose names are given in ascending order. */
  boolean isFor(Grant grant, Operation.Acquire request, List<String> ascending) {
    return LeaseLayout.unpack(grant.rows().get(0), logSets).isFor(request)
        && grant.names().equals(ascending);
  }

  /** Adds a lease of a grant, or keeps what became of it: the row that the table has of it. */
  void put(byte[] row, long now) {
    add(row);
    squeeze(now);
  }

  private void add(byte[] row) {
    if (lastGone != null && LeaseRow.hasId(lastGone, row)) {
      lastGone = null;
    }
    rows.put(row);
  }

  /** Keeps nothing of a grant but that it is over. */
  void release(Id id, long now) {
    for (byte[] row : rows(id)) {
      rows.remove(row);
    }
    add(LeaseRow.stub(id, now, false));
  }

  /** Takes note that a request that is not known is not to be granted when it comes. */
  void giveUp(Id id, long now) {
    put(LeaseRow.stub(id, now, true), now);
  }

  /**
   * Forgets some of those that ended where there are too many. The longest ended go first: a copy
   * of a request comes late by seconds, if at all. What the next holders of the names inherit
   * stands in the table; of a grant that is over nothing is needed but its id.
   */
  private void squeeze(long now) {
    if (now < nextSqueeze || !isOver()) {
      return;
    }
    nextSqueeze = now + SWEEP_EVERY / STEPS;
    boolean round = true;
    while (round && isOver()) {
      place = sweep(place, now + retentionNanos / 4 * earlierBy + 1);
      round = place == SortedRows.DONE && earlierBy < 4;
      earlierBy = Math.min(4, place == SortedRows.DONE ? earlierBy + 1 : earlierBy);
    }
    if (!isOver()) {
      earlierBy = 0;
    }
  }

  private boolean isOver() {
    return rows.size() > soft || rows.bytes() > softBytes;
  }

  /**
   * Forgets grants past their time, a part of all.
   *
   * @param from where it begins, as {@link SortedRows#sweep}
   */
  int sweep(int from, long now) {
    return rows.sweep(
        from,
        rows.size() / STEPS + SortedRows.CHUNK,
        row -> {
          boolean goes = LeaseRow.expiry(row) + retentionNanos < now;
          lastGone = goes ? row : lastGone;
          return goes;
        });
  }

  /** How many leases and stubs there are. */
  int size() {
    return rows.size();
  }

  /** What all that it has takes in the heap, also what the table has too; about. */
  long bytes() {
    return rows.bytes();
  }
}
