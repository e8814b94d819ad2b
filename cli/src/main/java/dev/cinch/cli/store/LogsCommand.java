package dev.cinch.cli.store;

import dev.cinch.bag.Store;
import dev.cinch.bag.model.LogName;
import dev.cinch.cli.base.ExitCode;
import dev.cinch.cli.base.Io;
import dev.cinch.cli.base.JsonOption;
import dev.cinch.cli.base.Output;
import dev.cinch.cli.base.StoreOptions;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** Prints the names of logs. */
@Command(
    name = "logs",
    description =
        "Print the names of the store's logs, one a line. How they are doing: cinch status.",
    footer = {"", "Example:", "  cinch logs --store /mnt/shared/store"})
@SuppressWarnings("NullAway.Init") // picocli sets the fields
public final class LogsCommand implements Callable<Integer> {
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
      for (LogName name : names(store.open())) {
        json.print(out, name.toString(), line -> line.text("log", name.toString()));
      }
    }
    return ExitCode.GOOD;
  }

  /** Those that were made to their end and not removed; one that is damaged has its name. */
  static List<LogName> names(Store store) throws IOException {
    var names = new ArrayList<LogName>();
    for (LogName name : store.permittedLogs()) {
      boolean there;
      try {
        there = !store.whole(List.of(name)).isEmpty();
      } catch (IOException e) {
        there = true;
      }
      if (there) {
        names.add(name);
      }
    }
    return names;
  }
}
