package dev.cinch.cli.status;

import dev.cinch.bag.Store;
import dev.cinch.bag.status.LogStatus;
import dev.cinch.cli.base.Output;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.ToDoubleFunction;

/**
 * A {@link StoreReport} in Prometheus' text format, for the textfile collector of node_exporter. A
 * metric's name has the unit, and a label the store's id, since a machine may look at several.
 */
final class StatusMetrics {
  private static final double NANOS_PER_SECOND = 1e9;

  private final Output out;
  private final String store;
  private final List<StoreReport.LogLine> readable;

  private StatusMetrics(Store store, StoreReport report, Output out) {
    this.out = out;
    this.store = "store=\"" + store.context().identity().id() + "\"";
    this.readable = report.logs().stream().filter(line -> line.status() != null).toList();
  }

  static void print(Store store, StoreReport report, Output out) throws IOException {
    var printer = new StatusMetrics(store, report, out);
    printer.store(report);
    printer.logs(report.at(), store.settings().graceNanos());
  }

  private void store(StoreReport report) throws IOException {
    one(
        "cinch_store_looked_at_seconds",
        "When this was looked at, by the filesystem's clock, Unix time.",
        report.at() / NANOS_PER_SECOND);
    describe("cinch_store_attention", "What needs attention, by kind, as cinch status says.");
    for (StoreReport.Kind kind : StoreReport.Kind.values()) {
      long count = report.attention().stream().filter(a -> a.kind() == kind).count();
      value(
          "cinch_store_attention", "kind=\"" + kind.name().toLowerCase(Locale.ROOT) + "\"", count);
    }
    if (report.clockOffset().isPresent()) {
      one(
          "cinch_store_clock_offset_seconds",
          "How far this machine's clock is ahead of the filesystem's.",
          report.clockOffset().getAsLong() / NANOS_PER_SECOND);
    }
    if (report.free().isPresent()) {
      one(
          "cinch_store_free_bytes",
          "What may still be written to the store's filesystem.",
          report.free().getAsLong());
    }
    describe("cinch_log_readable", "1 if the log can be read.");
    for (StoreReport.LogLine line : report.logs()) {
      value("cinch_log_readable", label(line), line.status() == null ? 0 : 1);
    }
  }

  private void logs(long at, long grace) throws IOException {
    each(
        "cinch_log_lag_seconds",
        "How old what is not settled may be; 0 if all is settled.",
        s -> s.isIdle() ? 0 : Math.max(0, at - begin(s)) / NANOS_PER_SECOND);
    each(
        "cinch_log_overdue_seconds",
        "How long the oldest open bucket could have been settled; 0 if it can't be yet.",
        s -> s.isIdle() ? 0 : Math.max(0, at - s.open().get(0).end() - grace) / NANOS_PER_SECOND);
    each("cinch_log_open_buckets", "Buckets that are not settled.", s -> s.open().size());
    each("cinch_log_messages", "Settled messages.", LogStatus::messages);
    each("cinch_log_bytes", "Size of what holds them.", LogStatus::bytes);
    each("cinch_log_entries", "About how many files and directories it has.", LogStatus::entries);
    each("cinch_log_segments", "Segments.", LogStatus::segments);
    var newest = new ArrayList<StoreReport.LogLine>(readable);
    newest.removeIf(line -> line.status() == null || line.status().newest() == Long.MIN_VALUE);
    each(
        newest,
        "cinch_log_newest_seconds",
        "Timestamp of the newest message, Unix time.",
        s -> s.newest() / NANOS_PER_SECOND);
  }

  /** Since when something may be unsettled. */
  private static long begin(LogStatus s) {
    return Math.max(s.settledThrough(), s.open().get(0).start());
  }

  private void each(String name, String help, ToDoubleFunction<LogStatus> of) throws IOException {
    each(readable, name, help, of);
  }

  private void each(
      List<StoreReport.LogLine> lines, String name, String help, ToDoubleFunction<LogStatus> of)
      throws IOException {
    if (!lines.isEmpty()) {
      describe(name, help);
    }
    for (StoreReport.LogLine line : lines) {
      LogStatus status = line.status();
      if (status != null) {
        value(name, label(line), of.applyAsDouble(status));
      }
    }
  }

  /** Names of logs have nothing that would have to be escaped. */
  private static String label(StoreReport.LogLine line) {
    return "log=\"" + line.name() + "\"";
  }

  private void one(String name, String help, double value) throws IOException {
    describe(name, help);
    out.line("%s{%s} %s".formatted(name, store, value));
  }

  private void describe(String name, String help) throws IOException {
    out.line("# HELP " + name + " " + help);
    out.line("# TYPE " + name + " gauge");
  }

  private void value(String name, String label, double value) throws IOException {
    out.line("%s{%s,%s} %s".formatted(name, store, label, value));
  }
}
