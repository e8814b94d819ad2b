package dev.cinch.view;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.Store;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Numbered;
import dev.cinch.bag.model.OwnPaths;
import dev.cinch.bag.model.SealName;
import dev.cinch.bag.model.TableLayout;
import dev.cinch.bag.storage.Freshness;
import dev.cinch.bag.storage.Storage;
import dev.cinch.bag.store.RemovedLogs;
import dev.cinch.bag.store.StoreContext;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Deletes what a log left that was removed (rule H8), a day later: reads that were under way then
 * are over. The tombstone stays, and the last record, which tells late writers that they are
 * REJECTED, and notices. Any number may run at once; what a crash leaves, the next run deletes.
 * Thread-safe.
 */
@CheckReturnValue
public final class RemovedLogFiles {
  private static final Logger LOG = LoggerFactory.getLogger(RemovedLogFiles.class);

  private final StoreContext store;
  private final Storage storage;

  public RemovedLogFiles(Store store) {
    this.store = store.context();
    this.storage = this.store.storage();
  }

  /**
   * Deletes the files of a log that was removed if its identity went a day ago or more; removes the
   * identity if that is still there.
   *
   * @param really false: changes nothing
   * @param each told of every file that goes, or went
   * @return how many these are; 0 also of a log that was not removed
   * @throws RetireBlockedException if this user may not delete all of it; the rest was deleted, and
   *     counts as stale files there
   */
  public long delete(LogName name, boolean really, Consumer<Name> each) throws IOException {
    var removals = new RemovedLogs(store);
    LogLayout log = store.layout().log(name);
    if (removals.find(name).isEmpty()) {
      return 0;
    }
    // Who removed it may have stopped before its identity went: until then it could be opened.
    if (storage.list(log.root(), Freshness.CACHED).contains(log.identity().last())) {
      if (really) {
        removals.finish(log);
      }
      return 0;
    }
    long now = store.now();
    if (now - storage.changedAt(log.root()) < Retention.STALE_NANOS) {
      return 0; // it went less than a day ago
    }
    long last = lastRecord(log);
    var sweep = new Sweep(really, each);
    List<String> left = list(log.buckets());
    if (really && !left.isEmpty()) {
      storage.giveNotice(name);
    }
    for (String era : left) {
      Name eras = log.buckets().resolve(era);
      for (String group : list(eras)) {
        Name groups = eras.resolve(group);
        for (String bucket : list(groups)) {
          sweep.bucket(groups.resolve(bucket));
        }
        sweep.directory(groups);
      }
      sweep.directory(eras);
    }
    for (TableLayout table : log.tables()) {
      sweep.files(table.commits());
      sweep.directory(table.commits());
      sweep.files(table.root());
      sweep.directory(table.root());
    }
    sweep.files(log.segments());
    sweep.files(log.checkpoints());
    for (String group : list(log.records())) {
      Name groups = log.records().resolve(group);
      for (String file : list(groups)) {
        boolean kept =
            Numbered.parse(file).equals(OptionalLong.of(last))
                || SealName.parse(file).filter(s -> s.number() == last).isPresent();
        if (!kept) {
          sweep.file(groups.resolve(file));
        }
      }
      sweep.directory(groups);
    }
    sweep.obstacles.complain(new Retention.Plan(Optional.empty(), false, 0, 0, sweep.files));
    return sweep.files;
  }

  private long lastRecord(LogLayout log) throws IOException {
    long last = 0;
    for (String group : list(log.records())) {
      for (String file : list(log.records().resolve(group))) {
        last = Math.max(last, Numbered.parse(file).orElse(0));
      }
    }
    return last;
  }

  private List<String> list(Name directory) throws IOException {
    return storage.listIfThere(directory, Freshness.CACHED);
  }

  private final class Sweep {
    private final boolean really;
    private final Consumer<Name> each;
    private final Obstacles obstacles = new Obstacles(storage);
    private long files;

    Sweep(boolean really, Consumer<Name> each) {
      this.really = really;
      this.each = each;
    }

    void bucket(Name directory) throws IOException {
      files(directory);
      directory(directory);
    }

    void files(Name directory) throws IOException {
      for (String name : list(directory)) {
        file(directory.resolve(name));
      }
    }

    void file(Name file) throws IOException {
      if (!OwnPaths.has(file.within(store.layout().root()), false)) {
        LOG.info("{}: stays: it is not Cinch's", file);
        return;
      }
      try {
        if (really) {
          storage.remove(file);
        }
        files++;
        each.accept(file);
      } catch (IOException e) {
        obstacles.add(e, file);
      }
    }

    /** Unless it holds what is not ours, or what a process has open. */
    void directory(Name directory) {
      if (really) {
        try {
          storage.removePlace(directory);
        } catch (FileSystemException e) {
          LOG.debug("{}: stays: {}", directory, e.toString());
        } catch (IOException e) {
          LOG.info("{}: stays: {}", directory, e.toString());
        }
      }
    }
  }
}
