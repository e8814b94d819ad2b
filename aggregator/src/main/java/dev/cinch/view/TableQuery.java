package dev.cinch.view;

import dev.cinch.bag.model.LogName;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;

/**
 * What SQL writes a file of a table.
 *
 * @param log the view of it that has what is to be added
 * @param old files whose place this one takes, in a table of keys
 * @param floor what is older expired, nanoseconds since the Unix epoch
 * @param out the file to write
 */
record TableQuery(TableShape shape, LogName log, List<Path> old, long floor, Path out) {
  private static final String ALL = "time, time_ns, tie, machine, leases, generation, payload";

  /** A key goes by a message that has nothing else, or nulls. */
  private static final String LATEST =
      """
      SELECT * FROM (SELECT %1$s, NULL::BLOB AS bytes, payload ->> '%2$s' AS key%3$s
          FROM "%4$s" WHERE key IS NOT NULL%5$s)
        QUALIFY row_number() OVER (PARTITION BY key ORDER BY time_ns DESC, tie DESC) = 1""";

  private static final String DELETED = "len(json_keys(json_merge_patch('{}', payload))) <= 1";

  private static final String OLD =
      "\n  UNION ALL SELECT * FROM read_parquet([%s]) WHERE time_ns >= %d";

  String copy() {
    String columns = TableColumn.definitions(shape.columns());
    String rows =
        shape.key() == null
            ? "SELECT %s, CASE WHEN payload IS NULL THEN bytes END AS bytes%s FROM \"%s\""
                .formatted(ALL, columns, log)
            : "SELECT * FROM (%s) WHERE NOT (%s) ORDER BY key"
                .formatted(LATEST.formatted(ALL, shape.key(), columns, log, merged()), DELETED);
    return "COPY (%s) TO %s (FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false)"
        .formatted(rows, literal(out));
  }

  private String merged() {
    return old.isEmpty()
        ? ""
        : OLD.formatted(
            old.stream().map(TableQuery::literal).collect(Collectors.joining(", ")), floor);
  }

  /** The number of messages, the first and last time. */
  String facts() {
    return "SELECT count(*), coalesce(min(time_ns), 0), coalesce(max(time_ns), 0) FROM "
        + written();
  }

  /** Of each column how many values were not parsed. Reads payloads only where it has nulls. */
  List<String> unparsed() {
    return shape.columns().stream()
        .map(
            column ->
                "SELECT count(*) FROM %s WHERE \"%s\" IS NULL AND %s IS NOT NULL"
                    .formatted(written(), column.name(), column.text()))
        .toList();
  }

  private String written() {
    return "read_parquet(" + literal(out) + ")";
  }

  private static String literal(Path file) {
    return "'" + file.toString().replace("'", "''") + "'";
  }
}
