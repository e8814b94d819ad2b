package dev.cinch.lease.register;

import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseListener;
import dev.cinch.lease.Listeners;
import dev.cinch.lease.table.LeaseState;
import dev.cinch.lease.table.LeaseStateCodec;
import dev.cinch.lease.table.MalformedLeaseStateException;
import dev.cinch.lease.table.Moment;
import java.util.HashMap;
import java.util.Map;

/**
 * Tells listeners what becomes of leases, from the values that are written here and elsewhere. What
 * comes twice, or after what followed it, is told once. Thread-safe.
 */
final class Changes {
  /**
   * So many leases that somebody watches are remembered; then all are forgotten, and told again.
   */
  private static final int MOST = 65_536;

  /** What was told last of a lease that is watched. */
  private record Told(long changedAt, Id correlation, LeaseState.State state) {}

  private final long instance;
  private final Listeners listeners = new Listeners();
  private final Map<String, Told> told = new HashMap<>();

  /**
   * @param instance number of the service's instance
   */
  Changes(long instance) {
    this.instance = instance;
  }

  void listen(LeaseListener listener) {
    listeners.add(listener);
  }

  /** Values may have been written that nobody told of here. */
  void lost() {
    synchronized (told) {
      told.clear();
    }
    listeners.lost();
  }

  /** A value was written, or may have been. */
  void written(String name, byte[] value) {
    LeaseState lease;
    try {
      lease = LeaseStateCodec.decode(value);
    } catch (MalformedLeaseStateException e) {
      return; // whoever asks for it is told so
    }
    listeners.changed(name, lease.state() != LeaseState.State.FULL);
    synchronized (told) {
      if (!listeners.isWatched(name)) {
        told.remove(name);
        return;
      }
      var next = new Told(lease.changedAt(), lease.correlation(), lease.state());
      Told last = told.get(name);
      if (last != null && last.changedAt() > next.changedAt()) {
        return;
      }
      if (told.size() >= MOST) {
        told.clear();
      }
      told.put(name, next);
      if (last == null
          || !last.correlation().equals(next.correlation())
          || last.state() != next.state()) {
        listeners.became(
            name, () -> lease.info(instance, new Moment(lease.changedAt(), Moment.UNKNOWN)));
      }
    }
  }
}
