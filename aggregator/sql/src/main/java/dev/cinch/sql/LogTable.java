package dev.cinch.sql;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;

import dev.cinch.bag.model.DataFileName;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.Message;
import dev.cinch.bag.read.LogCursor;
import dev.cinch.lease.SignedWitness;
import dev.cinch.view.TableColumn;
import dev.cinch.view.TableFiles;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.CharsetDecoder;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.duckdb.DuckDBColumnType;
import org.duckdb.DuckDBDataChunkWriter;
import org.duckdb.DuckDBFunctions;
import org.duckdb.DuckDBTableFunction;
import org.duckdb.DuckDBTableFunctionBindInfo;
import org.duckdb.DuckDBTableFunctionBuilder;
import org.duckdb.DuckDBTableFunctionCallInfo;
import org.duckdb.DuckDBTableFunctionInitInfo;
import org.duckdb.DuckDBTableFunctionState;
import org.duckdb.DuckDBWritableVector;
import org.jspecify.annotations.Nullable;

/**
 * A log as a function of DuckDB that gives its messages in order. Columns that a statement does not
 * name are not made. The driver takes neither binary nor list columns from such a function, and
 * times only as objects: {@link #view} makes these of what it takes.
 */
final class LogTable implements DuckDBTableFunction<Reading, LogTable.Scan, Object> {
  /** A log as users see it, of its function's name, and with columns of its table. */
  private static final String VIEW =
      """
      SELECT make_timestamptz(time_ns // 1000) AS time, time_ns, tie, machine,
        CASE names WHEN '' THEN []::VARCHAR[] ELSE string_split(names, chr(10)) END AS leases,
        generation, payload,
        CASE WHEN payload IS NULL THEN from_base64(base64) ELSE encode(payload) END AS bytes%s
      FROM %s()""";

  /** What stands in a table of it, from a time on and before another. */
  private static final String TABLE =
      """
      SELECT time, time_ns, tie, machine, leases, generation, payload,
        CASE WHEN payload IS NULL THEN bytes ELSE encode(payload) END AS bytes%s
      FROM read_parquet([%s])
      %s
      UNION ALL
      """;

  /** What the function gives, in the order of the constants below. */
  private static final List<String> COLUMNS =
      List.of("time_ns", "tie", "machine", "names", "generation", "payload", "base64");

  private static final int TIME_NS = 0;
  private static final int TIE = 1;
  private static final int MACHINE = 2;
  private static final int NAMES = 3;
  private static final int GENERATION = 4;
  private static final int PAYLOAD = 5;
  private static final int BASE64 = 6;

  /** Bytes of payload after which a chunk is full, however few messages they are. */
  private static final int FULL = 1 << 24;

  private final String name;
  private final LogName log;
  private final Supplier<Reading> statement;

  /**
   * @param name of the function
   * @param statement the one that is being run
   */
  LogTable(String name, LogName log, Supplier<Reading> statement) {
    this.name = name;
    this.log = log;
    this.statement = statement;
  }

  void register(Connection connection) throws SQLException {
    try (DuckDBTableFunctionBuilder function = DuckDBFunctions.tableFunction()) {
      var unused =
          function.withName(name).withProjectionPushdown().withFunction(this).register(connection);
    }
  }

  /** The query that is the log as users see it. */
  String view() {
    return view(List.of());
  }

  /** The same, with columns that its table has. */
  String view(List<TableColumn> columns) {
    return VIEW.formatted(TableColumn.definitions(columns), name);
  }

  /**
   * The same, with what the table has in place of what the log has.
   *
   * @param from nanoseconds since the Unix epoch
   * @param to nothing from this time on is wanted
   */
  String view(TableFiles table, long from, long to) {
    String files =
        table.files().stream()
            .map(file -> "'" + file.text().replace("'", "''") + "'")
            .collect(Collectors.joining(", "));
    String columns =
        table.columns().stream()
            .map(column -> ", \"" + column.name() + '"')
            .collect(Collectors.joining());
    // Where that takes nothing away, the engine counts rows without reading them.
    String range =
        table.first() >= from && table.last() < to
            ? ""
            : "WHERE time_ns >= %d AND time_ns < %d".formatted(from, to);
    String before = files.isEmpty() ? "" : TABLE.formatted(columns, files, range);
    return before + view(table.columns());
  }

  LogName log() {
    return log;
  }

  @Override
  public Reading bind(DuckDBTableFunctionBindInfo info) {
    for (int i = 0; i < COLUMNS.size(); i++) {
      info.addResultColumn(
          COLUMNS.get(i),
          switch (i) {
            case TIME_NS, TIE, GENERATION -> DuckDBColumnType.BIGINT;
            default -> DuckDBColumnType.VARCHAR;
          });
    }
    Reading reading = statement.get();
    reading.bind(log);
    return reading;
  }

