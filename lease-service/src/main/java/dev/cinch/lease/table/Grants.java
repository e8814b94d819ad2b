package dev.cinch.lease.table;

import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.Operation;
import dev.cinch.lease.rules.LeaseState;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The grants by secret id, with their leases as they last left them. The table has the same leases
 * by name, until somebody else has taken the name: such a lease is here alone, which is why bytes
 * are counted here too (rule L4). After its end a grant stays for a while, and its id after it was
 * released or given back before it came, so that a late copy of its request is not granted anew.
 * Not thread-safe.
 */
final class Grants {
  private static final long SWEEP_EVERY = 1_000_000_000L;

  /** In so many steps all of them are looked at, as none may take long. */
  static final int STEPS = 64;

  /** At so many a step looks at least. */
  private static final int AT_ONCE = 256;

  /** What an id takes in the heap of which nothing else is left, about. */
  private static final int OVER_BYTES = 100;

  private final long soft;
  private final long softBytes;
  private final long retentionNanos;

  /** One that may be walked over bit by bit, while others come and go. */
  private final Map<Id, Entry> all = new ConcurrentHashMap<>();

  private int leases;
  private long bytes;
  private long nextSqueeze = Long.MIN_VALUE;
  private Iterator<Map.Entry<Id, Entry>> squeezing = Collections.emptyIterator();
  private Iterator<Map.Entry<Id, Entry>> sweeping = Collections.emptyIterator();

  /** How many quarters of their time ended ones are not kept, for want of room. */
  private int earlierBy;

  /**
   * @param soft how many leases, and ids without one, it may have before ended ones go early
   * @param softBytes how much what it has may take in the heap before ended ones go early, about
   * @param retentionNanos how long ended ones are kept otherwise
   */
  Grants(long soft, long softBytes, long retentionNanos) {
    this.soft = soft;
    this.softBytes = softBytes;
    this.retentionNanos = retentionNanos;
  }

  /** What is known of a request. */
  sealed interface Entry permits Current, Over {
    /** When it ended, or will; nanoseconds since the Unix epoch. */
    long end();

    /** How many leases it stands for, or one. */
    int size();

    /** What it takes in the heap, about. */
    long bytes();
  }

  /**
   * A request that was granted.
   *
   * @param leases as it last left them, in ascending order of names, at least one
   */
  record Current(List<LeaseState> leases) implements Entry {
    @Override
    public long end() {
      return leases.get(0).expiry();
    }

    @Override
    public int size() {
      return leases.size();
    }

    @Override
    public long bytes() {
      long bytes = 0;
      for (LeaseState lease : leases) {
        bytes += Room.bytesOf(lease);
      }
      return bytes;
    }

    /** Whether its leases are full: asked for so, or upgraded. */
    boolean isFull() {
      return leases.get(0).state() == LeaseState.State.FULL;
    }

    /** In ascending order. */
    List<LeaseName> names() {
      return leases.stream().map(LeaseState::name).toList();
    }

    /** Whether it is of the same request, whose names are given in ascending order. */
    boolean isFor(Operation.Acquire request, List<LeaseName> ascending) {
      return leases.get(0).isFor(request) && names().equals(ascending);
    }
  }

  /**
   * A request that is over.
   *
   * @param wasGranted whether it was granted and released; else it was given back before it came
   */
  record Over(long end, boolean wasGranted) implements Entry {
    @Override
    public int size() {
      return 1;
    }

    @Override
    public long bytes() {
      return OVER_BYTES;
    }
  }

  /** What is known of a request; null if nothing is. */
  @Nullable Entry get(Id id) {
    return all.get(id);
  }

  /** Adds a grant, or keeps what became of it. */
  void put(List<LeaseState> granted, long now) {
    put(granted.get(0).id(), new Current(List.copyOf(granted)));
    squeeze(now);
  }

  private void put(Id id, Entry known) {
    count(known, 1);
    Entry before = all.put(id, known);
    if (before != null) {
      count(before, -1);
    }
  }

  private void count(Entry known, int sign) {
    leases += sign * known.size();
    bytes += sign * known.bytes();
  }

  /** Keeps nothing of a grant but that it is over. */
  void release(Id id, long now) {
    put(id, new Over(now, true));
  }

  /** Takes note that a request that is not known is not to be granted when it comes. */
  void giveUp(Id id, long now) {
    put(id, new Over(now, false));
    squeeze(now);
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
      squeezing = squeezing.hasNext() ? squeezing : all.entrySet().iterator();
      boolean atEnd = sweep(squeezing, now + retentionNanos / 4 * earlierBy + 1);
      round = atEnd && earlierBy < 4;
      earlierBy = Math.min(4, atEnd ? earlierBy + 1 : earlierBy);
    }
    if (!isOver()) {
      earlierBy = 0;
    }
  }

  private boolean isOver() {
    return leases > soft || bytes > softBytes;
  }

  /**
   * Forgets grants past their time, a part of all.
   *
   * @return whether it came to the last one
   */
  boolean sweep(long now) {
    sweeping = sweeping.hasNext() ? sweeping : all.entrySet().iterator();
    return sweep(sweeping, now);
  }

  private boolean sweep(Iterator<Map.Entry<Id, Entry>> walk, long now) {
    for (int left = all.size() / STEPS + AT_ONCE; left > 0 && walk.hasNext(); left--) {
      Map.Entry<Id, Entry> next = walk.next();
      Entry known = next.getValue();
      // What a walk comes to may be what was there when its last step ended.
      if (known.end() + retentionNanos < now && all.remove(next.getKey(), known)) {
        count(known, -1);
      }
    }
    return !walk.hasNext();
  }

  /** How many ids there are. */
  int size() {
    return all.size();
  }

  /** How many leases, and ids without one. */
  int leases() {
    return leases;
  }

  /** What all that it has takes in the heap, also what the table has too; about. */
  long bytes() {
    return bytes;
  }
}
