package dev.cinch.sim;

import dev.cinch.bag.model.Receipt;
import dev.cinch.bag.model.StoreSettings.Leases;
import dev.cinch.sim.Scan.Found;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeSet;

/**
 * What rule R4 allows to be missing, and nothing else: what lies below a floor, and in the answer
 * of a reader under which messages expired everything from some message on up to a floor.
 */
final class ExpiryCheck {
  private final History history;
  private final Collection<Found> existing;
  private final long[] floors;
  private final Plan plan;

  /**
   * @param existing what the logs hold in the end
   * @param floors of the logs in the end
   */
  ExpiryCheck(History history, Collection<Found> existing, long[] floors, Plan plan) {
    this.history = history;
    this.existing = existing;
    this.floors = floors;
    this.plan = plan;
  }

  void run() {
    for (int log = 0; log < floors.length; log++) {
      Map<Integer, Long> known = known(log);
      for (History.View v : history.views) {
        if (v.log() == log) {
          check(v, known);
        }
      }
    }
    for (Found f : existing) {
      if (f.timestamp() < floors[f.attempt().log]) {
        history.violation("expired, and is read: " + f);
      }
    }
  }

  /** Ids and timestamps of all settled messages that anybody ever saw or was told of. */
  private Map<Integer, Long> known(int log) {
    var known = new HashMap<Integer, Long>();
    for (Found f : existing) {
      if (f.attempt().log == log) {
        known.put(f.attempt().id, f.timestamp());
      }
    }
    for (History.View v : history.views) {
      for (int i = 0; v.log() == log && i < v.ids().length; i++) {
        known.put(v.ids()[i], v.times()[i]);
      }
    }
    for (History.Attempt a : history.attempts) {
      boolean invisible = a.leases.isEmpty() && plan.leases() == Leases.REQUIRED;
      if (a.log == log && a.receipt instanceof Receipt.Committed c && !invisible) {
        known.put(a.id, c.timestamp());
      }
    }
    return known;
  }

  private void check(History.View v, Map<Integer, Long> known) {
    TreeSet<Long> passed = history.floors.getOrDefault(v.log(), new TreeSet<>());
    for (Map.Entry<Integer, Long> e : known.entrySet()) {
      long time = e.getValue();
      if (time >= v.to() || Arrays.stream(v.ids()).anyMatch(id -> id == e.getKey())) {
        continue;
      }
      long next = Arrays.stream(v.times()).filter(t -> t >= time).min().orElse(v.floor());
      Long floor = passed.higher(time);
      if (time >= v.floor() || floor == null || floor > Math.min(next, v.floor())) {
        history.violation(
            "at %d the floor was %d for %s, who read %s without #%d of %d"
                .formatted(v.to(), v.floor(), v.who(), Arrays.toString(v.ids()), e.getKey(), time));
      }
    }
  }
}
