package dev.cinch.cli;

import dev.cinch.bag.Log;
import dev.cinch.bag.Store;
import dev.cinch.bag.layout.LogName;
import java.io.IOException;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** One log, or all of a store. */
final class LogsOption {
  @Option(names = "--log", paramLabel = "NAME", description = "This log; all unless set.")
  @Nullable LogName log;

  /** Opens it, or them, in the order of names. */
  List<Log> open(Store store) throws IOException {
    return log != null ? List.of(store.log(log)) : store.whole(store.freshLogs());
  }
}
