package dev.cinch.backup;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.Log;
import dev.cinch.bag.NotAStoreException;
import dev.cinch.bag.Store;
import dev.cinch.bag.format.StoreIdentity;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.StoreLayout;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.bag.registry.StoreCeilings;
import java.io.IOException;
import java.nio.file.Path;
import java.util.TreeMap;

/** Makes a copy of a store one to write to (rule H10). One that stops anywhere is run again. */
@CheckReturnValue
public final class Restoration {
  private Restoration() {}

  /**
   * Makes a backup a store to write to: takes out what an unfinished run left, so that each log is
   * whole through a time and holds nothing after it.
   *
   * @return of each log what was done
   * @throws BackupRefusedException if it is no backup, or was never finished
   */
  public static TreeMap<LogName, RestoredLog.Mended> restore(
      Path root, Store.Environment environment) throws IOException {
    var layout = new StoreLayout(root);
    var raw =
        new Destination(
            environment.fs(), environment.random(), layout, StoreSettings.DEFAULT, n -> {});
    boolean whole = raw.has(layout.settings());
    boolean begun = raw.has(layout.nextSettings());
    if (!whole && !begun) {
      throw new NotAStoreException(root + " is no backup, and no store");
    }
    StoreIdentity mine = raw.identity(whole ? layout.settings() : layout.nextSettings());
    if (!whole && mine.backup()) {
      throw new BackupRefusedException(
          root + " is a backup that was never finished: run cinch backup again");
    }
    if (whole && !mine.backup() && !begun) {
      throw new BackupRefusedException(
          root + " is no backup: a copy that another tool made needs cinch close --restored");
    }
    var to =
        new Destination(
            environment.fs().forStore(root, mine.settings().group()),
            environment.random(),
            layout,
            mine.settings(),
            n -> {});
    var done = new TreeMap<LogName, RestoredLog.Mended>();
    if (whole && mine.backup()) {
      if (begun && raw.identity(layout.nextSettings()).backup()) {
        to.remove(layout.nextSettings());
      }
      Store store = Store.open(root, environment);
      for (Log log : store.whole(store.permittedLogs())) {
        done.put(log.name(), new RestoredLog(log).mend());
      }
      StoreCeilings.of(store.context())
          .removeLastWords(); // later servers of the original are not in it
      to.publish(layout.nextSettings(), mine.asBackup(false).encode());
      to.remove(layout.settings());
    }
    to.link(layout.nextSettings(), layout.settings());
    return done;
  }
}
