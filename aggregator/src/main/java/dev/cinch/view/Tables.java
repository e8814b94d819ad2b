package dev.cinch.view;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.Log;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.TableLayout;
import dev.cinch.bag.storage.Freshness;
import dev.cinch.bag.store.LogContext;
import dev.cinch.view.DeltaLog.File;
import dev.cinch.view.DeltaLog.State;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What goes out of the tables of a log, and with it the files. */
@CheckReturnValue
public final class Tables {
  private static final Logger LOG = LoggerFactory.getLogger(Tables.class);

  /** How long a file stays that a commit removed: readers of an earlier one may still need it. */
  static final Duration KEPT = Duration.ofDays(1);

  private Tables() {}

  /**
   * Takes all out of a log's tables, before the log is removed: readers find them empty, and not
   * broken.
   */
  public static void empty(Log log) throws IOException {
    for (TableLayout table : log.context().layout().tables()) {
      var commits = new DeltaLog(log.context(), table);
      State now = commits.read();
      while (now.isThere() && now.through() < Long.MAX_VALUE) { // so that nobody adds more
        var all = List.copyOf(now.files().values());
        var then = commits.commit(now, now.shape(), null, all, Long.MAX_VALUE);
        now = then.isPresent() ? then.get() : commits.read();
      }
    }
  }

  /**
   * Publishes that files are no part of the tables any more in which all messages expired. Tables
   * that are damaged are told, and left.
   *
   * @param before nothing older counts, nanoseconds since the Unix epoch
   */
  static void expire(LogContext log, long before) throws IOException {
    for (TableLayout table : log.layout().tables()) {
      var commits = new DeltaLog(log, table);
      try {
        State now = commits.read();
        while (!expired(now, before).isEmpty()) {
          now = expire(commits, now, before);
        }
      } catch (DamagedException e) {
        LOG.warn("{}; what expired stays in that table", e.getMessage());
      }
    }
  }

  /** Tries it once; returns what the commits say then. */
  static State expire(DeltaLog commits, State now, long before) throws IOException {
    List<File> expired = expired(now, before);
    if (expired.isEmpty()) {
      return now;
    }
    var then = commits.commit(now, now.shape(), null, expired, now.through());
    return then.isPresent() ? then.get() : commits.read();
  }

  private static List<File> expired(State now, long before) {
    return now.files().values().stream().filter(file -> file.last() < before).toList();
  }

  /** The files that no commit can name any more, and those that were removed long ago. */
  static List<Name> stale(LogContext log, TableLayout table, State now) throws IOException {
    long cutoff = Math.floorDiv(log.store().now(), 1_000_000) - KEPT.toMillis();
    var stale = new ArrayList<Name>();
    for (String name : log.storage().listIfThere(table.root(), Freshness.PERMITTED)) {
      OptionalLong version = TableLayout.fileVersion(name);
      Long removed = now.removed().get(name);
      boolean goes =
          removed == null
              ? !now.files().containsKey(name) && version.orElse(Long.MAX_VALUE) <= now.version()
              : removed < cutoff;
      if (version.isPresent() && goes) {
        stale.add(table.root().resolve(name));
      }
    }
    return stale;
  }

  /** As {@link #stale(LogContext, TableLayout, State)}, of all tables that are not damaged. */
  static List<Name> stale(LogContext log) throws IOException {
    var stale = new ArrayList<Name>();
    for (TableLayout table : log.layout().tables()) {
      try {
        State now = new DeltaLog(log, table).read();
        if (now.isThere()) {
          stale.addAll(stale(log, table, now));
        }
      } catch (DamagedException e) {
        LOG.warn("{}; files of that table stay", e.getMessage());
      }
    }
    return stale;
  }
}
