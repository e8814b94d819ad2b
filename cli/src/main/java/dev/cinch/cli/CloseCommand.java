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

  @Option(
      names = "--every",
      paramLabel = "DURATION",
      description = "Go on for ever, with such a pause; failures are printed and tried again.")
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
        "is named, to settle more than an hour at once."
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
    try (Output out = io.output()) {
      while (true) {
        int code = every == null ? closeAll(opened, client, out) : tryAll(opened, client, out);
        out.flush();
        if (every == null) {
          return code;
        }
        opened.context().time().sleepNanos(every.toNanos());
      }
    }
  }

  /** As {@link #closeAll}, for who tries again: also what concerns the whole store is told. */
  private int tryAll(Store opened, @Nullable HttpLeaseClient client, Output out)
      throws IOException, InterruptedException {
    try {
      return closeAll(opened, client, out);
    } catch (Output.ClosedException e) {
      throw e;
    } catch (IOException | RuntimeException e) {
      return Commands.told(io, spec, e);
    }
  }

  private int closeAll(Store opened, @Nullable HttpLeaseClient client, Output out)
      throws IOException, InterruptedException {
    long unused = opened.context().checkedNow(); // a closer with a wrong clock refuses to work
    return logs.each(opened, io, out, log -> close(log, client, out)); // there may be new ones
  }

  private void close(Log opened, @Nullable HttpLeaseClient client, Output out)
      throws IOException, InterruptedException, LeaseUnavailableException {
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
    Optional<Link> before = horizon.chain().freshTip();
    long to = through != null ? through.nanos() : horizon.reachable();
    if (before.isPresent() && before.get().record().to() >= to) {
      return;
    }
    Link last;
    try {
      last = advance(opened, client, horizon, to);
    } finally {
      progress.end();
    }
    long buckets = closed.get();
    out.line(
        "%s: settled through %s (record %d, %d bucket%s closed)"
            .formatted(
                opened.name(),
                Moment.text(last.record().to()),
                last.record().number(),
                buckets,
                buckets == 1 ? "" : "s"));
    if (!foreign.isEmpty()) {
      out.flush();
      for (ForeignEntryException e : foreign.subList(1, foreign.size())) {
        Commands.say(io, "cinch close", e.getMessage());
      }
      throw foreign.get(0); // all else is settled, and whoever runs this must look
    }
  }

  private Link advance(
      Log opened, @Nullable HttpLeaseClient client, HorizonAdvance horizon, long to)
      throws IOException, InterruptedException, LeaseUnavailableException {
    try {
      return horizon.advance(to, OptionalLong.empty());
    } catch (OpinionNeededException e) {
      // Asked for only when it is needed, so that a lease service that is down stops nobody.
      if (client != null) {
        return horizon.advance(to, OptionalLong.of(client.now()));
      }
      if (trustClock) {
        return horizon.advance(to, OptionalLong.of(opened.context().store().time().wallNanos()));
      }
      throw new Failure.Refusal(
          opened.name() + ": " + e.getMessage() + " (--server or --trust-clock)");
    }
  }
}
