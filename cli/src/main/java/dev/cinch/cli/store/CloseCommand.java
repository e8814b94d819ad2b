package dev.cinch.cli.store;

import dev.cinch.backup.RestoredLog;
import dev.cinch.bag.Closer;
import dev.cinch.bag.Cuts;
import dev.cinch.bag.Log;
import dev.cinch.bag.Store;
import dev.cinch.bag.close.OpinionNeededException;
import dev.cinch.bag.format.ForeignEntryException;
import dev.cinch.bag.model.InWords;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.Words;
import dev.cinch.bag.registry.StoreCeilings;
import dev.cinch.cli.base.Complaints;
import dev.cinch.cli.base.Converters.Moment;
import dev.cinch.cli.base.ExitCode;
import dev.cinch.cli.base.Failure;
import dev.cinch.cli.base.Io;
import dev.cinch.cli.base.JsonOption;
import dev.cinch.cli.base.LogsOption;
import dev.cinch.cli.base.LongWait;
import dev.cinch.cli.base.Misuse;
import dev.cinch.cli.base.Output;
import dev.cinch.cli.base.Progress;
import dev.cinch.cli.base.ServerOptions;
import dev.cinch.cli.base.StoreOptions;
import dev.cinch.lease.client.ShardRouter;
import dev.cinch.lease.time.TimeSource;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Advances horizons (section 4): what cron runs. */
@Command(
    name = "close",
    description = {
      "Close buckets whose grace period is over, so that what they hold is settled.",
      "Closing a bucket freezes it and publishes its table of contents, a file called lock. It is"
          + " not a file lock. It ends with 0 also where nothing is due; any number may run at once. A log that can't be closed keeps"
          + " no other log from it."
    },
    footer = {
      "",
      "Examples:",
      "  cinch close --store /mnt/shared/store --every 1s",
      "  cinch close --log jobs --wait && cinch cat --log jobs"
    })
@SuppressWarnings("NullAway.Init") // picocli sets the fields
public final class CloseCommand implements Callable<Integer> {
  private static final String NAME = "cinch close";

  private final Io io;

  @Spec CommandSpec spec;
  @Mixin StoreOptions store;
  @Mixin ServerOptions server;

  @Mixin LogsOption logs;
  @Mixin JsonOption json;

  @Option(
      names = "--every",
      paramLabel = "DURATION",
      description =
          "Go on for ever, with such a pause; what fails is tried again, and told once a minute.")
  @Nullable Duration every;

  @Option(
      names = "--through",
      paramLabel = "TIME",
      description =
          "Settle through this time, like -5m or 14:00, or refuse (exit code 3) if it is too"
              + " early.")
  @Nullable Moment through;

  @Option(
      names = "--now",
      description =
          "Settle idle time, too. Otherwise a log to which nobody appends rests for twice as long"
              + " each time, up to half an hour. With --wait all logs through the same time, so that"
              + " they can be read as one.")
  boolean now;

  @Option(
      names = "--wait",
      description =
          "Wait until all that was written so far can be read, and settle it as soon as that may"
              + " be; with --through, until that time may be settled.")
  boolean wait;

  @Option(
      names = "--trust-clock",
      description =
          "You have looked: this machine's clock is right. Needed, unless a lease service is named,"
              + " to settle more than an hour past the newest messages and what is settled.")
  boolean trustClock;

  @Option(
      names = "--restored",
      description =
          "The store is a copy, made while others worked on it: take out what is ahead of the rest,"
              + " and settle once more all that its buckets hold. Never for the original.")
  boolean restored;

  CloseCommand(Io io) {
    this.io = io;
  }

  @Override
  public Integer call() throws IOException, InterruptedException {
    if (every != null && (every.isNegative() || every.isZero())) {
      throw new Misuse("--every is longer than 0s");
    }
    if (every != null && wait) {
      throw new Misuse("--wait ends once all is settled, and --every never does; leave one out");
    }
    @Nullable ShardRouter client =
        server.isGiven() ? ShardRouter.of(server.required(), server.credentials.get()) : null;
    Store opened = store.open();
    logs.check(opened); // a wrong name is told at once, also with --every
    TimeSource time = opened.context().time();
    Closer.@Nullable Opinion operator = trustClock ? time::wallNanos : null;
    List<LogName> named = logs.log == null ? List.of() : List.of(logs.log);
    try (Output out = io.output()) {
      var told = new Told(time, out);
      var closer = new Closer(opened, named, client == null ? operator : client::now, told);
      if (restored) {
        told.mended = mend(opened, told, out);
        new Cuts(opened).removeAhead(path -> io.say(NAME, "took out the cut " + path));
        closer.settleRestored();
      }
      OptionalLong to = through == null ? OptionalLong.empty() : OptionalLong.of(through.nanos());
      while (true) {
        if (waits()) {
          closer.await(to, now);
        } else {
          closer.round(to, now || through != null);
        }
        out.flush();
        if (every == null) {
          told.thatThereWasNothing();
          return told.code;
        }
        time.sleepNanos(every.toNanos());
      }
    }
  }

