package dev.cinch.lease.http;

import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Outcome;
import java.util.List;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;

/**
 * What a server has been asked for and how that ended, since it started. Counting allocates
 * nothing. Thread-safe.
 */
final class ServerMetrics {
  private static final int KINDS = OperationKind.values().length;

  /** Acquires that may wait in a queue: how long these take says nothing of the server. */
  private static final int QUEUED = KINDS;

  private static final int DONE = Reason.values().length;
  private static final int UNAVAILABLE = DONE + 1;
  private static final int ENDS = UNAVAILABLE + 1;

  private final LongSupplier clock;
  private final LongAdder[][] ends = new LongAdder[KINDS][ENDS];
  private final Histogram[] took = new Histogram[KINDS + 1];
  private final LongAdder witnesses = new LongAdder();
  private final LongAdder overloaded = new LongAdder();

  /**
   * @param clock monotonic, nanoseconds
   */
  ServerMetrics(LongSupplier clock) {
    this.clock = clock;
    for (LongAdder[] row : ends) {
      for (int i = 0; i < ENDS; i++) {
        row[i] = new LongAdder();
      }
    }
    for (int i = 0; i < took.length; i++) {
      took[i] = new Histogram();
    }
  }

  /** When something began, for {@link #ended}. */
  long now() {
    return clock.getAsLong();
  }

  /** It is known what became of a request's operations. */
  void ended(Routes.Asked asked, List<Outcome> outcomes) {
    for (int i = 0; i < outcomes.size(); i++) {
      count(asked, i, end(outcomes.get(i)));
    }
  }

  /** It is not known what became of those behind the first ones. */
  void unavailable(Routes.Asked asked, int first) {
    for (int i = first; i < asked.operations().size(); i++) {
      count(asked, i, UNAVAILABLE);
    }
  }

  /** A request was turned away, since too many wait. */
  void turnedAway() {
    overloaded.increment();
  }

  private void count(Routes.Asked asked, int index, int end) {
    Operation operation = asked.operations().get(index);
    int kind = OperationKind.of(operation).ordinal();
    ends[kind][end].increment();
    took[asked.waitMs() > 0 ? QUEUED : kind].add(clock.getAsLong() - asked.since());
  }

  private int end(Outcome outcome) {
    if (outcome instanceof Outcome.Refused refused) {
      return refused.refusal().reason().ordinal();
    }
    if (outcome instanceof Outcome.Granted granted) {
      witnesses.add(granted.grant().witnesses().size());
    }
    return DONE;
  }

  private static String name(int end) {
    return end == DONE ? "DONE" : end == UNAVAILABLE ? "UNAVAILABLE" : Reason.values()[end].name();
  }

  void write(Exposition out) {
    out.family(
        "cinch_operations_total",
        "counter",
        "Operations on leases by kind and by what became of them: DONE, or an error of the API.");
    for (OperationKind kind : OperationKind.values()) {
      for (int end = 0; end < ENDS; end++) {
        long count = ends[kind.ordinal()][end].sum();
        if (count > 0 || end == DONE) {
          out.sample("operation=\"%s\",outcome=\"%s\"".formatted(kind.wireName, name(end)), count);
        }
      }
    }
    out.family(
        "cinch_operation_seconds",
        "histogram",
        "From when an operation was read to when its answer was known; acquire_queued may wait.");
    for (OperationKind kind : OperationKind.values()) {
      took[kind.ordinal()].write(out, "operation=\"" + kind.wireName + "\"");
    }
    took[QUEUED].write(out, "operation=\"acquire_queued\"");
    out.family("cinch_witnesses_total", "counter", "Signed witnesses that were answered.")
        .sample(witnesses.sum());
    out.family("cinch_overloaded_total", "counter", "Requests that no worker had room for.")
        .sample(overloaded.sum());
  }
}
