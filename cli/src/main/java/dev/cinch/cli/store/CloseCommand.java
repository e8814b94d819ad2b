package dev.cinch.cli.store;

import dev.cinch.backup.RestoredLog;
import dev.cinch.bag.Log;
import dev.cinch.bag.Store;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.bag.registry.StoreCeilings;
import dev.cinch.bag.storage.InWords;
import dev.cinch.bag.store.StoreReplacedException;
import dev.cinch.cli.base.Complaints;
import dev.cinch.cli.base.Converters.Moment;
import dev.cinch.cli.base.ExitCode;
import dev.cinch.cli.base.Io;
import dev.cinch.cli.base.JsonOption;
import dev.cinch.cli.base.LogsOption;
import dev.cinch.cli.base.LongWait;
import dev.cinch.cli.base.Misuse;
import dev.cinch.cli.base.Output;
import dev.cinch.cli.base.ServerOptions;
import dev.cinch.cli.base.StoreOptions;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.http.ShardRouter;
import dev.cinch.lease.time.TimeSource;
import java.io.IOException;
import java.time.Duration;
import java.util.HashMap;
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
  /** How long until the next try where the storage is full. */
  private static final long FULL_NANOS = 1_000_000_000L;

  private final Io io;

  /** Whether this round met a storage that is full. */
  private boolean full;

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
    @Nullable ShardRouter client = server.isGiven() ? server.client() : null;
    Store opened = store.open();
    logs.check(opened); // a wrong name is told at once, also with --every
    TimeSource time = opened.context().time();
    var complaints = new Complaints(io, spec, time::monotonicNanos);
    var closing =
        new LogClosing(
            io,
            json,
            now || through != null,
            restored,
            new Patience(time::monotonicNanos),
            wait || restored ? new LongWait(io, "cinch close", time::monotonicNanos) : null);
    try (Output out = io.output()) {
      int mended = restored ? mend(opened, complaints, out) : ExitCode.GOOD;
      while (true) {
        var opinion = new ThirdOpinion(client, trustClock ? time::wallNanos : null);
        full = false;
        int code = ExitCode.worse(mended, round(opened, closing, opinion, complaints, out));
        out.flush();
        if ((wait || restored) && full) {
          time.sleepNanos(FULL_NANOS);
        } else if (every == null) {
          if (io.terminal() && code == ExitCode.GOOD && out.isUnused()) {
            io.say(
                "cinch close",
                (wait || restored) && through == null
                    ? "nothing to wait for: all that was written is settled"
                    : "nothing to settle: what may be is"
                        + (now || through != null
                            ? ""
                            : ", but for idle time (--now settles that, too)"));
          }
          return code;
        } else {
          time.sleepNanos(every.toNanos());
        }
      }
    }
  }

  private int mend(Store opened, Complaints complaints, Output out)
      throws IOException, InterruptedException {
    opened.context().storage().requireSame(); // a backup is restored by another command
    StoreCeilings.of(opened.context())
        .removeLastWords(); // later servers of the original are not in it
    return logs.each(opened, out, complaints::tell, this::mend);
  }

  private void mend(Log log) throws IOException {
    RestoredLog.Mended done = new RestoredLog(log).mend();
    if (done.removed() > 0) {
      io.say(
          "cinch close",
          "%s: took out %d file%s that %s ahead of the rest of the copy: %s"
              .formatted(
                  log.name(),
                  done.removed(),
                  done.removed() == 1 ? "" : "s",
                  done.removed() == 1 ? "was" : "were",
                  done.why().orElse("")));
    }
  }

  /** What is waited for: all that was committed so far, of whoever, or --through. */
  private long due(Log log) throws IOException {
    return through != null ? through.nanos() : log.horizon().written();
  }

  /** Closes all logs; also what concerns the whole store is told, and tried again by the next. */
  private int round(
      Store opened, LogClosing closing, ThirdOpinion opinion, Complaints complaints, Output out)
      throws IOException, InterruptedException {
    int code = ExitCode.GOOD;
    try {
      opened.context().storage().requireSame(); // else each round would fail
      long clock = opened.context().checkedNow(); // a closer with a wrong clock refuses to work
      LogsOption.Work work;
      if (wait || restored) {
        var times = new HashMap<LogName, Long>();
        code =
            logs.each(
                opened,
                out,
                (of, e) -> told(complaints, of, e),
                log -> times.put(log.name(), due(log)));
        long last = times.values().stream().max(Long::compare).orElse(Long.MIN_VALUE);
        times.replaceAll((log, due) -> now ? last : due);
        work = closing.through(times, opinion, out);
      } else {
        StoreSettings settings = opened.settings();
        long reachable = Bucket.floor(clock - settings.graceNanos(), settings.bucketWidthNanos());
        work = closing.round(through != null ? through.nanos() : reachable, opinion, out);
      }
      code = ExitCode.worse(code, logs.each(opened, out, (of, e) -> told(complaints, of, e), work));
      opinion.complain();
      return code;
    } catch (Output.ClosedException | InterruptedException | StoreReplacedException e) {
      throw e;
    } catch (IOException | LeaseUnavailableException | RuntimeException e) {
      return ExitCode.worse(code, told(complaints, "", e));
    }
  }

  private int told(Complaints complaints, Object of, Throwable e) {
    full |= InWords.isFull(e);
    return complaints.tell(of, wait || restored || every != null ? waiting(e) : e);
  }

  /** Says of a storage that is full that nobody has to start this again. */
  static Throwable waiting(Throwable e) {
    return e instanceof IOException io && InWords.isFull(io)
        ? new IOException("waits for room: " + InWords.line(io), io)
        : e;
  }
}
