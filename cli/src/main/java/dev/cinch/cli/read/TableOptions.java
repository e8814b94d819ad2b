package dev.cinch.cli.read;

import dev.cinch.bag.Log;
import dev.cinch.bag.Store;
import dev.cinch.cli.base.Converters.Moment;
import dev.cinch.cli.base.Io;
import dev.cinch.cli.base.JsonOption;
import dev.cinch.cli.base.Misuse;
import dev.cinch.cli.base.Output;
import dev.cinch.view.SqlEngine;
import dev.cinch.view.TableBuilder;
import dev.cinch.view.TableBuilder.Settings;
import dev.cinch.view.TableColumn;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Option;

/** What to build of tables that other engines read. */
@SuppressWarnings("NullAway.Init") // picocli sets the fields
final class TableOptions {
  private static final String NAME = "cinch view build";

  @Option(
      names = "--table",
      required = true,
      description =
          "Build tables in place of segments: Parquet files and a log of Delta Lake, in the"
              + " directory table of each log.")
  boolean table;

  @Option(
      names = "--column",
      paramLabel = "NAME=PATH:TYPE",
      description =
          "A column out of payloads in JSON, like price=$.price:double; again for each. A table"
              + " keeps those that it was made with.")
  List<String> columns = new ArrayList<>();

  /** The builders of a store's logs. */
  Builders builders(Io io, Store store, JsonOption json, Duration wait) throws IOException {
    var parsed = new ArrayList<TableColumn>();
    for (String column : columns) {
      try {
        parsed.add(TableColumn.parse(column));
      } catch (IllegalArgumentException e) {
        throw new Misuse("" + e.getMessage(), e);
      }
    }
    return new Builders(io, store, SqlCommand.engine(), json, wait, parsed);
  }

  /** Builds tables of one store. */
  record Builders(
      Io io,
      Store store,
      SqlEngine engine,
      JsonOption json,
      Duration age,
      List<TableColumn> columns) {
    private static final long MEMORY = 1L << 30;

    void build(Log log, Output out) throws IOException {
      var ignored = new IgnoredMessages(io, NAME);
      var settings =
          new Settings(
              engine,
              MEMORY,
              Path.of(System.getProperty("java.io.tmpdir")),
              Settings.FILE_BYTES,
              ignored);
      var builder = new TableBuilder(store, log, settings);
      TableBuilder.Result r;
      try (var watch = new Watch(io, builder::progress, " messages of " + log.name())) {
        r = builder.run(columns, age);
      } catch (IllegalArgumentException e) {
        throw new Misuse("" + e.getMessage(), e);
      }
      if (r.unparsed() > 0) {
        io.say(NAME, log.name() + ": " + r.unparsed() + " values are of no column's type: null");
      }
      if (r.files() + r.removed() > 0 || json.json) {
        json.print(
            out,
            "%s: %d file%s added (%d messages, %d bytes), %d removed; version %d through %s"
                .formatted(
                    log.name(),
                    r.files(),
                    r.files() == 1 ? "" : "s",
                    r.messages(),
                    r.bytes(),
                    r.removed(),
                    r.version(),
                    r.to() == Long.MIN_VALUE ? "no time" : Moment.text(r.to())),
            line ->
                line.text("log", log.name().toString())
                    .number("files", r.files())
                    .number("messages", r.messages())
                    .number("bytes", r.bytes())
                    .number("removed", r.removed())
                    .number("unparsed", r.unparsed())
                    .number("version", r.version())
                    .timeIfAny("tableThrough", r.to()));
      }
    }
  }
}
