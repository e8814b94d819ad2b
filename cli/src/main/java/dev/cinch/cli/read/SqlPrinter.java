package dev.cinch.cli.read;

import dev.cinch.cli.base.JsonLines;
import dev.cinch.cli.base.Output;
import dev.cinch.cli.base.Table;
import dev.cinch.lease.IsoTime;
import dev.cinch.lease.OneLine;
import dev.cinch.view.SqlEngine.Answer;
import java.io.IOException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Prints the rows that a statement gives. Not thread-safe. */
final class SqlPrinter {
  /** Rows that are held to see how wide columns are. */
  private static final int PAGE = 1000;

  private static final int WIDEST = 1000;

  /** What {@code EXPLAIN} gives: a drawing of many lines. */
  private static final List<String> PLAN = List.of("explain_key", "explain_value");

  private final Output out;
  private final Answer answer;
  private final List<String> columns;

  SqlPrinter(Output out, Answer answer) {
    this.out = out;
    this.answer = answer;
    this.columns = answer.columns();
  }

  void print(boolean json, boolean csv) throws IOException {
    if (json) {
      printJson();
    } else if (csv) {
      printCsv();
    } else if (columns.equals(PLAN)) {
      while (answer.next()) {
        out.line(String.valueOf(answer.value(1)));
      }
    } else {
      printTable();
    }
  }

  private @Nullable Object value(int column) throws IOException {
    Object value = answer.value(column);
    return value instanceof Instant time ? text(time) : value;
  }

  /** To the microsecond, as columns have it. */
  private static String text(Instant time) {
    return IsoTime.second(time.getEpochSecond()) + ".%06dZ".formatted(time.getNano() / 1000);
  }

  private void printJson() throws IOException {
    var lines = new JsonLines(out);
    while (answer.next()) {
      lines.object();
      for (int i = 0; i < columns.size(); i++) {
        lines.value(columns.get(i), value(i));
      }
      lines.end();
    }
  }

  private void printCsv() throws IOException {
    out.line(columns.stream().map(MessageCsv::quoted).collect(Collectors.joining(",")));
    while (answer.next()) {
      for (int i = 0; i < columns.size(); i++) {
        Object value = value(i);
        out.text(i == 0 ? "" : ",");
        out.text(value == null ? "" : MessageCsv.quoted(text(value)));
      }
      out.write('\n');
    }
  }

  private void printTable() throws IOException {
    boolean[] numbers = new boolean[columns.size()];
    for (int i = 0; i < numbers.length; i++) {
      numbers[i] = answer.isNumber(i);
    }
    var table = new Table(numbers);
    List<List<String>> page = new ArrayList<>();
    page.add(columns);
    long rows = 0;
    while (answer.next()) {
      rows++;
      List<String> row = new ArrayList<>();
      for (int i = 0; i < numbers.length; i++) {
        row.add(cell(value(i)));
      }
      page.add(row);
      if (page.size() == PAGE) {
        print(table, page);
      }
    }
    print(table, page);
    out.line("(" + rows + (rows == 1 ? " row)" : " rows)"));
  }

  private void print(Table table, List<List<String>> page) throws IOException {
    for (String line : table.lines(page)) {
      out.line(line);
    }
    page.clear();
  }

  private static String cell(@Nullable Object value) {
    return value == null ? "" : OneLine.of(text(value), WIDEST);
  }

  private static String text(@Nullable Object value) {
    if (value instanceof byte[] bytes) {
      return binary(bytes);
    }
    if (value instanceof List<?> list) {
      return list.stream().map(SqlPrinter::text).collect(Collectors.joining(", ", "[", "]"));
    }
    if (value instanceof Map<?, ?> map) {
      return map.entrySet().stream()
          .map(e -> e.getKey() + ": " + text(e.getValue()))
          .collect(Collectors.joining(", ", "{", "}"));
    }
    return String.valueOf(value);
  }

  /** As DuckDB writes and reads it: what is no printable ASCII by its number. */
  private static String binary(byte[] bytes) {
    var text = new StringBuilder();
    for (byte b : bytes) {
      if (b >= ' ' && b < 0x7f && b != '\\') {
        text.append((char) b);
      } else {
        text.append("\\x%02X".formatted(b));
      }
    }
    return text.toString();
  }
}
