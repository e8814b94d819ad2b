package dev.cinch.cli;

import dev.cinch.bag.Store;
import dev.cinch.bag.layout.LogName;
import dev.cinch.bag.store.RemovedLogs;
import java.io.IOException;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** Prints the names of logs. */
@Command(
    name = "logs",
    mixinStandardHelpOptions = true,
    description =
        "Print the names of the store's logs, one a line. How they are doing: cinch status.",
    footer = {"", "Example:", "  cinch logs --store /mnt/shared/store"})
@SuppressWarnings("NullAway.Init") // picocli sets the fields
final class LogsCommand implements Callable<Integer> {
  private final Io io;

  @Mixin StoreOptions store;
  @Mixin JsonOption json;

  LogsCommand(Io io) {
    this.io = io;
  }

  @Override
  public Integer call() throws IOException {
    try (Output out = io.output()) {
      out.ifClosed(ExitCode.GOOD);
      Store opened = store.open();
      var removed = new RemovedLogs(opened.context());
      for (LogName name : opened.permittedLogs()) {
        if (removed.find(name).isPresent()) {
          continue;
        }
        json.print(out, name.toString(), line -> line.text("log", name.toString()));
      }
    }
    return ExitCode.GOOD;
  }
}
