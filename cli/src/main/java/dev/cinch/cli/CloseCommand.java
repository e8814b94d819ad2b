package dev.cinch.cli;

import dev.cinch.bag.Log;
import dev.cinch.bag.Store;
import dev.cinch.bag.close.HorizonAdvance;
import dev.cinch.bag.close.HorizonChain.Link;
import dev.cinch.bag.close.OpinionNeededException;
import dev.cinch.bag.fs.ForeignEntryException;
import dev.cinch.cli.Converters.Moment;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.http.HttpLeaseClient;
import dev.cinch.lease.time.TimeSource;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Advances horizons (section 4): what cron runs. */
@Command(
    name = "close",
    mixinStandardHelpOptions = true,
    description = {
      "Close buckets whose grace period is over, so that what they hold is settled.",
      "Nothing to do yet is no error; any number may run at once. A log that can't be closed keeps",
      "no other log from it."
    },
    footer = {"", "Example:", "  cinch close --store /mnt/shared/store --every 1s"})
@SuppressWarnings("NullAway.Init") // picocli sets the fields
final class CloseCommand implements Callable<Integer> {
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
      description = {
        "Settle through this time, like -5m or 14:00, or refuse (exit code 3) if it is too early."
      })
  @Nullable Moment through;

  @Option(
      names = "--trust-clock",
      description = {
        "You have looked: this machine's clock is right. Needed, unless a lease service",
        "is named, to settle more than an hour past the newest messages and what is settled."
      })
  boolean trustClock;

  CloseCommand(Io io) {
    this.io = io;
  }

  @Override
  public Integer call() throws IOException, InterruptedException {
    if (every != null && (every.isNegative() || every.isZero())) {
      throw new ParameterException(spec.commandLine(), "--every is longer than 0s");
    }
    @Nullable HttpLeaseClient client = server.isGiven() ? server.client() : null;
    Store opened = store.open();
    logs.check(opened); // a wrong name is told at once, also with --every
    TimeSource time = opened.context().time();
    var complaints = new Complaints(io, spec, time::monotonicNanos);
    try (Output out = io.output()) {
      while (true) {
        var opinion = new ThirdOpinion(client, trustClock ? time::wallNanos : null);
        int code = round(opened, opinion, complaints, out);
        out.flush();
        if (every == null) {
          return code;
        }
        time.sleepNanos(every.toNanos());
      }
    }
  }

  /** Closes all logs; also what concerns the whole store is told, and tried again by the next. */
  private int round(Store opened, ThirdOpinion opinion, Complaints complaints, Output out)
      throws IOException, InterruptedException {
    int code = ExitCode.GOOD;
    try {
      long unused = opened.context().checkedNow(); // a closer with a wrong clock refuses to work
      code = logs.each(opened, out, complaints::tell, log -> close(log, opinion, out));
      opinion.complain();
      return code;
    } catch (Output.ClosedException | InterruptedException e) {
      throw e;
    } catch (IOException | LeaseUnavailableException | RuntimeException e) {
      int found = complaints.tell("", e);
      return code == ExitCode.GOOD ? found : code;
    }
  }

  private void close(Log opened, ThirdOpinion opinion, Output out)
      throws IOException, InterruptedException {
    var progress = new Progress(io);
    var closed = new AtomicLong();
    var foreign = new ArrayList<ForeignEntryException>();
    var horizon =
        new HorizonAdvance(
            opened.context(),
            n -> {
              closed.set(n);
              progress.show(n, " buckets of " + opened.name());
            },
            foreign::add);
    long before = settled(horizon.chain().freshTip());
    long to = through != null ? through.nanos() : horizon.reachable();
    if (before >= to) {
      return;
    }
    Optional<Link> last;
    try {
      last = advance(opened, opinion, horizon, to);
    } finally {
      progress.end();
    }
    if (settled(last) > before) {
      print(opened, last.orElseThrow(), closed.get(), out);
    }
    if (!foreign.isEmpty()) {
      out.flush();
      for (ForeignEntryException e : foreign.subList(1, foreign.size())) {
        Commands.say(io, "cinch close", e.getMessage());
      }
      throw foreign.get(0); // all else is settled, and whoever runs this must look
    }
  }

  private static long settled(Optional<Link> tip) {
    return tip.map(t -> t.record().to()).orElse(Long.MIN_VALUE);
  }

  private void print(Log log, Link last, long buckets, Output out) throws IOException {
    json.print(
        out,
        "%s: settled through %s (record %d, %d bucket%s closed)"
            .formatted(
                log.name(),
                Moment.text(last.record().to()),
                last.record().number(),
                buckets,
                buckets == 1 ? "" : "s"),
        line ->
            line.text("log", log.name().toString())
                .time("settledThrough", last.record().to())
                .number("record", last.record().number())
                .number("buckets", buckets));
  }

  /** Advances as far as it may. The last record then; empty if there is none. */
  private static Optional<Link> advance(
      Log opened, ThirdOpinion opinion, HorizonAdvance horizon, long to)
      throws IOException, InterruptedException {
    try {
      return Optional.of(horizon.advance(to, OptionalLong.empty()));
    } catch (OpinionNeededException e) {
      OpinionNeededException missed = e;
      OptionalLong answer = opinion.get();
      if (answer.isPresent()) {
        try {
          return Optional.of(horizon.advance(to, answer));
        } catch (OpinionNeededException doubt) {
          missed = doubt;
        }
      }
      opinion.missed(opened.name(), missed);
      return horizon.chain().freshTip();
    }
  }
}
