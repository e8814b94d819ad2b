package dev.cinch.bag;

import dev.cinch.bag.Problem.Kind;
import dev.cinch.bag.model.LogName;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * How a store was at one moment, and what of that needs somebody. Immutable.
 *
 * @param at the filesystem's now, nanoseconds since the Unix epoch; this machine's where this user
 *     may not ask that
 * @param clockOffset how far this machine's clock is ahead of the filesystem's, nanoseconds;
 *     negative: behind; empty where this user may not ask
 * @param free bytes that this user may still write to the store; empty where that is not told
 * @param logs in the order in which they were asked for, or of their names
 * @param problems the most urgent first; empty if all is well. Where the disk is one of them,
 *     nothing can be settled, so that late closers are none
 */
public record StoreStatus(
    long at,
    OptionalLong clockOffset,
    OptionalLong free,
    List<LogLine> logs,
    List<Problem> problems) {

  public StoreStatus {
    boolean disk = problems.stream().anyMatch(p -> p.kind() == Kind.DISK);
    logs = List.copyOf(logs);
    problems =
        problems.stream()
            .filter(p -> !disk || p.kind() != Kind.CLOSER && p.kind() != Kind.INTENT)
            .sorted(Comparator.comparing(Problem::kind))
            .toList();
  }

  /**
   * A log.
   *
   * @param status how it is; empty if it can't be read, of which a problem says why
   */
  public record LogLine(LogName name, Optional<LogStatus> status) {}

  /** The most urgent kind of problem that there is; empty if all is well. */
  public Optional<Kind> worst() {
    return problems.stream().map(Problem::kind).findFirst();
  }

  /** The same with what else was found: of lease servers, say, which no store knows. */
  public StoreStatus with(List<Problem> more) {
    var all = new ArrayList<>(problems);
    all.addAll(more);
    return new StoreStatus(at, clockOffset, free, logs, all);
  }
}
