package dev.cinch.cli.store;

import dev.cinch.bag.Store;
import dev.cinch.bag.audit.AuditReport;
import dev.cinch.bag.audit.LeaseAuditor;
import dev.cinch.bag.audit.Violation;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.registry.StoreRevocations;
import dev.cinch.cli.base.ExitCode;
import dev.cinch.cli.base.Failure;
import dev.cinch.cli.base.Io;
import dev.cinch.cli.base.JsonOption;
import dev.cinch.cli.base.Output;
import dev.cinch.cli.base.Progress;
import dev.cinch.cli.base.StoreOptions;
import dev.cinch.lease.IsoTime;
import dev.cinch.lease.Revocation;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** Checks mutual exclusion from the files (section 8). */
@Command(
    name = "audit",
    description = {
      "Check from the settled messages and their signed witnesses that leases excluded each other.",
      "Prints a line a violation with file and offset, then what operators revoked and why, then a"
          + " summary; exit code 1 if there is any violation."
    },
    footer = {"", "Example:", "  cinch audit --store /mnt/shared/store"})
@SuppressWarnings("NullAway.Init") // picocli sets the fields
public final class AuditCommand implements Callable<Integer> {
  private final Io io;

  @Mixin StoreOptions store;
  @Mixin JsonOption json;

  AuditCommand(Io io) {
    this.io = io;
  }

  @Override
  public Integer call() throws IOException {
    var progress = new Progress(io);
    Store opened = store.open();
    AuditReport r = LeaseAuditor.audit(opened, n -> progress.show(n, " messages audited"));
    progress.end();
    var damaged = new ArrayList<DamagedException>();
    List<Revocation> revocations = StoreRevocations.all(opened.context(), damaged::add);
    for (DamagedException e : damaged) {
      io.say("cinch audit", Failure.oneLine(String.valueOf(e.getMessage())));
    }
    try (Output out = io.output()) {
      out.ifClosed(r.passed() ? ExitCode.UNAVAILABLE : ExitCode.DAMAGE);
      for (Violation v : r.violations()) {
        json.print(
            out,
            "violation: " + Failure.oneLine(v.toString()),
            line ->
                line.text("type", "violation")
                    .text("rule", v.rule().name())
                    .text("path", v.path().toString())
                    .number("offset", v.offset())
                    .text("problem", v.problem()));
      }
      for (Revocation revocation : revocations) {
        print(out, revocation);
      }
      json.print(
          out,
          "%s: %d messages of %d logs (%d under no lease), %d witnesses, %d leases of %d names, %d handovers, %d fences; %d violations"
              .formatted(
                  r.passed() ? "exclusive" : "VIOLATED",
                  r.messages(),
                  r.logs(),
                  r.unleased(),
                  r.witnesses(),
                  r.leases(),
                  r.names(),
                  r.handovers(),
                  r.fences(),
                  r.violationCount()),
          line ->
              line.text("type", "summary")
                  .flag("exclusive", r.passed())
                  .number("messages", r.messages())
                  .number("logs", r.logs())
                  .number("unleased", r.unleased())
                  .number("witnesses", r.witnesses())
                  .number("leases", r.leases())
                  .number("names", r.names())
                  .number("handovers", r.handovers())
                  .number("fences", r.fences())
                  .number("violations", r.violationCount()));
    }
    return r.passed() && damaged.isEmpty() ? ExitCode.GOOD : ExitCode.DAMAGE;
  }

  private void print(Output out, Revocation r) throws IOException {
    json.print(
        out,
        "revoked: %s of %s at %s, lease %s of instance %d: %s"
            .formatted(
                r.name(),
                Failure.oneLine(r.holder()),
                IsoTime.text(r.revokedAt()),
                r.correlation(),
                r.instance(),
                Failure.oneLine(r.reason())),
        line ->
            line.text("type", "revocation")
                .text("name", r.name().value())
                .text("holder", r.holder())
                .text("correlation", r.correlation().toString())
                .number("instance", r.instance())
                .time("revokedAt", r.revokedAt())
                .text("reason", r.reason()));
  }
}
