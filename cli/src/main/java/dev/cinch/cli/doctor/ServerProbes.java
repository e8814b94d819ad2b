package dev.cinch.cli.doctor;

import dev.cinch.bag.model.StoreSettings;
import dev.cinch.bag.storage.object.BrokenPromiseException;
import dev.cinch.bag.storage.object.ObjectProbe;
import dev.cinch.lease.time.TimeSource;
import java.io.IOException;

/** Tries out an object store's requests, and says what came of each. */
final class ServerProbes {
  private static final long NANOS_PER_MS = 1_000_000;

  /** Some more than init, which somebody waits for. */
  private static final int ROUNDS = 2 * ObjectProbe.ROUNDS;

  private final ObjectProbe probe;
  private final StoreSettings settings;
  private final TimeSource time;
  private final Diagnosis diagnosis;
  private boolean reached;

  ServerProbes(ObjectProbe probe, StoreSettings settings, TimeSource time, Diagnosis diagnosis) {
    this.probe = probe;
    this.settings = settings;
    this.time = time;
    this.diagnosis = diagnosis;
  }

  void run() throws IOException {
    look(
        "put",
        "%d writers at once, %d times: one made the object, and all saw that one's"
            .formatted(ObjectProbe.WRITERS, ROUNDS),
        "locks and records are published once",
        () -> probe.race(ROUNDS));
    if (!reached) { // what is barred or fails says nothing about the rest
      diagnosis.note("nothing else was tried", "see what failed above, and run this again");
      return;
    }
    look(
        "get",
        "reads after writes",
        "what was confirmed is seen, and nothing is remembered as missing",
        probe::reads);
    look(
        "get of a part",
        "parts of objects, and empty ones",
        "messages are read where they stand",
        probe::parts);
    look(
        "names", "all characters of names, in order", "each name is an object's own", probe::names);
    look(
        "list",
        "listings of %,d objects, before and after they were deleted".formatted(ObjectProbe.LISTED),
        "closers find each batch",
        probe::listings);
    diagnosis.look("clock", "appends and closing are refused", this::clock);
  }

  private void look(String what, String ok, String meaning, Diagnosis.Probe step)
      throws IOException {
    diagnosis.look(
        what,
        "Cinch can't work there",
        () -> {
          try {
            step.look();
            diagnosis.ok(ok, meaning);
          } catch (BrokenPromiseException e) {
            diagnosis.fail(e.seen(), e.meaning() + "; take another server");
          }
          reached = true;
        });
  }

  private void clock() throws IOException {
    long before = time.wallNanos();
    long now;
    try {
      now = probe.clock();
    } catch (BrokenPromiseException e) {
      diagnosis.fail(e.seen(), e.meaning());
      return;
    }
    long after = time.wallNanos();
    long skew = now < before ? now - before : Math.max(0, now - after);
    String what =
        "server's clock %+.1f s from this machine's, half a second more or less"
            .formatted(skew / 1e9);
    String bounds =
        "%.3f s ahead to %.3f s behind are allowed"
            .formatted(settings.clockAheadMs() / 1e3, settings.clockBehindMs() / 1e3);
    if (-skew > settings.clockAheadMs() * NANOS_PER_MS
        || skew > settings.clockBehindMs() * NANOS_PER_MS) {
      diagnosis.fail(what, "appends and closing are refused: " + bounds + "; set the clock (NTP)");
    } else {
      diagnosis.ok(what, bounds);
    }
  }
}
