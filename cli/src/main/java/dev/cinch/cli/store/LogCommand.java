package dev.cinch.cli.store;

import dev.cinch.bag.Log;
import dev.cinch.bag.LogRemovedException;
import dev.cinch.bag.NotAStoreException;
import dev.cinch.bag.Store;
import dev.cinch.bag.close.HorizonChain;
import dev.cinch.bag.format.Removal;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.bag.registry.StoreCeilings;
import dev.cinch.bag.store.RemovedLogs;
import dev.cinch.bag.store.StoreContext;
import dev.cinch.cli.base.Confirmation;
import dev.cinch.cli.base.Converters.Moment;
import dev.cinch.cli.base.ExitCode;
import dev.cinch.cli.base.Failure;
import dev.cinch.cli.base.Io;
import dev.cinch.cli.base.JsonOption;
import dev.cinch.cli.base.Output;
import dev.cinch.cli.base.ServerOptions;
import dev.cinch.cli.base.StoreOptions;
import dev.cinch.lease.LeaseInfo;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.client.ShardRouter;
import dev.cinch.view.Tables;
import java.io.IOException;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Makes and removes logs. */
@Command(
    name = "log",
    subcommands = {LogCommand.Create.class, LogCommand.Remove.class},
    description = "Make and manage logs.",
    footer = {"", "Example:", "  cinch log create --store /mnt/shared/store jobs"})
public final class LogCommand {
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
  static final class Create implements Callable<Integer> {
    private final Io io;

    @Mixin StoreOptions store;
    @Mixin JsonOption json;

    @Parameters(arity = "1..*", paramLabel = "NAME", description = "The logs' names.")
    List<LogName> names;

    Create(Io io) {
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

  /** Removes a log (rule H8). */
  @Command(
      name = "rm",
      description = {
        "Remove a log with all its messages, for good.",
        "Its name is not used again. It asks for the name twice; a script gives it with --yes."
            + " Appends that are under way are rejected. It refuses (exit code 3) while a lease may"
            + " name the log. Its files go with the first cinch gc a day later."
      },
      footer = {"", "Example:", "  cinch log rm --server http://127.0.0.1:8470 jobs"})
  @SuppressWarnings("NullAway.Init") // picocli sets the fields
  static final class Remove implements Callable<Integer> {
    private static final String COMMAND = "cinch log rm";
    private static final int PAGE = 1_000;

    private final Io io;

    @Mixin StoreOptions store;
    @Mixin ServerOptions server;
    @Mixin JsonOption json;

    @Option(
        names = "--yes",
        paramLabel = "NAME",
        description = "The log's name once more, in place of the two questions.")
    @Nullable LogName yes;

    @Parameters(paramLabel = "NAME", description = "The log's name.")
    LogName name;

    Remove(Io io) {
      this.io = io;
    }

    @Override
    public Integer call() throws IOException, InterruptedException, LeaseUnavailableException {
      Store opened = store.open();
      Log log;
      try {
        log = opened.log(name);
      } catch (LogRemovedException e) {
        // Whoever did may have stopped before the identity went.
        new RemovedLogs(opened.context()).finish(opened.context().layout().log(name));
        io.say(COMMAND, String.valueOf(e.getMessage()));
        return ExitCode.GOOD; // a script may run it again
      }
      long now = opened.context().checkedNow();
      if (opened.settings().confirm() == StoreSettings.Confirm.LATE) {
        throw new Failure.Refusal(
            "this store confirms late: its writers would not see that the log is removed");
      }
      refuseUnderLeases(opened.context(), log, now);
      Confirmation.ask(
          io,
          name.value(),
          yes == null ? null : yes.value(),
          "This deletes all messages of the log for good.");
      HorizonChain.Link unused = log.horizon().end();
      Tables.empty(log);
      Removal removal = new RemovedLogs(opened.context()).bury(log.context());
      try (Output out = io.output()) {
        json.print(
            out,
            name + ": removed; its files go with the first cinch gc in a day",
            line -> line.text("log", name.toString()).time("removed", removal.removed()));
      }
      return ExitCode.GOOD;
    }

    private void refuseUnderLeases(StoreContext context, Log log, long now)
        throws IOException, LeaseUnavailableException {
      if (server.isGiven()) {
        Optional<LeaseName> lease =
            naming(ShardRouter.of(server.required(), server.credentials.get()), log);
        if (lease.isPresent()) {
          throw new Failure.Refusal(
              "lease "
                  + lease.get()
                  + " names log "
                  + name
                  + "; release it, or wait until it ends");
        }
        return;
      }
      OptionalLong ceiling = StoreCeilings.of(context).highestOfAll();
      if (ceiling.isPresent() && ceiling.getAsLong() > now) {
        throw new Failure.Refusal(
            "leases may be held until %s, and one of them may name log %s; ask the lease server (--server URL), or wait"
                .formatted(Moment.text(ceiling.getAsLong()), name));
      }
    }

    /** A lease that is held, or prepared, and names the log. */
    private static Optional<LeaseName> naming(ShardRouter client, Log log)
        throws IOException, LeaseUnavailableException {
      Optional<LeaseName> after = Optional.empty();
      while (true) {
        List<LeaseInfo> page = client.list("", after, PAGE);
        for (LeaseInfo info : page) {
          boolean held = info.state().excludes() || info.state() == LeaseInfo.State.TENTATIVE;
          if (held && info.witness().logs().contains(log.id())) {
            return Optional.of(info.witness().name());
          }
          after = Optional.of(info.witness().name());
        }
        if (page.isEmpty()) {
          return Optional.empty();
        }
      }
    }
  }
}
