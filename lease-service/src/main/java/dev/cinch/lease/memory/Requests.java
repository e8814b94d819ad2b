package dev.cinch.lease.memory;

import static dev.cinch.lease.table.Refusals.invalid;
import static dev.cinch.lease.table.Refusals.notHeld;
import static java.nio.charset.StandardCharsets.UTF_8;

import dev.cinch.lease.Correlation;
import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.Witness;
import dev.cinch.lease.witness.WitnessCodec;
import java.util.HashSet;

/** What a request must be by itself, whatever the table holds. */
final class Requests {
  /** The most metadata entries in one report. */
  static final int MAX_METADATA = 100;

  private static final int MAX_DATA_FILE = 255;

  private Requests() {}

  static void check(Operation.Acquire request, long longestLeaseMs) throws LeaseRefusedException {
    int names = request.names().size();
    if (names < 1 || names > Operation.Acquire.MAX_NAMES) {
      throw invalid(
          "a request names 1 to " + Operation.Acquire.MAX_NAMES + " leases, this one " + names);
    }
    var seen = new HashSet<LeaseName>();
    for (LeaseName name : request.names()) {
      if (!seen.add(name)) {
        throw invalid("the request names " + name + " twice");
      }
    }
    try {
      WitnessCodec.holderBytes(request.holder());
    } catch (IllegalArgumentException e) {
      throw invalid(String.valueOf(e.getMessage()));
    }
    duration(request.durationMs(), longestLeaseMs);
    logs(request.logs());
    int logs = request.logs().ids().size();
    if (names * logs > Grant.MAX_LOGS) {
      throw invalid(
          "%d names times %d logs are more than %d; ask for all logs, or for fewer names at once"
              .formatted(names, logs, Grant.MAX_LOGS));
    }
  }

  /**
   * Checks a request to resume.
   *
   * @param aheadNanos how far ahead a watermark may lie (rule L2)
   */
  static void check(Operation.Resume request, long longestLeaseMs, Id store, long aheadNanos)
      throws LeaseRefusedException {
    int names = request.witnesses().size();
    if (names < 1 || names > Operation.Acquire.MAX_NAMES) {
      throw invalid("1 to " + Operation.Acquire.MAX_NAMES + " leases are resumed, not " + names);
    }
    var seen = new HashSet<LeaseName>();
    for (SignedWitness signed : request.witnesses()) {
      Witness w = signed.witness();
      if (!seen.add(w.name())) {
        throw invalid("the request has two witnesses of " + w.name());
      }
      if (w.tentative()) {
        throw notHeld("the lease on " + w.name() + " was tentative; acquire anew");
      }
      if (w.watermark().isTooFarAhead(aheadNanos)) {
        throw notHeld(
            "the watermark of the lease on "
                + w.name()
                + " is too far ahead of its signed time; acquire anew");
      }
      if (!Correlation.isOf(request.id(), w, store)) {
        throw notHeld("the lease on " + w.name() + " was not granted to this id for this store");
      }
    }
    duration(request.durationMs(), longestLeaseMs);
  }

  static void duration(long durationMs, long longestLeaseMs) throws LeaseRefusedException {
    if (durationMs < 1 || durationMs > longestLeaseMs) {
      throw invalid("a lease lasts 1 to " + longestLeaseMs + " ms, not " + durationMs);
    }
  }

  static void logs(LogSet logs) throws LeaseRefusedException {
    if (logs.ids().size() > Witness.MAX_LOGS) {
      throw invalid(
          logs.ids().size() + " logs, more than " + Witness.MAX_LOGS + "; ask for all instead");
    }
  }

  static void check(LeaseReport report) throws LeaseRefusedException {
    if (report.metadata().size() > MAX_METADATA) {
      throw invalid(report.metadata().size() + " metadata entries, more than " + MAX_METADATA);
    }
    for (LeaseReport.Metadata m : report.metadata()) {
      if (m.dataFile().isEmpty()
          || m.dataFile().length() > MAX_DATA_FILE
          || !UTF_8.newEncoder().canEncode(m.dataFile())) {
        throw invalid("a data file's name has 1 to 255 characters of Unicode");
      }
    }
  }
}