  @Override
  public Scan init(DuckDBTableFunctionInitInfo info) throws IOException {
    info.setMaxThreads(1); // the messages come in order
    Reading reading = info.getBindData();
    int[] columns = new int[(int) info.getColumnCount()];
    Arrays.setAll(columns, i -> (int) info.getColumnIndex(i));
    try {
      return new Scan(reading, reading.scan(name, log), columns);
    } catch (IOException e) {
      reading.fail(e);
      throw e;
    }
  }

  @Override
  public long apply(DuckDBTableFunctionCallInfo info, DuckDBDataChunkWriter chunk)
      throws IOException {
    Scan scan = info.getInitData();
    try {
      return scan.fill(chunk);
    } catch (IOException e) {
      scan.reading.fail(e);
      throw e;
    }
  }

  /** One pass over the log. Not thread-safe. */
  static final class Scan implements DuckDBTableFunctionState {
    private static final byte[] @Nullable [] NONE = new byte[0][];

    private final Reading reading;
    private final LogCursor messages;
    private final int[] columns;
    private final CharsetDecoder decoder = UTF_8.newDecoder();
    private final @Nullable DuckDBWritableVector[] vectors;

    /** Of each column with text, that of the chunk's messages. */
    private final byte[] @Nullable [][] texts;

    private long lastTimestamp = Long.MIN_VALUE;
    private long tie;
    private @Nullable DataFileName file;
    private byte[] machine = {};
    private @Nullable List<SignedWitness> leases;
    private byte[] names = {};
    private boolean ended;

    Scan(Reading reading, LogCursor messages, int[] columns) {
      this.reading = reading;
      this.messages = messages;
      this.columns = columns;
      this.vectors = new DuckDBWritableVector[columns.length];
      this.texts = new byte[columns.length][][];
    }

    long fill(DuckDBDataChunkWriter chunk) throws IOException {
      int room = (int) chunk.capacity();
      for (int i = 0; i < columns.length; i++) {
        vectors[i] = chunk.vector(i);
        texts[i] = isText(columns[i]) ? new byte[room][] : NONE;
      }
      int count = 0;
      long bytes = 0;
      while (count < room && bytes < FULL && !ended) {
        Message m = messages.next();
        if (m == null) {
          ended = true;
          messages.end();
        } else {
          put(count++, m);
          bytes += m.length();
        }
      }
      for (int i = 0; i < columns.length; i++) {
        if (isText(columns[i])) {
          vectors[i].setStringUtf8Batch(0, Arrays.copyOf(texts[i], count));
        }
      }
      reading.add(count);
      return count;
    }

    private static boolean isText(int column) {
      return column == MACHINE || column == NAMES || column == PAYLOAD || column == BASE64;
    }

    private void put(int row, Message m) throws IOException {
      long timestamp = m.timestamp();
      tie = timestamp == lastTimestamp ? tie + 1 : 0;
      lastTimestamp = timestamp;
      byte[] payload = null;
      boolean text = false;
      for (int i = 0; i < columns.length; i++) {
        int column = columns[i];
        if ((column == PAYLOAD || column == BASE64) && payload == null) {
          payload = m.payload();
          text = isUtf8(payload);
        }
        switch (column) {
          case TIME_NS -> vectors[i].setLong(row, timestamp);
          case TIE -> vectors[i].setLong(row, tie);
          case MACHINE -> texts[i][row] = machine(m.file());
          case NAMES -> texts[i][row] = names(m.leases());
          case GENERATION -> generation(vectors[i], row, m.leases());
          case PAYLOAD -> texts[i][row] = text ? payload : null;
          default -> texts[i][row] = text ? null : Base64.getEncoder().encode(payload);
        }
      }
    }

    private byte[] machine(DataFileName of) {
      if (of != file) { // by identity: mostly it is the same object
        file = of;
        machine = of.machine().value().getBytes(US_ASCII);
      }
      return machine;
    }

    private byte[] names(List<SignedWitness> of) {
      if (of != leases) {
        leases = of;
        names =
            of.stream()
                .map(s -> s.witness().name().value())
                .collect(Collectors.joining("\n"))
                .getBytes(UTF_8);
      }
      return names;
    }

    private static void generation(DuckDBWritableVector to, int row, List<SignedWitness> leases) {
      if (leases.isEmpty()) {
        to.setNull(row);
      } else {
        to.setLong(row, leases.get(0).witness().generation());
      }
    }

    private boolean isUtf8(byte[] bytes) {
      int i = 0;
      while (i < bytes.length && bytes[i] >= 0) {
        i++;
      }
      if (i == bytes.length) {
        return true;
      }
      try {
        decoder.decode(ByteBuffer.wrap(bytes, i, bytes.length - i));
        return true;
      } catch (CharacterCodingException e) {
        return false;
      }
    }

    @Override
    public void close() throws IOException {
      messages.close();
    }
  }
}
