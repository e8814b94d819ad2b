package dev.cinch.lease.register;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.table.LeaseBackend;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The grants that were made or taken up at this machine: of which names they are, which a renewal
 * does not say. And requests that were given up before they came. Thread-safe.
 */
@CheckReturnValue
final class GrantsHere {
  /**
   * So long a grant is remembered after its expiry, and a request that was given up; nanoseconds.
   */
  private static final long RETENTION = 120_000_000_000L;

  /**
   * A grant.
   *
   * @param names in ascending order
   * @param full whether the leases are full as their holder last knew them
   * @param keepUntil signed time
   */
  record Known(List<LeaseName> names, boolean full, long keepUntil) {}

  private final Map<Id, Known> grants = new ConcurrentHashMap<>();
  private final Map<Id, Long> released = new ConcurrentHashMap<>();
  private final Map<Id, Long> begun = new ConcurrentHashMap<>();
  private final Map<Id, Long> givenUp = new ConcurrentHashMap<>();

  /** Takes note of a grant, or that it lasts for longer. */
  void put(Id id, List<LeaseName> names, boolean full, long expiry) {
    grants.put(id, new Known(names, full, expiry + RETENTION));
  }

  Optional<Known> get(Id id) {
    return Optional.ofNullable(grants.get(id));
  }

  /** Forgets a grant that was not made. */
  void remove(Id id) {
    grants.remove(id);
  }

  /** Takes note that a grant was released, which a copy of that request is told again. */
  void release(Id id, long now) {
    released.put(id, now + RETENTION);
    grants.remove(id);
  }

  boolean wasReleased(Id id) {
    return released.containsKey(id);
  }

  /**
   * Takes note that a grant is about to be released, unless a copy of that request was before. What
   * becomes of that copy is not known, so later ones are carried out too.
   *
   * @param latest refuses where another instance has taken over
   */
  synchronized void beginRelease(Id id, long now, LeaseBackend.Latest latest)
      throws LeaseRefusedException {
    if (grants.containsKey(id) && !begun.containsKey(id)) {
      latest.require();
      begun.put(id, now + RETENTION);
    }
  }

  /** Takes note that a request is not to be granted when it comes. */
  void giveUp(Id id, long now) {
    givenUp.put(id, now + RETENTION);
  }

  boolean wasGivenUp(Id id) {
    return givenUp.containsKey(id);
  }

  /** Forgets what is long over. */
  void sweep(long now) {
    grants.values().removeIf(known -> known.keepUntil() < now);
    released.values().removeIf(until -> until < now);
    begun.values().removeIf(until -> until < now);
    givenUp.values().removeIf(until -> until < now);
  }

  int size() {
    return grants.size();
  }
}
