package dev.cinch.sql;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.cinch.bag.model.LogName;
import dev.cinch.view.SqlEngine.Answer;
import dev.cinch.view.SqlEngine.Limits;
import dev.cinch.view.SqlEngine.Session;
import dev.cinch.view.SqlEngine.Source;
import dev.cinch.view.SqlEngine.StatementException;
import dev.cinch.view.TableFiles;
import java.io.IOException;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A database in memory that has a view of each log, and from which no statement reaches a file, the
 * network or an extension. Each statement is one transaction: so its plan, which says what to read,
 * and its run have the same {@code now()}.
 */
final class DuckDbSession implements Session {
  /** Null for what is no JSON, where DuckDB's own operator fails the statement. */
  private static final String OPERATOR =
      "CREATE MACRO \"->>\"(a, b) AS TRY(json_extract_string(a, b))";

  /** What the driver says in place of a reason. */
  private static final String NO_REASON = "Invalid result set";

  private static final Pattern EXPLAIN =
      Pattern.compile("(?i)^\\s*EXPLAIN\\s+(ANALYZE\\s+)?([(][^)]*[)]\\s*)?");

  private static final Pattern NO_TABLE =
      Pattern.compile("(?s)Catalog Error: Table with name (.*?) does not exist!.*");

  /** An error within another one, in JSON. */
  private static final Pattern WITHIN =
      Pattern.compile("(?s)(\\w+ Error: ).*\"exception_message\":\"((?:[^\"\\\\]|\\\\.)*)\".*");

  private static final String NO_FILE = "IO Error: No files found that match the pattern ";

  private static final Pattern NOT_ITS_FAULT =
      Pattern.compile("(Out of Memory|IO|Fatal|INTERNAL|Invalid Configuration) Error");

  private final Source source;
  private final Connection connection;
  private final List<LogTable> tables = new ArrayList<>();

  /** Those whose view has a table in it while a statement runs. */
  private final List<LogTable> tabled = new ArrayList<>();

  private Reading reading;
  private volatile @Nullable Statement running;
  private volatile boolean cancelled;

  DuckDbSession(Source source, Limits limits) throws IOException {
    this.source = source;
    this.reading = new Reading(source, Map.of());
    var settings = new Properties();
    settings.setProperty("jdbc_stream_results", "true");
    settings.setProperty("memory_limit", Math.max(1, limits.memory() / 1000) + "KB");
    settings.setProperty("threads", "" + limits.threads());
    settings.setProperty("temp_directory", limits.scratch().toString());
    settings.setProperty("autoinstall_known_extensions", "false");
    settings.setProperty("autoload_known_extensions", "false");
    try {
      connection = DriverManager.getConnection("jdbc:duckdb:", settings);
    } catch (SQLException e) {
      throw failed(e);
    }
    try (Statement statement = connection.createStatement()) {
      statement.execute("SET TimeZone = 'UTC'");
      var places = new ArrayList<String>();
      for (LogName log : source.logs()) {
        var table = new LogTable("cinch_log_" + tables.size(), log, () -> reading);
        tables.add(table);
        table.register(connection);
        define(log, table.view());
        places.add(literal(source.store().context().layout().log(log).table().root() + "/"));
      }
      statement.execute(OPERATOR);
      List<String> files = limits.files().stream().map(file -> literal(file.toString())).toList();
      statement.execute("SET allowed_paths = " + files);
      if (source.tables() && isOnFiles()) {
        statement.execute("SET allowed_directories = " + places);
      }
      statement.execute("SET enable_external_access = false");
      statement.execute("SET lock_configuration = true");
    } catch (SQLException e) {
      close();
      throw failed(e);
    }
  }

  private static String literal(String text) {
    return "'" + text.replace("'", "''") + "'";
  }

  @Override
  public Answer run(String statement) throws IOException {
    cancelled = false;
    try {
      connection.setAutoCommit(false);
      reading = new Reading(source, Map.of());
      Map<String, TimeBounds> bounds = bounds(statement);
      List<LogName> logs = reading.logs();
      reading = new Reading(source, bounds);
      readTables(logs);
      PreparedStatement prepared = connection.prepareStatement(statement);
      running = prepared;
      boolean rows = prepared.execute();
      return new DuckDbAnswer(this, prepared, rows ? prepared.getResultSet() : null);
    } catch (SQLException e) {
      IOException failure = failed(told(e, statement));
      end(null);
      throw failure;
    }
  }

  /** Whether the engine can read what the store has: it reaches no other storage. */
  private boolean isOnFiles() {
    return source.store().context().layout().root().isDirectory();
  }

