package dev.cinch.cli;

import dev.cinch.bag.audit.AuditReport;
import dev.cinch.bag.audit.LeaseAuditor;
import dev.cinch.bag.audit.Violation;
import java.io.IOException;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** Checks mutual exclusion from the files (section 8). */
@Command(
    name = "audit",
    mixinStandardHelpOptions = true,
    description = {
      "Check from the settled messages and their signed witnesses that leases excluded each other.",
      "Prints a line a violation with file and offset, then a summary; exit code 1 if there is any."
    },
    footer = {"", "Example:", "  cinch audit --store /mnt/shared/store"})
@SuppressWarnings("NullAway.Init") // picocli sets the fields
final class AuditCommand implements Callable<Integer> {
  private final Io io;

  @Mixin StoreOptions store;
  @Mixin JsonOption json;

  AuditCommand(Io io) {
    this.io = io;
  }

  @Override
  public Integer call() throws IOException {
    var progress = new Progress(io);
    AuditReport r = LeaseAuditor.audit(store.open(), n -> progress.show(n, " messages audited"));
    progress.end();
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
    return r.passed() ? ExitCode.GOOD : ExitCode.DAMAGE;
  }
}
