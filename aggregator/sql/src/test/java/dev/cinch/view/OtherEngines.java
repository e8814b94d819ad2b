package dev.cinch.view;

import io.delta.kernel.Scan;
import io.delta.kernel.Snapshot;
import io.delta.kernel.TableManager;
import io.delta.kernel.data.ColumnarBatch;
import io.delta.kernel.data.FilteredColumnarBatch;
import io.delta.kernel.data.Row;
import io.delta.kernel.defaults.engine.DefaultEngine;
import io.delta.kernel.engine.Engine;
import io.delta.kernel.engine.FileReadResult;
import io.delta.kernel.internal.InternalScanFileUtils;
import io.delta.kernel.internal.data.ScanStateRow;
import io.delta.kernel.internal.util.Utils;
import io.delta.kernel.utils.CloseableIterator;
import java.io.IOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.apache.hadoop.conf.Configuration;

/** Reads a table as those do who know nothing of Cinch: a line for each message, in order. */
final class OtherEngines {
  private OtherEngines() {}

  /** Plain DuckDB, over the files that the commits name. */
  static List<String> duckDb(Path table, String columns) throws SQLException {
    String commits = table.resolve("_delta_log") + "/*.json";
    String names =
        "SELECT \"add\".path FROM c WHERE \"add\".path IS NOT NULL AND \"add\".path NOT IN"
            + " (SELECT remove.path FROM c WHERE remove.path IS NOT NULL)";
    var lines = new ArrayList<String>();
    try (Connection connection = DriverManager.getConnection("jdbc:duckdb:");
        Statement statement = connection.createStatement()) {
      statement.execute("SET TimeZone = 'UTC'");
      statement.execute(
          "CREATE TABLE c AS SELECT * FROM read_json('%s', format = 'newline_delimited', columns = {\"add\": 'STRUCT(path VARCHAR)', \"remove\": 'STRUCT(path VARCHAR)'})"
              .formatted(commits));
      var files = new ArrayList<String>();
      try (ResultSet found = statement.executeQuery(names)) {
        while (found.next()) {
          files.add("'" + table.resolve(found.getString(1)) + "'");
        }
      }
      if (files.isEmpty()) {
        return lines;
      }
      try (ResultSet rows =
          statement.executeQuery(
              "SELECT concat_ws(' ', %s) FROM read_parquet(%s) ORDER BY time_ns, tie"
                  .formatted(columns, files))) {
        while (rows.next()) {
          lines.add(rows.getString(1));
        }
      }
    }
    return lines;
  }

  /** The kernel of Delta Lake. Its order is that of the files. */
  static List<String> deltaKernel(Path table) throws IOException {
    Engine engine = DefaultEngine.create(new Configuration());
    Snapshot snapshot = TableManager.loadSnapshot(table.toString()).build(engine);
    Scan scan = snapshot.getScanBuilder().build();
    Row state = scan.getScanState(engine);
    var found = new ArrayList<Row>();
    try (CloseableIterator<FilteredColumnarBatch> batches = scan.getScanFiles(engine)) {
      while (batches.hasNext()) {
        try (CloseableIterator<Row> rows = batches.next().getRows()) {
          while (rows.hasNext()) {
            found.add(rows.next());
          }
        }
      }
    }
    var lines = new ArrayList<Object[]>();
    for (Row file : found) {
      CloseableIterator<FileReadResult> read =
          engine
              .getParquetHandler()
              .readParquetFiles(
                  Utils.singletonCloseableIterator(InternalScanFileUtils.getAddFileStatus(file)),
                  ScanStateRow.getPhysicalDataReadSchema(state),
                  Optional.empty());
      CloseableIterator<ColumnarBatch> data = read.map(FileReadResult::getData);
      try (CloseableIterator<FilteredColumnarBatch> logical =
          Scan.transformPhysicalData(engine, state, file, data)) {
        while (logical.hasNext()) {
          try (CloseableIterator<Row> rows = logical.next().getRows()) {
            while (rows.hasNext()) {
              lines.add(line(rows.next()));
            }
          }
        }
      }
    }
    lines.sort(
        (a, b) ->
            a[0].equals(b[0])
                ? Long.compare((long) a[1], (long) b[1])
                : Long.compare((long) a[0], (long) b[0]));
    return lines.stream().map(l -> "" + l[2]).toList();
  }

  private static Object[] line(Row row) {
    List<String> names = row.getSchema().fieldNames();
    long time = row.getLong(names.indexOf("time_ns"));
    long tie = row.getLong(names.indexOf("tie"));
    int payload = names.indexOf("payload");
    String text =
        row.isNullAt(payload)
            ? Arrays.toString(row.getBinary(names.indexOf("bytes")))
            : row.getString(payload);
    long micros = row.getLong(names.indexOf("time"));
    return new Object[] {
      time,
      tie,
      micros + " " + time + " " + tie + " " + row.getString(names.indexOf("machine")) + " " + text
    };
  }
}