  private boolean waits() {
    return wait || restored;
  }

  private int mend(Store opened, Told told, Output out) throws IOException, InterruptedException {
    opened.context().requireSame(); // a backup is restored by another command
    StoreCeilings.of(opened.context())
        .removeLastWords(); // later servers of the original are not in it
    return logs.each(opened, out, told.complaints::tell, this::mend);
  }

  private void mend(Log log) throws IOException {
    RestoredLog.Mended done = new RestoredLog(log).mend();
    if (done.removed() > 0) {
      io.say(
          NAME,
          "%s: took out %d file%s that %s ahead of the rest of the copy: %s"
              .formatted(
                  log.name(),
                  done.removed(),
                  done.removed() == 1 ? "" : "s",
                  done.removed() == 1 ? "was" : "were",
                  done.why().orElse("")));
    }
  }

  /** Says of a storage that is full that nobody has to start this again. */
  static Exception waiting(Exception e) {
    return e instanceof IOException io && InWords.isFull(io)
        ? new IOException("waits for room: " + InWords.line(io), io)
        : e;
  }

  /** Prints what becomes of the logs, and keeps the exit code. */
  private final class Told implements Closer.Listener {
    final Complaints complaints;
    private final Output out;
    private final LongWait waiting;
    private final Progress progress = new Progress(io);
    private int mended = ExitCode.GOOD;
    private int code;

    Told(TimeSource time, Output out) {
      this.complaints = new Complaints(io, spec, time::monotonicNanos);
      this.waiting = new LongWait(io, NAME, time::monotonicNanos);
      this.out = out;
    }

    @Override
    public void begins() {
      code = mended;
      out.ifClosed(ExitCode.UNAVAILABLE);
    }

    @Override
    public void failed(@Nullable LogName log, Exception why) throws IOException {
      progress.end();
      for (Throwable other : why.getSuppressed()) {
        if (other instanceof ForeignEntryException foreign) {
          io.say(NAME, foreign.getMessage());
        }
      }
      Exception told = waits() || every != null ? waiting(why) : why;
      if (why instanceof OpinionNeededException && !server.isGiven() && !trustClock) {
        told = new Failure.Refusal(why.getMessage() + " (--server or --trust-clock)");
      }
      code = ExitCode.worse(code, complaints.tell(log == null ? "" : log, told));
      out.ifClosed(code);
    }

    @Override
    public void settled(Closer.Settled log) throws IOException {
      progress.end();
      json.print(
          out,
          "%s: settled through %s (record %d, %d bucket%s closed)"
              .formatted(
                  log.log(),
                  Moment.text(log.through()),
                  log.record(),
                  log.buckets(),
                  log.buckets() == 1 ? "" : "s"),
          line ->
              line.text("log", log.log().toString())
                  .time("settledThrough", log.through())
                  .number("record", log.record())
                  .number("buckets", log.buckets()));
      out.flush(); // the next one may take hours
    }

    @Override
    public void closing(LogName log, long buckets) {
      progress.show(buckets, " buckets of " + log);
    }

    @Override
    public void early(LogName log, long through, long nanos) {
      waiting.goesOn(
          () ->
              "waiting: \"%s\" can be read through %s in %s, when the grace period is over"
                  .formatted(log, Moment.text(through), Words.span(nanos)));
    }

    void thatThereWasNothing() {
      if (io.terminal() && code == ExitCode.GOOD && out.isUnused()) {
        io.say(
            NAME,
            waits() && through == null
                ? "nothing to wait for: all that was written is settled"
                : "nothing to settle: what may be is"
                    + (now || through != null
                        ? ""
                        : ", but for idle time (--now settles that, too)"));
      }
    }
  }
}
