package dev.cinch.cli.read;

import dev.cinch.bag.Log;
import dev.cinch.bag.Store;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.read.MessageSink;
import dev.cinch.cli.base.Converters.Moment;
import dev.cinch.cli.base.ExitCode;
import dev.cinch.cli.base.Failure;
import dev.cinch.cli.base.Io;
import dev.cinch.cli.base.JsonOption;
import dev.cinch.cli.base.LogsOption;
import dev.cinch.cli.base.Misuse;
import dev.cinch.cli.base.Output;
import dev.cinch.cli.base.Progress;
import dev.cinch.cli.base.StoreOptions;
import dev.cinch.cli.base.TimeRange;
import dev.cinch.view.Aggregator;
import dev.cinch.view.TableFiles;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Merged, immutable views of logs (section 10). */
@Command(
    name = "view",
    subcommands = {ViewCommand.Build.class, ViewCommand.Cat.class, ViewCommand.Sql.class},
    description = "Build and read segments: what is settled, merged into few files.",
    footer = {"", "Example:", "  cinch view build --store /mnt/shared/store"})
public final class ViewCommand {
  @Command(
      name = "build",
      description = {
        "Merge what is settled into segments: few files in place of some for each bucket.",
        "cinch cat prints the same before and after; cinch gc deletes the buckets."
            + " Any number may run at once. A segment is built once the oldest message that it will hold is"
            + " as old as --wait says, so that many runs do not make many small ones. Exit code 1 if a published"
            + " segment differs from what its records give. A log that is damaged or can't be read"
            + " keeps no other log from it."
      },
      footer = {"", "Example:", "  cinch view build --log jobs"})
  @SuppressWarnings("NullAway.Init")
  static final class Build implements Callable<Integer> {
    private final Io io;

    @Mixin StoreOptions store;
    @Mixin LogsOption logs;
    @Mixin JsonOption json;

    @Option(
        names = "--wait",
        paramLabel = "DURATION",
        defaultValue = "1d",
        description = "How old the oldest must be; 0s: cover all that is settled now.")
    Duration wait;

    @ArgGroup(exclusive = false, heading = "%nTables:%n")
    @Nullable TableOptions table;

    Build(Io io) {
      this.io = io;
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
      if (wait.isNegative()) {
        throw new Misuse("a time to wait is not negative");
      }
      Store opened = store.open();
      var tables = table == null ? null : table.builders(io, opened, json, wait);
      try (Output out = io.output()) {
        return logs.each(
            opened,
            io,
            out,
            log -> {
              if (tables == null) {
                build(log, out);
              } else {
                tables.build(log, out);
              }
            });
      } catch (InterruptedException e) {
        if (!io.stop().requested()) {
          throw e;
        }
        return io.stop().exitCode();
      }
    }

    private void build(Log log, Output out) throws IOException {
      var progress = new Progress(io);
      Aggregator.Result r;
      try {
        r =
            new Aggregator(
                    log,
                    Aggregator.Limits.DEFAULT,
                    n -> progress.show(n, " messages of " + log.name()))
                .run(wait);
      } finally {
        progress.end();
      }
      if (r.published() > 0 || json.json) {
        json.print(
            out,
            "%s: %d segment%s up to number %d through %s (%d messages, %d bytes)"
                .formatted(
                    log.name(),
                    r.published(),
                    r.published() == 1 ? "" : "s",
                    r.lastSegment(),
                    Moment.text(r.to()),
                    r.messages(),
                    r.bytes()),
            line ->
                line.text("log", log.name().toString())
                    .number("segments", r.published())
                    .number("messages", r.messages())
                    .number("bytes", r.bytes())
                    .number("lastSegment", r.lastSegment())
                    .timeIfAny("coveredThrough", r.to()));
      } else if (io.terminal()) {
        io.say(
            "cinch view build",
            log.name()
                + ": nothing to build yet; segments go through "
                + (r.lastSegment() == 0 ? "no time" : Moment.text(r.to()))
                + ", and the next one waits until what it begins with is old enough (--wait 0s:"
                + " now)");
      }
    }
  }

  @Command(
      name = "cat",
      description = {
        "Print a log's settled messages in order: the same bytes as cinch cat.",
        "Both read segments as far as a checkpoint names them, and buckets after that. The exit code"
            + " is that of cinch cat, too."
      },
      footer = {"", "Example:", "  cinch view cat --log jobs --json"})
  @SuppressWarnings("NullAway.Init")
  static final class Cat implements Callable<Integer> {
    private final Io io;

    @Mixin StoreOptions store;

    @Option(names = "--log", required = true, paramLabel = "NAME", description = "The log.")
    LogName log;

    @Mixin TimeRange range;

    @Option(names = "--cut", paramLabel = "N", description = CutReading.HELP)
    @Nullable String cut;

    @Mixin PrintOptions printing;