  /**
   * Has the logs of a statement read from their tables as far as these go, with their columns.
   * Where the engine does not reach the tables it makes these columns from the log.
   */
  private void readTables(List<LogName> logs) throws IOException, SQLException {
    if (logs.isEmpty() || !source.tables()) {
      return;
    }
    logs.forEach(reading::bind);
    reading.begin();
    for (LogTable log : tables) {
      Optional<TableFiles> files =
          logs.contains(log.log())
              ? TableFiles.of(reading.opened(log.log()), false)
              : Optional.<TableFiles>empty();
      if (files.isPresent()) {
        TableFiles table = files.get();
        tabled.add(log);
        if (!isOnFiles()) {
          define(log.log(), log.view(table.columns()));
          continue;
        }
        long expired = reading.opened(log.log()).reader().expired();
        long to = Math.min(reading.through(), table.through());
        define(log.log(), log.view(table, Math.max(source.from(), expired), to));
        reading.tabled(log.log(), table.through());
      }
    }
  }

  private void define(LogName log, String query) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute("CREATE OR REPLACE VIEW \"%s\" AS %s".formatted(log, query));
    }
  }

  /** What the plan says; nothing where there is none, of which running the statement tells. */
  private Map<String, TimeBounds> bounds(String statement) throws SQLException {
    String explained = EXPLAIN.matcher(statement).replaceFirst("");
    try (Statement explain = connection.createStatement();
        ResultSet plan = explain.executeQuery("EXPLAIN (FORMAT json) " + explained)) {
      if (plan.next() && plan.getMetaData().getColumnCount() == 2) {
        return TimeBounds.of(new ObjectMapper().readTree(plan.getString(2)));
      }
    } catch (SQLException | JsonProcessingException e) {
      connection.rollback();
    }
    return Map.of();
  }

  /** The statement has ended. */
  void end(@Nullable PreparedStatement prepared) {
    running = null;
    try {
      if (prepared != null) {
        prepared.close();
      }
      for (LogTable log : tabled) {
        define(log.log(), log.view()); // what the table had was for this statement alone
      }
      connection.commit();
    } catch (SQLException e) {
      try {
        connection.rollback();
      } catch (SQLException more) {
        e.addSuppressed(more);
      }
    }
    tabled.clear();
  }

  /** What a failure of DuckDB means: what it read may have failed, or have been given up. */
  IOException failed(SQLException e) {
    IOException own = reading.failure();
    if (own != null) {
      return own;
    }
    if (cancelled) {
      return new StatementException("interrupted", false);
    }
    String text = plain(String.valueOf(e.getMessage()));
    if (text.contains(NO_REASON)) {
      return new StatementException(
          "the statement failed, and DuckDB does not say why: most likely it lacks memory, or room"
              + " for what does not fit there",
          false);
    }
    Matcher missing = NO_TABLE.matcher(text);
    if (missing.matches()) {
      text = "there is no log \"%s\" in %s".formatted(missing.group(1), place());
    } else if (text.startsWith(NO_FILE)) {
      text =
          "IO Error: a file of a table is gone: %s; remove that table's directory and build it anew"
              .formatted(text.substring(NO_FILE.length()));
    } else if (text.startsWith("Parser Error")) {
      text += "; a name with other characters than letters and digits stands in quotes: \"my-log\"";
    }
    return new StatementException(text, !NOT_ITS_FAULT.matcher(text).lookingAt());
  }

  /**
   * A message of DuckDB without the statement, and without the errors around the one that counts.
   */
  static String plain(String message) {
    String text = message.replaceFirst("(?s)\\s*LINE \\d+:.*", "").strip();
    Matcher within = WITHIN.matcher(text);
    return within.matches() ? within.group(1) + within.group(2).replace("\\\"", "\"") : text;
  }

  private Object place() {
    return source.store().context().layout().root();
  }

  /** The driver loses the message where rows that it would stream fail before there is one. */
  private SQLException told(SQLException e, String statement) {
    if (!String.valueOf(e.getMessage()).contains(NO_REASON) || cancelled) {
      return e;
    }
    try (Statement again = connection.createStatement()) {
      connection.rollback();
      again.execute("EXPLAIN ANALYZE " + statement);
      return e;
    } catch (SQLException told) {
      return told;
    }
  }

  @Override
  public void cancel() {
    Statement now = running;
    if (now != null) {
      cancelled = true;
      try {
        now.cancel();
      } catch (SQLException e) {
        // It ended by itself.
      }
    }
  }

  @Override
  public long readThrough() {
    return reading.through();
  }

  @Override
  public long read() {
    return reading.read();
  }

  @Override
  public void close() throws IOException {
    try {
      connection.close();
    } catch (SQLException e) {
      throw new IOException("the database in memory does not close: " + e.getMessage(), e);
    }
  }
}
