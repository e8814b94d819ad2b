package dev.cinch.sql;

import dev.cinch.view.SqlEngine.Answer;
import java.io.IOException;
import java.sql.Array;
import java.sql.Blob;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Timestamp;
import java.sql.Types;
import java.time.OffsetDateTime;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.duckdb.DuckDBStruct;
import org.jspecify.annotations.Nullable;

/** The rows of a statement, as they are asked for. Not thread-safe. */
final class DuckDbAnswer implements Answer {
  private final DuckDbSession session;
  private final PreparedStatement statement;
  private final @Nullable ResultSet rows;
  private final List<String> columns = new ArrayList<>();
  private final List<Boolean> numbers = new ArrayList<>();

  DuckDbAnswer(DuckDbSession session, PreparedStatement statement, @Nullable ResultSet rows)
      throws SQLException {
    this.session = session;
    this.statement = statement;
    this.rows = rows;
    if (rows != null) {
      ResultSetMetaData all = rows.getMetaData();
      for (int i = 1; i <= all.getColumnCount(); i++) {
        columns.add(all.getColumnLabel(i));
        numbers.add(isNumber(all, i));
      }
    }
  }

  private static boolean isNumber(ResultSetMetaData all, int column) throws SQLException {
    return switch (all.getColumnType(column)) {
      case Types.TINYINT,
          Types.SMALLINT,
          Types.INTEGER,
          Types.BIGINT,
          Types.FLOAT,
          Types.REAL,
          Types.DOUBLE,
          Types.DECIMAL,
          Types.NUMERIC ->
          true;
      default -> all.getColumnTypeName(column).endsWith("INT"); // as HUGEINT
    };
  }

  @Override
  public List<String> columns() {
    return columns;
  }

  @Override
  public boolean isNumber(int column) {
    return numbers.get(column);
  }

  @Override
  public boolean next() throws IOException {
    try {
      return rows != null && rows.next();
    } catch (SQLException e) {
      throw session.failed(e);
    }
  }

  @Override
  public @Nullable Object value(int column) throws IOException {
    if (rows == null) {
      throw new IllegalStateException("there are no rows");
    }
    try {
      return plain(rows.getObject(column + 1));
    } catch (SQLException e) {
      throw session.failed(e);
    }
  }

  private static @Nullable Object plain(@Nullable Object value) throws SQLException {
    if (value instanceof Array array) {
      var list = new ArrayList<@Nullable Object>();
      for (Object one : (Object[]) array.getArray()) {
        list.add(plain(one));
      }
      return list;
    }
    if (value instanceof DuckDBStruct struct) {
      return plain(struct.getMap());
    }
    if (value instanceof Map<?, ?> map) {
      var named = new LinkedHashMap<String, @Nullable Object>();
      for (Map.Entry<?, ?> entry : map.entrySet()) {
        named.put(String.valueOf(plain(entry.getKey())), plain(entry.getValue()));
      }
      return named;
    }
    if (value instanceof Blob blob) {
      return blob.getBytes(1, (int) blob.length());
    }
    if (value instanceof OffsetDateTime time) {
      return time.toInstant();
    }
    if (value instanceof Timestamp time) {
      return DateTimeFormatter.ISO_LOCAL_DATE_TIME.format(time.toLocalDateTime());
    }
    if (value == null || value instanceof Boolean || value instanceof Number) {
      return value;
    }
    return value instanceof byte[] ? value : value.toString();
  }

  @Override
  public void close() {
    session.end(statement);
  }
}
