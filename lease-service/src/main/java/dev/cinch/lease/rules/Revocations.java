package dev.cinch.lease.rules;

import dev.cinch.lease.Id;
import dev.cinch.lease.Revocation;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/**
 * The last revocations of this instance, by correlation, for what holders are told. That a lease
 * was revoked stands in its row. Thread-safe.
 */
public final class Revocations {
  /** So many are remembered (rule L4); the store has all. */
  private static final int MOST = 1_000;

  private final Map<Id, Revocation> last =
      new LinkedHashMap<>() {
        private static final long serialVersionUID = 1;

        @Override
        protected boolean removeEldestEntry(Map.Entry<Id, Revocation> eldest) {
          return size() > MOST;
        }
      };

  /** Remembers one, perhaps in the place of the oldest. */
  public synchronized void add(Revocation revocation) {
    last.put(revocation.correlation(), revocation);
  }

  /** The one of a lease, if it is remembered. */
  public synchronized Optional<Revocation> of(Id correlation) {
    return Optional.ofNullable(last.get(correlation));
  }
}
