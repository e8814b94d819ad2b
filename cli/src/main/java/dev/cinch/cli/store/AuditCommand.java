package dev.cinch.cli.store;

import dev.cinch.bag.Store;
import dev.cinch.bag.audit.AuditReport;
import dev.cinch.bag.audit.LeaseAuditor;
import dev.cinch.bag.audit.LeaseUse;
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
import dev.cinch.lease.Id;
import dev.cinch.lease.IsoTime;
import dev.cinch.lease.OneLine;
import dev.cinch.lease.Revocation;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Checks mutual exclusion from the files (section 8). */
@Command(
    name = "audit",
    description = {
      "Check from the settled messages and their signed witnesses that leases excluded each other.",
      "Prints a line a violation with file and offset, then what operators revoked and why, then a"
          + " summary; exit code 1 if there is any violation.",
      "With --trail also that each lease was granted, and not written under after its end, as far"
          + " as the lease servers' audit trails tell; and who asked for it, and from where."
    },
    footer = {
      "",
      "Examples:",
      "  cinch audit --store /mnt/shared/store",
      "  cinch audit --store /mnt/shared/store --trail trail.log.1 --trail trail.log"
    })
@SuppressWarnings("NullAway.Init") // picocli sets the fields
public final class AuditCommand implements Callable<Integer> {
  private static final int MAX_ASKED = 300;

  private final Io io;

  @Mixin StoreOptions store;
  @Mixin JsonOption json;

  @Option(
      names = "--trail",
      paramLabel = "FILE",
      description =
          "What cinch serve --trail has written, of every server of the store; repeatable.")
  List<Path> trailFiles = List.of();

  AuditCommand(Io io) {
    this.io = io;
  }

  @Override
  public Integer call() throws IOException {
    var progress = new Progress(io);
    Store opened = store.open();
    var uses = new TreeMap<Id, LeaseUse>();
    AuditReport r =
        LeaseAuditor.audit(
            opened,
            n -> progress.show(n, " messages audited"),
            use -> {
              if (!trailFiles.isEmpty()) {
                uses.put(use.correlation(), use);
              }
            });
    progress.end();
    var damaged = new ArrayList<DamagedException>();
    List<Revocation> revocations = StoreRevocations.all(opened.context(), damaged::add);
    for (DamagedException e : damaged) {
      io.say("cinch audit", Failure.oneLine(String.valueOf(e.getMessage())));
    }
    Trails trails = trails(opened, uses.keySet(), revocations);
    List<Trails.Finding> findings =
        uses.values().stream()
            .flatMap(use -> trails.finding(use, opened.settings().watermarkAheadNanos()).stream())
            .toList();
    boolean good = r.passed() && findings.isEmpty();
    try (Output out = io.output()) {
      out.ifClosed(good ? ExitCode.UNAVAILABLE : ExitCode.DAMAGE);
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
        for (Id lease : v.leases()) {
          printStory(out, trails, lease);
        }
      }
      for (Trails.Finding finding : findings) {
        json.print(out, finding.text(), finding::write);
        printStory(out, trails, finding.use().correlation());
      }
      for (Revocation revocation : revocations) {
        print(out, revocation, trails.revoked(revocation.correlation()));
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
      if (!trailFiles.isEmpty()) {
        json.print(
            out,
            trails.text(uses.keySet(), findings.size()),
            line -> trails.write(uses.keySet(), findings.size(), line));
      }
    }
    return good && damaged.isEmpty() ? ExitCode.GOOD : ExitCode.DAMAGE;
  }

  private Trails trails(Store opened, Set<Id> used, List<Revocation> revocations)
      throws IOException {
    var wanted = new HashSet<Id>(used);
    revocations.forEach(r -> wanted.add(r.correlation()));
    var trails =
        new Trails(
            opened.context().identity().id().toString(),
            wanted,
            note -> io.say("cinch audit", note));
    for (Path file : trailFiles) {
      trails.read(file);
    }
    return trails;
  }

  /** Who was granted a lease, and what became of it. */
  private void printStory(Output out, Trails trails, Id lease) throws IOException {
    Optional<String> story = trails.story(lease);
    if (story.isPresent()) {
      json.print(out, "  " + story.get(), line -> trails.write(lease, line));
    }
  }

  private void print(Output out, Revocation r, Optional<Trails.Step> step) throws IOException {
    json.print(
        out,
        "revoked: %s of %s at %s%s, lease %s of instance %d: %s"
            .formatted(
                r.name(),
                Failure.oneLine(r.holder()),
                IsoTime.text(r.revokedAt()),
                step.map(Trails.Step::asked).map(asked -> OneLine.of(asked, MAX_ASKED)).orElse(""),
                r.correlation(),
                r.instance(),
                Failure.oneLine(r.reason())),
        line -> {
          line.text("type", "revocation")
              .text("name", r.name().value())
              .text("holder", r.holder())
              .text("correlation", r.correlation().toString())
              .number("instance", r.instance())
              .time("revokedAt", r.revokedAt())
              .text("reason", r.reason());
          if (step.isPresent()) {
            var unused = Trails.asked(step.get(), line);
          }
        });
  }
}
