package dev.cinch.cli.status;

import dev.cinch.bag.Store;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.storage.StoreReplacedException;
import dev.cinch.cli.base.ExitCode;
import dev.cinch.cli.base.Io;
import dev.cinch.cli.base.JsonOption;
import dev.cinch.cli.base.Misuse;
import dev.cinch.cli.base.Output;
import dev.cinch.cli.base.ServerOptions;
import dev.cinch.cli.base.StoreOptions;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Prints how a store is doing. */
@Command(
    name = "status",
    description = {
      "Print how a store is doing: first what needs attention, then the lease server and each log.",
      "Reads no messages. Exit code 1 if it came across damage, 3 if something else needs"
          + " attention, 4 if a log can't be read."
    },
    footer = {
      "",
      "Examples:",
      "  cinch status --store /mnt/shared/store",
      "  cinch status --watch",
      "  cinch status --json | jq -r '.attention[].message'"
    })
@SuppressWarnings("NullAway.Init") // picocli sets the fields
public final class StatusCommand implements Callable<Integer> {
  /** Moves to the upper left corner and empties the screen. */
  private static final String CLEAR = "\033[H\033[2J";

  private final Io io;

  @Mixin StoreOptions store;
  @Mixin ServerOptions server;
  @Mixin JsonOption json;

  @Option(
      names = "--log",
      paramLabel = "NAME",
      showDefaultValue = CommandLine.Help.Visibility.NEVER,
      description = "This log; may be repeated.")
  List<LogName> logs = new ArrayList<>();

  @Option(
      names = "--watch",
      arity = "0..1",
      fallbackValue = "2s",
      paramLabel = "DURATION",
      description = "Look again and again with such a pause, 2s unless given, until interrupted.")
  @Nullable Duration watch;

  @Option(
      names = "--late",
      defaultValue = "3m",
      paramLabel = "DURATION",
      description = "How long past its grace period a bucket may stay open.")
  Duration late;

  @Option(names = "--no-server", description = "Do not ask the lease server.")
  boolean noServer;

  @Option(
      names = "--prometheus",
      description =
          "Print numbers for Prometheus' node_exporter instead; exit code 0, whatever they are.")
  boolean prometheus;

  StatusCommand(Io io) {
    this.io = io;
  }

  @Override
  public Integer call() throws IOException, InterruptedException {
    if (watch != null && (watch.isNegative() || watch.isZero())) {
      throw new Misuse("--watch is longer than 0s");
    }
    if (late.isNegative()) {
      throw new Misuse("--late is not negative");
    }
    if (prometheus && (json.json || watch != null)) {
      throw new Misuse("--prometheus goes with neither --json nor --watch");
    }
    Store opened = store.open();
    var looker = new StoreReport.Looker(opened, server.credentials.get(), late);
    try (Output out = io.output()) {
      while (true) {
        requireSame(opened);
        StoreReport report = looker.look(logs, !noServer, server.server);
        if (prometheus) {
          out.ifClosed(ExitCode.GOOD);
          StatusMetrics.print(report, out);
          return ExitCode.GOOD;
        }
        out.ifClosed(watch == null ? report.code() : ExitCode.GOOD);
        if (watch != null && io.outTerminal() && !json.json) {
          out.text(CLEAR);
        }
        if (json.json) {
          StatusPrinter.json(report, Integer.MAX_VALUE, out);
        } else {
          StatusPrinter.text(report, out);
        }
        out.flush();
        if (watch == null) {
          return report.code();
        }
        opened.context().time().sleepNanos(watch.toNanos());
      }
    }
  }

  /** One that was made anew at its path would look damaged for ever. */
  private static void requireSame(Store opened) throws StoreReplacedException {
    try {
      opened.context().requireSame();
    } catch (StoreReplacedException e) {
      throw e;
    } catch (IOException e) {
      // the report says what can't be read
    }
  }
}
