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
import dev.cinch.view.TableShape;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** What to build of tables that other engines read. */
@SuppressWarnings("NullAway.Init") // picocli sets the fields
final class TableOptions {
  private static final String NAME = "cinch view build";

  /** One file for each core, and no more than have room in the memory. */
  private static final int WORKERS = 4;

  @Option(
      names = "--table",
      description =
          "Build tables in place of segments: Parquet files and a log of Delta Lake, in the"
              + " directory table of each log.")
  boolean table;

  @Option(
      names = "--latest-by",
      paramLabel = "PATH",
      description =
          "Build a table of the last message of each key, in the directory latest of each log. PATH"
              + " is where the key stands in payloads in JSON, like $.key. A message in which all"
              + " else is null, or missing, takes its key out.")
  @Nullable String latest;

  @Option(
      names = "--column",
      paramLabel = "NAME=PATH:TYPE",
      description =
          "A column out of payloads in JSON, like price=$.price:double; again for each. A table"
              + " keeps those that it was made with.")
  List<String> columns = new ArrayList<>();

  /** The builders of a store's logs. */
  Builders builders(Io io, Store store, JsonOption json, Duration wait) throws IOException {
    var shapes = new ArrayList<TableShape>();
    try {
      List<TableColumn> parsed = columns.stream().map(TableColumn::parse).toList();
      if (table) {
        shapes.add(new TableShape(parsed, null));
      }
      if (latest != null) {
        shapes.add(new TableShape(parsed, latest));
      }
    } catch (IllegalArgumentException e) {
      throw new Misuse("" + e.getMessage(), e);
    }
    if (shapes.isEmpty()) {
      throw new Misuse("--column is for a table: name --table or --latest-by");
    }
    io.stop().listen();
    return new Builders(io, store, SqlCommand.engine(), json, wait, shapes);
  }

  /** Builds tables of one store. */
  record Builders(
      Io io,
      Store store,
      SqlEngine engine,
      JsonOption json,
      Duration age,
      List<TableShape> shapes) {
    private static final long MEMORY = 1L << 30;

    /**
     * @throws InterruptedException if a signal came; nothing of a file that was begun is left
     */
    void build(Log log, Output out) throws IOException, InterruptedException {
      for (TableShape shape : shapes) {
        if (io.stop().requested()) {
          throw new InterruptedException();
        }
        build(log, shape, out);
      }
    }

    private void build(Log log, TableShape shape, Output out)
        throws IOException, InterruptedException {
      var ignored = new IgnoredMessages(io, NAME);
      var settings =
          new Settings(
              engine,
              MEMORY,
              Path.of(System.getProperty("java.io.tmpdir")),
              Settings.FILE_BYTES,
              Math.min(WORKERS, Runtime.getRuntime().availableProcessors()),
              ignored);
      var builder = new TableBuilder(store, log, settings);
      io.stop().onRequest(builder::cancel);
      TableBuilder.Result r;
      try (var watch =
          new Watch(io, builder::progress, builder::planned, " messages of " + log.name())) {
        r = builder.run(shape, age);
      } catch (IllegalArgumentException e) {
        throw new Misuse("" + e.getMessage(), e);
      } catch (IOException e) {
        if (io.stop().requested()) {
          throw new InterruptedException();
        }
        throw e;
      }
      if (r.unparsed() > 0) {
        String values = r.unparsed() == 1 ? " value is" : " values are";
        io.say(NAME, log.name() + ": " + r.unparsed() + values + " of no column's type: null");
      }
      if (r.files() + r.removed() > 0 || json.json) {
        print(log, shape, r, out);
      }
    }

    private void print(Log log, TableShape shape, TableBuilder.Result r, Output out)
        throws IOException {
      String key = shape.key();
      json.print(
          out,
          "%s%s: %d file%s added (%d messages, %d bytes), %d removed; version %d through %s"
              .formatted(
                  log.name(),
                  key == null ? "" : " by " + key,
                  r.files(),
                  r.files() == 1 ? "" : "s",
                  r.messages(),
                  r.bytes(),
                  r.removed(),
                  r.version(),
                  r.to() == Long.MIN_VALUE ? "no time" : Moment.text(r.to())),
          line -> {
            line.text("log", log.name().toString());
            if (key != null) {
              line.text("latestBy", key);
            }
            line.number("files", r.files())
                .number("messages", r.messages())
                .number("bytes", r.bytes())
                .number("removed", r.removed())
                .number("unparsed", r.unparsed())
                .number("version", r.version())
                .timeIfAny("tableThrough", r.to());
          });
    }
  }
}
