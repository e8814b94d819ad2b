package dev.cinch.cli.lease;

import dev.cinch.bag.model.Words;
import dev.cinch.cli.base.ExitCode;
import dev.cinch.cli.base.Failure;
import dev.cinch.cli.base.Io;
import dev.cinch.lease.IsoTime;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.Witness;
import dev.cinch.lease.wire.LeaseDetail;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** Says in sentences who holds a lease, and what to do about that. */
@Command(
    name = "who",
    description = {
      "Say who holds a lease, since when and until when, who waits for it, and what to do.",
      "Exit code 3 if nothing is known of it."
    },
    footer = {"", "Example:", "  cinch lease who jobs/42"})
@SuppressWarnings("NullAway.Init") // picocli sets the fields
final class LeaseWhoCommand extends LeaseRequest {
  private static final long NANOS_PER_S = 1_000_000_000;

  /** As {@code cinch} calls itself where nobody gives it another name. */
  private static final Pattern PROCESS = Pattern.compile("(.+)/(\\d{1,10})");

  /** So many of those who wait are named. */
  private static final int NAMED = 3;

  @Parameters(paramLabel = "LEASE", description = "The lease's name.")
  LeaseName name;

  LeaseWhoCommand(Io io) {
    super(io);
  }

  @Override
  int ifClosed() {
    return ExitCode.GOOD;
  }

  @Override
  void ask(LeaseClient client, Printer printer) throws Exception {
    Optional<LeaseDetail> found = client.detail(name);
    if (found.isEmpty()) {
      throw client.unknown(name, ": nobody has it, so take it");
    }
    LeaseDetail lease = found.get();
    long now = client.now();
    String text =
        switch (lease.info().state()) {
          case HELD -> held(lease, now);
          case REVOKED -> revoked(lease, now);
          case TENTATIVE -> tentative(lease, now);
          case RELEASED -> released(lease);
          case EXPIRED -> expired(lease, now);
        };
    for (String line : text.lines().toList()) {
      printer.line(line);
    }
  }

  private String held(LeaseDetail lease, long now) {
    return """
        %s is held by %s.
        %s
        It ends in %s, at %s, unless it is renewed.
        %s
        What to do:
          wait             cinch lease run --wait 1h %1$s -- COMMAND
                           If its holder died, that takes %4$s at most.
          revoke it        cinch lease revoke %1$s --reason TEXT
                           Its holder can't renew it then. Needs the right revoke:%1$s.
        """
        .formatted(
            name,
            holder(lease),
            renewed(lease, now),
            left(lease, now),
            at(witness(lease).expiry()),
            waiting(lease, now));
  }

  private String revoked(LeaseDetail lease, long now) {
    return """
        %s is held by %s, but was revoked: it is renewed no more.
        It has it since %s, %s.
        It ends in %s, at %s, or before if its holder gives it back.
        %s
        What to do:
          wait             cinch lease run --wait 1h %1$s -- COMMAND
        cinch audit prints why it was revoked.
        """
        .formatted(
            name,
            holder(lease),
            at(lease.since()),
            ago(lease.since(), now),
            left(lease, now),
            at(witness(lease).expiry()),
            waiting(lease, now));
  }

  private String tentative(LeaseDetail lease, long now) {
    return """
        %s is held by %s, tentatively: nothing is written under it, and anybody may take it.
        %s
        What to do:
          take it          cinch lease run %1$s -- COMMAND
        """
        .formatted(name, holder(lease), renewed(lease, now));
  }

  private String released(LeaseDetail lease) {
    return """
        %s is free: %s took it at %s, and gave it back.
        %s"""
        .formatted(name, holder(lease), at(lease.since()), take());
  }

  private String expired(LeaseDetail lease, long now) {
    return """
        %s is free: %s had it since %s, and did not give it back.
        It ended at %s, %s. Its holder died, was cut off, or was told to let it run out.
        %sWhoever appends to a store under it first waits until all of that time is settled there.
        """
        .formatted(
            name,
            holder(lease),
            at(lease.since()),
            at(witness(lease).expiry()),
            ago(witness(lease).expiry(), now),
            take());
  }

  private String take() {
    return "What to do:%n  take it          cinch lease run %s -- COMMAND%n".formatted(name);
  }

  private static Witness witness(LeaseDetail lease) {
    return lease.info().witness();
  }

  private static String holder(LeaseDetail lease) {
    String text = Failure.oneLine(witness(lease).holder());
    Matcher process = PROCESS.matcher(text);
    return process.matches()
        ? "%s (process %s on %s)".formatted(quoted(text), process.group(2), process.group(1))
        : text.isEmpty() ? "somebody without a name" : quoted(text);
  }

  /** Anyone may call himself what reads like a sentence of ours. */
  private static String quoted(String holder) {
    return '"' + Failure.oneLine(holder) + '"';
  }

  private static String renewed(LeaseDetail lease, long now) {
    long last = witness(lease).issuedAt();
    return "It has it since %s, %s; %s."
        .formatted(
            at(lease.since()),
            ago(lease.since(), now),
            last == lease.since() ? "not renewed yet" : "last renewed " + ago(last, now));
  }

  private static String waiting(LeaseDetail lease, long now) {
    int count = lease.waitingCount().orElse(-1);
    if (count <= 0) {
      return count < 0 ? "Who waits for it is not known." : "Nobody waits for it at this server.";
    }
    String first =
        lease.waiting().stream()
            .limit(NAMED)
            .map(w -> "%s for %s".formatted(quoted(w.holder()), Words.span(now - w.since())))
            .collect(Collectors.joining(", then "));
    return "%d %s for it: %s%s."
        .formatted(
            count,
            count == 1 ? "waits" : "wait",
            first,
            count > NAMED ? ", and " + (count - NAMED) + " more" : "");
  }

  private static String left(LeaseDetail lease, long now) {
    return Words.span(Math.max(0, witness(lease).expiry() - now));
  }

  private static String ago(long time, long now) {
    return Words.span(Math.max(0, now - time)) + " ago";
  }

  private static String at(long time) {
    return IsoTime.second(Math.floorDiv(time, NANOS_PER_S)) + "Z";
  }
}
