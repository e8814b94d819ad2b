package dev.cinch.cli.store;

import dev.cinch.bag.Log;
import dev.cinch.bag.LogRemovedException;
import dev.cinch.bag.NotAStoreException;
import dev.cinch.bag.Store;
import dev.cinch.bag.model.LogName;
import dev.cinch.cli.base.ExitCode;
import dev.cinch.cli.base.Io;
import dev.cinch.cli.base.JsonOption;
import dev.cinch.cli.base.Output;
import dev.cinch.cli.base.StoreOptions;
import java.io.IOException;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

/** Makes logs that are named on purpose. */
@Command(
    name = "create",
    description = {
      "Make logs for messages to come.",
      "One that is there stays as it is, which is no error: a script may run it each time. So"
          + " appends may say --no-create, and a name that is mistyped makes no log."
    },
    footer = {"", "Example:", "  cinch log create --store /mnt/shared/store jobs results"})
@SuppressWarnings("NullAway.Init") // picocli sets the fields
final class LogCreateCommand implements Callable<Integer> {
  private final Io io;

  @Mixin StoreOptions store;
  @Mixin JsonOption json;

  @Parameters(arity = "1..*", paramLabel = "NAME", description = "The logs' names.")
  List<LogName> names;

  LogCreateCommand(Io io) {
    this.io = io;
  }

  @Override
  public Integer call() throws IOException {
    Store opened = store.open();
    Set<LogName> there = there(opened); // before any is made: of these some may be refused
    try (Output out = io.output()) {
      for (LogName name : names) {
        boolean made = there.add(name);
        if (made) {
          Log unused = opened.createLog(name);
        }
        json.print(
            out,
            name + (made ? ": made" : ": is there"),
            line -> line.text("log", name.toString()).flag("made", made));
      }
    }
    return ExitCode.GOOD;
  }

  private Set<LogName> there(Store store) throws IOException {
    var there = new HashSet<LogName>();
    for (LogName name : names) {
      try {
        Log unused = store.log(name);
        there.add(name);
      } catch (LogRemovedException e) {
        throw e;
      } catch (NotAStoreException e) {
        // To be made.
      }
    }
    return there;
  }
}
