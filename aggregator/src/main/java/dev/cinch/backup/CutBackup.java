package dev.cinch.backup;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.Cuts;
import dev.cinch.bag.NoSuchCutException;
import dev.cinch.bag.Store;
import dev.cinch.bag.StoreCut;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Numbered;
import dev.cinch.bag.model.StoreLayout;
import dev.cinch.bag.storage.Freshness;
import dev.cinch.bag.store.RemovedLogs;
import java.io.IOException;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Copies the cuts that there were before the logs were looked at, once these are copied: so a cut
 * of a backup is one that its logs reach. Not thread-safe.
 */
@CheckReturnValue
final class CutBackup {
  private static final Logger LOG = LoggerFactory.getLogger(CutBackup.class);

  private final Store store;
  private final Destination to;
  private final TreeMap<Long, StoreCut> cuts = new TreeMap<>();

  CutBackup(Store store, Destination to) throws IOException {
    this.store = store;
    this.to = to;
    var all = new Cuts(store);
    for (long number : all.numbers()) {
      try {
        cuts.put(number, all.find(number));
      } catch (NoSuchCutException e) {
        continue; // gc removed it meanwhile
      } catch (DamagedException e) {
        LOG.warn("{}; it is not in the backup", e.getMessage());
      }
    }
  }

  /**
   * Copies those that the backup's logs reach, and removes those that gc removed.
   *
   * @param through of each log in the backup, the time through which it is whole
   */
  void copy(Map<LogName, Long> through) throws IOException {
    Name from = store.context().layout().cuts();
    Name place = to.layout().cuts();
    var kept = new TreeSet<String>();
    for (String name : store.context().storage().listIfThere(from, Freshness.PERMITTED)) {
      if (StoreLayout.cutsGone(name).isPresent()) {
        to.note(place.resolve(name));
        kept.add(name);
      } else if (Numbered.parse(name).isPresent()) {
        kept.add(name);
      }
    }
    for (StoreCut cut : cuts.values()) {
      if (isReached(cut, through)) {
        to.publish(place.resolve(Numbered.name(cut.number())), cut.encode());
      } else {
        LOG.warn("cut {}: the backup has not all that it reads; left out", cut.number());
      }
    }
    for (String name : to.names(place)) {
      if (!kept.contains(name)) {
        to.remove(place.resolve(name));
      }
    }
  }

  private boolean isReached(StoreCut cut, Map<LogName, Long> through) throws IOException {
    for (StoreCut.Part part : cut.logs()) {
      Long reached = through.get(part.name());
      if (reached == null
          ? new RemovedLogs(store.context()).find(part.name()).isEmpty()
          : reached < cut.time()) {
        return false;
      }
    }
    return true;
  }
}
