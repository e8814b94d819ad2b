package dev.cinch.cli.lease;

import dev.cinch.cli.base.ExitCode;
import dev.cinch.cli.base.Failure;
import dev.cinch.cli.base.Io;
import dev.cinch.cli.base.Misuse;
import dev.cinch.cli.base.StoppableTime;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseInfo;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.Witness;
import dev.cinch.lease.http.LeaseDetail;
import dev.cinch.lease.time.SystemTime;
import java.io.IOException;
import java.time.Duration;
import java.util.Optional;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Has a lease go from its holder to another one, in order. */
@Command(
    name = "hand",
    description = {
      "Have a lease handed over: its holder comes to an end, and the one that you name is next.",
      "The holder is asked at its next renewal. cinch lease run ends its command then, and gives the"
          + " lease back. From then on it is kept for a while: others are refused, whoever waits."
          + " Needs the right to revoke the name, or its grant (CINCH_GRANT). Waits until it is"
          + " done. Exit code 3 if no such lease is held, or it was not taken in time."
    },
    footer = {
      "",
      "Examples:",
      "  cinch lease run --wait 1h --holder web-2 jobs/42 -- ./job.sh    # there",
      "  cinch lease hand jobs/42 --to web-2"
    })
@SuppressWarnings("NullAway.Init") // picocli sets the fields
final class LeaseHandCommand extends LeaseRequest.OfCell {
  private static final String NAME = "cinch lease hand";
  private static final long LOOK_NANOS = 200_000_000;

  /** After so long it is said what is waited for. */
  private static final long SILENT_NANOS = 2_000_000_000;

  private static final Duration LONGEST_KEEP = Duration.ofHours(1);

  @Parameters(paramLabel = "LEASE", description = "The lease's name.")
  LeaseName name;

  @Option(
      names = "--to",
      required = true,
      paramLabel = "HOLDER",
      description =
          "Who is to have it, as cinch lease who says it; the present holder to take that back.")
  String to;

  @Option(
      names = "--keep",
      paramLabel = "DURATION",
      defaultValue = "60s",
      description = "How long it is kept once it is free, an hour at most.")
  Duration keep;

  @Option(names = "--no-wait", description = "Ask for it, and wait for nothing.")
  boolean noWait;

  LeaseHandCommand(Io io) {
    super(io);
  }

  @Override
  int answer(LeaseClient client, Printer printer) throws Exception {
    try {
      ask(client, printer);
      return ExitCode.GOOD;
    } catch (InterruptedException e) {
      if (!io.stop().requested()) {
        throw e;
      }
      io.say(
          NAME, "stopped by " + io.stop().name() + "; it stays asked for: cinch lease who " + name);
      return io.stop().exitCode();
    }
  }

  @Override
  void ask(LeaseClient client, Printer printer) throws Exception {
    if (to.isBlank()) {
      throw new Misuse("--to names a holder");
    }
    if (keep.isNegative() || keep.compareTo(LONGEST_KEEP) > 0) {
      throw new Misuse("--keep is 0s to 1h");
    }
    Optional<LeaseDetail> before = client.detail(name);
    client.hand(name, to, keep.toMillis(), grant());
    if (noWait) {
      printer.line("asked for: " + name + " goes to " + Failure.oneLine(to) + " once it is free");
      return;
    }
    io.stop().listen();
    var time = new StoppableTime(SystemTime.INSTANCE, io.stop());
    Optional<Witness> first = before.map(lease -> lease.info().witness());
    long from = time.monotonicNanos();
    long kept = from + keep.toNanos(); // so long nobody else is granted it at least
    String said = "";
    while (true) {
      long asked = time.monotonicNanos();
      Optional<LeaseDetail> lease = client.detail(name);
      boolean inTime = time.monotonicNanos() - kept < 0;
      if (lease.isPresent() && isDone(lease.get(), first, inTime)) {
        printer.line("handed over: " + name + " to " + Failure.oneLine(to));
        return;
      }
      if (lease.flatMap(LeaseDetail::handTo).filter(h -> h.holder().equals(to)).isEmpty()) {
        throw new Failure.Refusal(over(lease));
      }
      kept = lease.get().info().state().excludes() ? asked + keep.toNanos() : kept;
      String state = waiting(lease.get().info());
      if (io.terminal() && !state.equals(said) && time.monotonicNanos() - from > SILENT_NANOS) {
        said = state;
        io.say(NAME, state);
      }
      time.sleepNanos(LOOK_NANOS);
    }
  }

  /** That of the command that this is part of, if it has such a lease. */
  private Optional<Id> grant() throws IOException {
    String variable = io.env().apply(GrantOption.VARIABLE);
    if (variable == null || variable.isEmpty()) {
      return Optional.empty();
    }
    GrantOption.Named mine = new GrantOption().named(io);
    boolean other = !mine.names().isEmpty() && !mine.names().contains(name);
    return other ? Optional.empty() : Optional.of(mine.id());
  }

  /**
   * Whether the holder has it, or has had it meanwhile: since it was released nobody else was
   * granted it before.
   */
  private boolean isDone(LeaseDetail lease, Optional<Witness> before, boolean inTime) {
    Witness witness = lease.info().witness();
    boolean same = before.filter(b -> b.correlation().equals(witness.correlation())).isPresent();
    boolean held =
        lease.info().state().excludes() || lease.info().state() == LeaseInfo.State.TENTATIVE;
    return witness.holder().equals(to)
        ? held || !same
        : inTime
            && !same
            && lease.handTo().isEmpty()
            && before.filter(b -> b.instance() == witness.instance()).isPresent();
  }

  private String waiting(LeaseInfo lease) {
    return lease.state().excludes()
        ? "waiting until %s gives it back: it is asked at its next renewal; Ctrl-C leaves it asked"
            .formatted(Failure.oneLine(lease.witness().holder()))
        : "waiting until %s takes it, which nobody else may now".formatted(Failure.oneLine(to));
  }

  private String over(Optional<LeaseDetail> lease) {
    String holder = Failure.oneLine(to);
    Optional<LeaseInfo> held = lease.map(LeaseDetail::info).filter(i -> i.state().excludes());
    return held.isPresent()
        ? "%s is %s's, not %s's: it was not taken in time, or the server was started anew, or"
                .formatted(name, Failure.oneLine(held.get().witness().holder()), holder)
            + " somebody else asked for another holder"
        : "%s is free, and %s did not take it in time".formatted(name, holder);
  }
}
