package dev.cinch.view;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.Log;
import dev.cinch.bag.model.Name;
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
 * @param columns that it has out of payloads
 */
@CheckReturnValue
public record TableFiles(long version, long through, List<Name> files, List<TableColumn> columns) {
  /** Those of a log; empty if it has no table. */
  public static Optional<TableFiles> of(Log log) throws IOException {
    Name table = log.context().layout().table();
    State now = new DeltaLog(log.context()).read();
    return now.version() < 0
        ? Optional.empty()
        : Optional.of(
            new TableFiles(
                now.version(),
                now.through(),
                now.files().keySet().stream().map(table::resolve).toList(),
                now.columns()));
  }
}
