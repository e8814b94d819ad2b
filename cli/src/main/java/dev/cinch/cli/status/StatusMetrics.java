package dev.cinch.cli.status;

import dev.cinch.bag.LogStatus;
import dev.cinch.bag.Problem;
import dev.cinch.bag.StoreStatus;
import dev.cinch.bag.StoreStatus.LogLine;
import dev.cinch.cli.base.Output;
import java.io.IOException;
import java.util.List;
import java.util.Locale;
import java.util.function.Predicate;
import java.util.function.ToDoubleFunction;

/**
 * A {@link StoreReport} in Prometheus' text format, for the textfile collector of node_exporter. A
 * metric's name has the unit, and a label the store's id, since a machine may look at several.
 */
final class StatusMetrics {
  private static final double NANOS_PER_SECOND = 1e9;

  private final Output out;
  private final StoreStatus status;
  private final String store;

  private StatusMetrics(StoreReport report, Output out) {
    this.out = out;
    this.status = report.status();
    this.store = "store=\"" + report.store().context().identity().id() + "\"";
  }

  static void print(StoreReport report, Output out) throws IOException {
    var printer = new StatusMetrics(report, out);
    printer.store();
    printer.logs(report.store().settings().graceNanos());
  }

  private void store() throws IOException {
    one(
        "cinch_store_looked_at_seconds",
        "When this was looked at, by the storage's clock, Unix time.",
        status.at() / NANOS_PER_SECOND);
    describe("cinch_store_attention", "What needs attention, by kind, as cinch status says.");
    for (Problem.Kind kind : Problem.Kind.values()) {
      long count = status.problems().stream().filter(p -> p.kind() == kind).count();
      value(
          "cinch_store_attention", "kind=\"" + kind.name().toLowerCase(Locale.ROOT) + "\"", count);
    }
    if (status.clockOffset().isPresent()) {
      one(
          "cinch_store_clock_offset_seconds",
          "How far this machine's clock is ahead of the storage's.",
          status.clockOffset().getAsLong() / NANOS_PER_SECOND);
    }
    if (status.free().isPresent()) {
      one(
          "cinch_store_free_bytes",
          "What may still be written to the store.",
          status.free().getAsLong());
    }
    describe("cinch_log_readable", "1 if the log can be read.");
    for (LogLine line : status.logs()) {
      value("cinch_log_readable", label(line), line.status().isPresent() ? 1 : 0);
    }
  }

  private void logs(long grace) throws IOException {
    long at = status.at();
    each(
        "cinch_log_lag_seconds",
        "How old what is not settled may be; 0 if all is settled.",
        s -> s.unsettledFor(at) / NANOS_PER_SECOND);
    each(
        "cinch_log_overdue_seconds",
        "How long the oldest open bucket could have been settled; 0 if it can't be yet.",
        s -> s.overdue(at, grace) / NANOS_PER_SECOND);
    each("cinch_log_open_buckets", "Buckets that are not settled.", s -> s.open().size());
    each("cinch_log_messages", "Settled messages.", LogStatus::messages);
    each("cinch_log_bytes", "Size of what holds them.", LogStatus::bytes);
    each("cinch_log_entries", "About how many files and directories it has.", LogStatus::entries);
    each("cinch_log_segments", "Segments.", LogStatus::segments);
    each(
        "cinch_log_newest_seconds",
        "Timestamp of the newest message, Unix time.",
        s -> s.newest() / NANOS_PER_SECOND,
        s -> s.newest() != Long.MIN_VALUE);
  }

  private void each(String name, String help, ToDoubleFunction<LogStatus> of) throws IOException {
    each(name, help, of, s -> true);
  }

  private void each(
      String name, String help, ToDoubleFunction<LogStatus> of, Predicate<LogStatus> has)
      throws IOException {
    List<LogLine> lines =
        status.logs().stream().filter(line -> line.status().filter(has).isPresent()).toList();
    if (!lines.isEmpty()) {
      describe(name, help);
    }
    for (LogLine line : lines) {
      value(name, label(line), of.applyAsDouble(line.status().orElseThrow()));
    }
  }

  /** Names of logs have nothing that would have to be escaped. */
  private static String label(LogLine line) {
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
