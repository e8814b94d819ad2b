package dev.cinch.cli;

import dev.cinch.bag.Log;
import dev.cinch.bag.Store;
import dev.cinch.bag.layout.LogName;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** One log, or all of a store. */
final class LogsOption {
  @Option(names = "--log", paramLabel = "NAME", description = "This log; all unless set.")
  @Nullable LogName log;

  /** Opens it, or them, in the order of names. */
  List<Log> open(Store store) throws IOException {
    List<LogName> names = log != null ? List.of(log) : store.freshLogs();
    var logs = new ArrayList<Log>();
    for (LogName name : names) {
      logs.add(store.log(name));
    }
    return logs;
  }
}
