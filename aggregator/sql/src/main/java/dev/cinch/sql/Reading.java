package dev.cinch.sql;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.Log;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.read.LogCursor;
import dev.cinch.view.SqlEngine.Source;
import java.io.IOException;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * What one statement reads: its logs, through one instant, which is taken when the first of them is
 * scanned. DuckDB has bound all tables of a statement by then. Thread-safe.
 */
@CheckReturnValue
final class Reading {
  private final Source source;
  private final Map<String, TimeBounds> bounds;
  private final Map<LogName, @Nullable Log> bound = new LinkedHashMap<>();
  private final Map<LogName, Long> tables = new HashMap<>();
  private final AtomicLong read = new AtomicLong();
  private long cut = Long.MIN_VALUE;
  private long through = Long.MAX_VALUE;
  private boolean begun;
  private @Nullable IOException failure;

  /**
   * @param bounds of functions, by their names in capital letters; of others all times are wanted
   */
  Reading(Source source, Map<String, TimeBounds> bounds) {
    this.source = source;
    this.bounds = bounds;
  }

  /** Another table of the statement. */
  synchronized void bind(LogName log) {
    bound.putIfAbsent(log, null);
  }

  /** The logs that were bound so far. */
  synchronized List<LogName> logs() {
    return List.copyOf(bound.keySet());
  }

  /** Takes the instant, unless it was taken. */
  synchronized void begin() throws IOException {
    if (!begun) {
      begun = true;
      cut = source.live() ? Long.MAX_VALUE : cut();
      through = Math.min(cut, source.to());
    }
  }

  /**
   * Has what lies before a time read from a log's table.
   *
   * @param tabled that time
   */
  synchronized void tabled(LogName log, long tabled) {
    tables.put(log, tabled);
  }

  /** Begins a scan; to be closed. */
  synchronized LogCursor scan(String function, LogName name) throws IOException {
    begin();
    Log log = opened(name);
    TimeBounds wanted = bounds.getOrDefault(function.toUpperCase(Locale.ROOT), TimeBounds.ALL);
    long tabled = tables.getOrDefault(name, Long.MIN_VALUE);
    long from = Math.max(Math.max(source.from(), tabled), wanted.from());
    long to = Math.min(Math.min(source.to(), cut), wanted.to());
    LogCursor cursor = log.reader().cursor(from, to, source.live(), source.objection());
    try {
      long unused = cursor.look();
    } catch (IOException e) {
      cursor.close();
      throw e;
    }
    return cursor;
  }

  private long cut() throws IOException {
    long all = Long.MAX_VALUE;
    for (LogName name : List.copyOf(bound.keySet())) {
      all = Math.min(all, opened(name).reader().settledThrough());
    }
    return all;
  }

  synchronized Log opened(LogName name) throws IOException {
    Log log = bound.get(name);
    if (log == null) {
      log = source.store().log(name);
      bound.put(name, log);
    }
    return log;
  }

  /** The time through which all that was asked for was read. */
  synchronized long through() {
    return through;
  }

  void add(long messages) {
    read.addAndGet(messages);
  }

  long read() {
    return read.get();
  }

  /** What ends the statement, in place of what DuckDB makes of it; the first failure counts. */
  synchronized void fail(IOException e) {
    failure = failure == null ? e : failure;
  }

  synchronized @Nullable IOException failure() {
    return failure;
  }
}
