package dev.cinch.lease.history;

import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.Outcome;
import dev.cinch.lease.Witness;
import dev.cinch.lease.history.LeaseModel.Answer;
import dev.cinch.lease.history.LeaseModel.Call;
import dev.cinch.lease.history.LeaseModel.Kind;
import dev.cinch.lease.history.LeaseModel.Signed;
import dev.cinch.lease.history.Linearizability.Timed;
import dev.cinch.lease.time.ManualTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** What was asked and answered, one history for each name, and the clock beside it. Thread-safe. */
final class Recorder {
  private final ManualTime time;
  private final Map<LeaseName, List<Timed<Call>>> histories = new TreeMap<>();
  private long moment;
  private long latest = ManualTime.START;

  Recorder(ManualTime time) {
    this.time = time;
  }

  /** Moves all clocks on, or the wall clock alone. */
  synchronized void pass(long ms, long stepMs) {
    time.advanceMs(ms);
    time.stepWallMs(stepMs);
    latest = Math.max(latest, time.wallNanos());
  }

  /** A moment that no other call has. */
  synchronized long moment() {
    return ++moment;
  }

  /**
   * A call that has ended.
   *
   * @param outcome null if that is not known
   */
  synchronized void ended(
      long invoked, Kind kind, Id id, List<LeaseName> names, @Nullable Outcome outcome) {
    for (LeaseName name : names) {
      Answer answer = answer(kind, names, outcome);
      Signed signed = outcome instanceof Outcome.Granted g ? signed(g.grant(), name) : null;
      if (answer == null) {
        continue;
      }
      long answered = answer == Answer.UNKNOWN ? Linearizability.NEVER : moment();
      histories
          .computeIfAbsent(name, n -> new ArrayList<>())
          .add(new Timed<>(new Call(kind, id, answer, signed, latest), invoked, answered));
    }
  }

  /** Null for what says nothing about a single name. */
  private static @Nullable Answer answer(
      Kind kind, List<LeaseName> names, @Nullable Outcome outcome) {
    if (outcome instanceof Outcome.Granted) {
      return Answer.GRANTED;
    }
    if (outcome instanceof Outcome.Released) {
      return Answer.RELEASED;
    }
    if (outcome instanceof Outcome.Refused refused) {
      LeaseRefusedException.Reason reason = refused.refusal().reason();
      // It is NOT_HELD to the second of two that were one batch with the release of the same grant.
      if (kind == Kind.ACQUIRE && reason != Reason.SUPERSEDED && reason != Reason.NOT_HELD) {
        return reason == Reason.HELD && names.size() == 1 ? Answer.HELD : null;
      }
      if (kind == Kind.RENEW || (kind == Kind.RESUME && reason == Reason.NOT_HELD)) {
        return kind == Kind.RENEW && reason == Reason.NOT_HELD && names.size() == 1
            ? Answer.NOT_HELD
            : null;
      }
    }
    // Another refusal may be that of the second request, after the first was carried out.
    return kind == Kind.RENEW ? null : Answer.UNKNOWN;
  }

  private static Signed signed(Grant grant, LeaseName name) {
    Witness w =
        grant.witnesses().stream()
            .map(signed -> signed.witness())
            .filter(witness -> witness.name().equals(name))
            .findAny()
            .orElseThrow();
    return new Signed(w.correlation(), w.instance(), w.issuedAt(), w.expiry());
  }

  synchronized Map<LeaseName, List<Timed<Call>>> histories() {
    return histories;
  }
}
