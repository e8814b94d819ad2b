package dev.cinch.cli.status;

import dev.cinch.bag.status.LogStatus;
import dev.cinch.cli.base.Failure;
import dev.cinch.cli.base.Io;
import dev.cinch.cli.base.Output;
import java.io.IOException;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;

/** A {@link StoreReport} as a plugin of Nagios prints it, by the Monitoring Plugins' guidelines. */
final class NagiosCheck {
  private static final List<String> STATES = List.of("OK", "WARNING", "CRITICAL", "UNKNOWN");
  private static final int UNKNOWN = 3;
  private static final double NANOS_PER_SECOND = 1e9;

  private NagiosCheck() {}

  /** Looks, and prints one line; gives the exit code. What can't be looked at is unknown. */
  static int run(Io io, Callable<StoreReport> look) throws IOException {
    int code;
    String line;
    try {
      StoreReport report = look.call();
      code = report.attention().stream().mapToInt(a -> code(a.kind())).max().orElse(0);
      line = text(report) + " | " + data(report);
    } catch (Exception e) {
      code = UNKNOWN;
      line = Failure.of(e).line();
    }
    try (Output out = io.output()) {
      out.line("CINCH " + STATES.get(code) + " - " + Failure.oneLine(line));
    }
    return code;
  }

  private static int code(StoreReport.Kind kind) {
    return switch (kind) {
      case DAMAGE, UNREADABLE, DISK, SERVER -> 2;
      case CLOSER, INTENT, GC, CLOCK -> 1;
    };
  }

  /** A bar would begin the numbers. */
  private static String text(StoreReport report) {
    if (report.attention().isEmpty()) {
      int logs = report.logs().size();
      return logs + (logs == 1 ? " log" : " logs") + ", nothing needs attention";
    }
    return report.attention().stream()
        .map(a -> (a.log() == null ? "" : a.log() + ": ") + a.message())
        .collect(Collectors.joining("; "))
        .replace('|', '/');
  }

  private static String data(StoreReport report) {
    List<LogStatus> logs =
        report.logs().stream().map(StoreReport.LogLine::status).filter(Objects::nonNull).toList();
    double lag =
        logs.stream()
            .filter(s -> !s.isIdle())
            .mapToLong(s -> report.at() - s.open().get(0).start())
            .max()
            .orElse(0);
    long damage =
        report.attention().stream().filter(a -> a.kind() == StoreReport.Kind.DAMAGE).count();
    return String.format(
        Locale.ROOT,
        "lag=%.3fs size=%dB entries=%d messages=%dc damage=%d",
        Math.max(0, lag) / NANOS_PER_SECOND,
        logs.stream().mapToLong(LogStatus::bytes).sum(),
        logs.stream().mapToLong(LogStatus::entries).sum(),
        logs.stream().mapToLong(LogStatus::messages).sum(),
        damage);
  }
}
