package dev.cinch.lease.register;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.rules.Refusals;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The grants that were made or taken up at this machine: of which names they are, which a renewal
 * does not say. And requests that were given up before they came. Where grants take too much room
 * no further one is taken; of what was released or given up the oldest goes first. Thread-safe.
 */
@CheckReturnValue
final class GrantsHere {
  /**
   * So long a grant is remembered after its expiry, and a request that was given up; nanoseconds.
   */
  private static final long RETENTION = 120_000_000_000L;

  /** What a grant takes in the heap beside its names, and a name beside its characters; bytes. */
  private static final int PER_GRANT = 160;

  private static final int PER_NAME = 80;

  /** What an id takes that is remembered alone. */
  private static final int PER_ID = 160;

  private static final long RETRY_AFTER = 1_000_000_000L;

  /**
   * A grant.
   *
   * @param names in ascending order
   * @param full whether the leases are full as their holder last knew them
   * @param keepUntil signed time
   */
  record Entry(List<LeaseName> names, boolean full, long keepUntil) {
    private long bytes() {
      return PER_GRANT + names.stream().mapToLong(name -> PER_NAME + name.value().length()).sum();
    }
  }

  private final long most;
  private final Map<Id, Entry> grants = new HashMap<>();
  private long bytes;

  /** When grants that ended may be looked for again, for want of room; signed time. */
  private long nextSqueeze = Long.MIN_VALUE;

  private final Map<Id, Long> released;
  private final Map<Id, Long> givenUp;

  /**
   * @param most what grants may take in the heap, bytes, about; what was released and what was
   *     given up each take a quarter of that at most
   */
  GrantsHere(long most) {
    this.most = most;
    released = bounded(most);
    givenUp = bounded(most);
  }

  /** Until when ids are remembered, the oldest first. */
  private static Map<Id, Long> bounded(long most) {
    return new LinkedHashMap<>() {
      private static final long serialVersionUID = 1;

      @Override
      protected boolean removeEldestEntry(Map.Entry<Id, Long> eldest) {
        return size() > Math.max(1, most / 4 / PER_ID);
      }
    };
  }

  /**
   * Takes note of a grant that is about to be made.
   *
   * @throws LeaseRefusedException {@code NOT_YET} if there is no room for it
   */
  synchronized void begin(Id id, List<LeaseName> names, boolean full, long now)
      throws LeaseRefusedException {
    var known = new Entry(names, full, now + RETENTION);
    if (!grants.containsKey(id) && bytes + known.bytes() > most) {
      if (now >= nextSqueeze) {
        nextSqueeze = now + RETRY_AFTER;
        sweepGrants(now + RETENTION); // those that ended: whoever comes late acquires anew
      }
      if (bytes + known.bytes() > most) {
        throw Refusals.notYet("this server remembers as many grants as it may", RETRY_AFTER);
      }
    }
    put(id, known);
  }

  /** Takes note of a grant that was made, or that it lasts for longer. */
  synchronized void put(Id id, List<LeaseName> names, boolean full, long expiry) {
    put(id, new Entry(names, full, expiry + RETENTION));
  }

  private void put(Id id, Entry known) {
    remove(id);
    grants.put(id, known);
    bytes += known.bytes();
  }

  synchronized Optional<Entry> get(Id id) {
    return Optional.ofNullable(grants.get(id));
  }

  /** Forgets a grant that was not made. */
  synchronized void remove(Id id) {
    @Nullable Entry before = grants.remove(id);
    bytes -= before == null ? 0 : before.bytes();
  }

  /** Takes note that a grant was released, which a copy of that request is told again. */
  synchronized void release(Id id, long now) {
    note(released, id, now);
    remove(id);
  }

  private static void note(Map<Id, Long> ids, Id id, long now) {
    ids.remove(id); // it is the last from now on
    ids.put(id, now + RETENTION);
  }

  synchronized boolean wasReleased(Id id) {
    return released.containsKey(id);
  }

  /** Takes note that a request is not to be granted when it comes. */
  synchronized void giveUp(Id id, long now) {
    note(givenUp, id, now);
  }

  synchronized boolean wasGivenUp(Id id) {
    return givenUp.containsKey(id);
  }

  /** Forgets what is long over. */
  synchronized void sweep(long now) {
    sweepGrants(now);
    sweep(released, now);
    sweep(givenUp, now);
  }

  private void sweepGrants(long now) {
    for (Iterator<Entry> each = grants.values().iterator(); each.hasNext(); ) {
      Entry known = each.next();
      if (known.keepUntil() < now) {
        each.remove();
        bytes -= known.bytes();
      }
    }
  }

  private static void sweep(Map<Id, Long> ids, long now) {
    Iterator<Long> oldest = ids.values().iterator();
    while (oldest.hasNext() && oldest.next() < now) {
      oldest.remove();
    }
  }

  synchronized int size() {
    return grants.size();
  }

  /** How many ids are remembered alone: released or given up. */
  synchronized int ids() {
    return released.size() + givenUp.size();
  }
}
