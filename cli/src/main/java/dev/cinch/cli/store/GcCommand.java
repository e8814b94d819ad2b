package dev.cinch.cli.store;

import dev.cinch.bag.Cuts;
import dev.cinch.bag.Log;
import dev.cinch.bag.Store;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Words;
import dev.cinch.bag.registry.StoreEnds;
import dev.cinch.cli.base.ExitCode;
import dev.cinch.cli.base.Failure;
import dev.cinch.cli.base.Io;
import dev.cinch.cli.base.LogsOption;
import dev.cinch.cli.base.Misuse;
import dev.cinch.cli.base.Output;
import dev.cinch.cli.base.Progress;
import dev.cinch.cli.base.StoreOptions;
import dev.cinch.cli.read.Deletions;
import dev.cinch.cli.read.OldMessages;
import dev.cinch.view.RemovedLogFiles;
import dev.cinch.view.Retention;
import dev.cinch.view.RetireBlockedException;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Retires buckets and records (section 10). */
@Command(
    name = "gc",
    description = {
      "Delete what stands twice: buckets whose messages cinch view build has merged into segments.",
      "Messages stay unless --keep is given: cat reads them from the segments (see cinch view"
          + " build). A log that is damaged or can't be read keeps no other log from it."
    },
    footer = {"", "Example:", "  cinch gc --store /mnt/shared/store --retention 1h --dry-run"})
@SuppressWarnings("NullAway.Init") // picocli sets the fields
public final class GcCommand implements Callable<Integer> {
  private final Io io;
  private long deleted;

  @Spec CommandSpec command;
  @Mixin StoreOptions store;
  @Mixin LogsOption logs;

  @Option(
      names = "--keep",
      paramLabel = "DURATION",
      description =
          "Delete messages for good once the segment that has them ended so long ago, like 90d.")
  @Nullable Duration keep;

  @Option(
      names = "--retention",
      required = true,
      paramLabel = "DURATION",
      description = "A bucket stays so long after its end, whatever segments have; like 1h.")
  Duration retention;

  @Mixin Deletions deletions;

  GcCommand(Io io) {
    this.io = io;
  }

  @Override
  public Integer call() throws IOException, InterruptedException {
    if (retention.isNegative()) {
      throw new Misuse("a retention time is not negative");
    }
    if (keep != null) {
      OldMessages.check(keep);
    }
    Store opened = store.open();
    long unused = opened.context().checkedNow();
    if (!deletions.dryRun) {
      StoreEnds.removeOld(opened.context());
    }
    try (Output out = io.output()) {
      int code = logs.each(opened, out, this::tell, log -> retire(log, out));
      if (logs.log == null) {
        code = ExitCode.worse(code, removed(opened, out));
        cuts(opened, out);
      }
      if (io.terminal() && code == ExitCode.GOOD && out.isUnused()) {
        io.say(
            "cinch gc",
            "nothing to delete: all that segments cover is younger than --retention (see cinch view"
                + " build)");
      }
      return code;
    }
  }

  /** Tells what stays in a log, each with its remedy. */
  private int tell(LogName log, Exception e) {
    if (!(e instanceof RetireBlockedException blocked)) {
      return io.told(command, e);
    }
    int code = ExitCode.GOOD;
    for (RetireBlockedException.Kept kept : blocked.kept()) {
      io.say("cinch gc", Failure.line(kept));
      code = ExitCode.worse(code, Failure.of(kept.why()).code());
    }
    if (blocked.others() > 0) {
      io.say("cinch gc", log + ": and " + Words.count(blocked.others()) + " more stay");
    }
    return code;
  }

  private int removed(Store opened, Output out) throws IOException {
    var files = new RemovedLogFiles(opened);
    int code = ExitCode.GOOD;
    for (LogName name : opened.freshLogs()) {
      long gone;
      try {
        gone = files.delete(name, !deletions.dryRun, path -> {});
      } catch (RetireBlockedException e) {
        gone = e.done().stale();
        code = ExitCode.worse(code, tell(name, e));
      }
      long count = gone;
      if (count > 0) {
        deletions.print(
            out,
            name,
            "removed",
            count + " files, for it was removed",
            line -> line.number("files", count));
      }
    }
    return code;
  }

  private void cuts(Store opened, Output out) throws IOException {
    List<Name> names = new ArrayList<>();
    new Cuts(opened).removeUnreadable(!deletions.dryRun, names::add);
    if (deletions.dryRun) {
      deletions.names(out, names);
    }
  }

  private void retire(Log log, Output out) throws IOException {
    var keeper = new Retention(log, retention);
    RetireBlockedException stays = null;
    Retention.Plan plan;
    List<Name> names = new ArrayList<>();
    var progress = new Progress(io);
    try {
      plan =
          deletions.dryRun
              ? keeper.plan(names::add)
              : keeper.run(path -> progress.show(++deleted, " buckets and records deleted"));
    } catch (RetireBlockedException e) {
      plan = e.done();
      stays = e;
    } finally {
      progress.end();
    }
    deletions.names(out, names);
    print(log, plan, out);
    if (keep != null) {
      OptionalLong blocked = OldMessages.expire(log, keep, deletions, out);
      if (blocked.isPresent()) {
        OldMessages.tellBlocked(log, blocked.getAsLong(), io, "cinch gc");
      }
    }
    if (stays != null) {
      throw stays;
    }
  }

  private void print(Log log, Retention.Plan plan, Output out) throws IOException {
    if (plan.buckets() + plan.records() + plan.stale() > 0) {
      deletions.print(
          out,
          log.name(),
          "log",
          "%d buckets, %d records, %d stale files"
              .formatted(plan.buckets(), plan.records(), plan.stale()),
          line ->
              line.number("buckets", plan.buckets())
                  .number("records", plan.records())
                  .number("staleFiles", plan.stale()));
    }
  }
}