    Cat(Io io) {
      this.io = io;
    }

    @Override
    public Integer call() throws IOException {
      range.check();
      if (cut != null) {
        CutReading.check(range, false, "");
      }
      Store in = store.open();
      @Nullable CutReading of = cut == null ? null : CutReading.of(in, cut);
      Log opened = of == null ? in.log(log) : of.open(log, range.start());
      long end = of == null ? range.end() : of.time();
      var ignored = new IgnoredMessages(io, "cinch view cat");
      try (Output out = io.output()) {
        out.ifClosed(ExitCode.GOOD);
        MessageSink sink = ignored.watched(printing.sink(out, () -> log, false));
        opened.reader().settled(range.start(), end, sink, ignored);
      }
      if (of != null) {
        Log unused = of.open(log, range.start()); // or some of it expired meanwhile
        return ignored.end();
      }
      if (ignored.none()) {
        NothingThere.tell(io, "cinch view cat", opened, range, false);
      }
      OldMessages.tell(opened.reader(), range, io, "cinch view cat", "");
      return ignored.end();
    }
  }

  @Command(
      name = "sql",
      description = {
        "Print lines to paste into DuckDB, Spark, Polars and pandas that read a log's table.",
        "Each sorts by time_ns and tie: that is the order of cinch cat."
      },
      footer = {"", "Example:", "  cinch view sql --log jobs"})
  @SuppressWarnings("NullAway.Init")
  static final class Sql implements Callable<Integer> {
    private static final String LINES =
        """
        -- DuckDB
        CREATE TEMP TABLE actions AS SELECT * FROM read_json('%1$s/_delta_log/*.json',
          format = 'newline_delimited', columns = {"add": 'STRUCT(path VARCHAR)', "remove": 'STRUCT(path VARCHAR)'});
        SET VARIABLE files = (SELECT list('%1$s/' || "add".path) FROM actions WHERE "add".path IS NOT NULL
          AND "add".path NOT IN (SELECT "remove".path FROM actions WHERE "remove".path IS NOT NULL));
        SELECT * FROM read_parquet(getvariable('files'))%2$s ORDER BY time_ns, tie;

        # Spark, with delta-spark
        spark.read.format("delta").load("%6$s")%3$s.orderBy("time_ns", "tie").show()

        # Polars, with deltalake
        polars.read_delta("%1$s")%4$s.sort("time_ns", "tie")

        # pandas, with deltalake
        deltalake.DeltaTable("%1$s").to_pandas()%5$s.sort_values(["time_ns", "tie"])
        """;

    private final Io io;

    @Mixin StoreOptions store;

    @Option(names = "--log", required = true, paramLabel = "NAME", description = "The log.")
    LogName log;

    @Option(names = "--latest", description = "The table of the last message of each key.")
    boolean latest;

    @Option(
        names = "--cut",
        paramLabel = "N",
        description = "Lines that read what lies before the time of this cut; last: the newest.")
    @Nullable String cut;

    Sql(Io io) {
      this.io = io;
    }

    @Override
    public Integer call() throws IOException {
      if (latest && cut != null) {
        throw new Misuse("--latest is one state, and no instant of it is kept; leave out --cut");
      }
      Store opened = store.open();
      @Nullable CutReading of = cut == null ? null : CutReading.of(opened, cut);
      Log from = of == null ? opened.log(log) : of.open(log, Long.MIN_VALUE);
      TableFiles table =
          TableFiles.of(from, latest)
              .orElseThrow(
                  () ->
                      new Failure.Refusal(
                          "\"%s\" has no such table: make one with cinch view build %s --log %s"
                              .formatted(log, latest ? "--latest-by PATH" : "--table", log)));
      LogLayout layout = from.context().layout();
      Name root = (latest ? layout.latest() : layout.table()).root();
      String path =
          root.isDirectory() ? root.path().toAbsolutePath().normalize().toString() : root.text();
      String hadoop = path.replaceFirst("^s3:", "s3a:");
      String[] limits = of == null ? new String[] {"", "", "", ""} : limits(of, table);
      try (Output out = io.output()) {
        out.text(LINES.formatted(path, limits[0], limits[1], limits[2], limits[3], hadoop));
      }
      return ExitCode.GOOD;
    }

    private String[] limits(CutReading of, TableFiles table) {
      if (table.through() < of.time()) {
        io.say(
            "cinch view sql",
            "the table of %s goes through %s; run cinch view build --table --wait 0s first"
                .formatted(log, Moment.text(table.through())));
      }
      return new String[] {
        " WHERE time_ns < " + of.time(),
        ".where(\"time_ns < %d\")".formatted(of.time()),
        ".filter(polars.col(\"time_ns\") < %d)".formatted(of.time()),
        ".query(\"time_ns < %d\")".formatted(of.time())
      };
    }
  }
}
