package dev.cinch.view;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.Log;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.TableLayout;
import dev.cinch.view.DeltaLog.File;
import dev.cinch.view.DeltaLog.State;
import java.io.IOException;
import java.util.List;
import java.util.Optional;

/**
 * What a log's table has by its last commit. Immutable.
 *
 * @param version of that commit
 * @param through the time through which the table has the log, nanoseconds since the Unix epoch
 * @param files where they stand, in the order of time
 * @param first the least timestamp in them, nanoseconds since the Unix epoch
 * @param last the highest
 * @param columns that it has out of payloads
 */
@CheckReturnValue
public record TableFiles(
    long version,
    long through,
    List<Name> files,
    long first,
    long last,
    List<TableColumn> columns) {
  /**
   * Those of a log; empty if it has no table, or none any more since it is being removed.
   *
   * @param latest whether to look at the table of the last message of each key
   */
  public static Optional<TableFiles> of(Log log, boolean latest) throws IOException {
    TableLayout table = latest ? log.context().layout().latest() : log.context().layout().table();
    State now = new DeltaLog(log.context(), table).read();
    return !now.isThere() || now.through() == Long.MAX_VALUE
        ? Optional.empty()
        : Optional.of(
            new TableFiles(
                now.version(),
                now.through(),
                now.files().keySet().stream().map(table.root()::resolve).toList(),
                now.files().values().stream().mapToLong(File::first).min().orElse(Long.MAX_VALUE),
                now.files().values().stream().mapToLong(File::last).max().orElse(Long.MIN_VALUE),
                now.shape().columns()));
  }
}
