package dev.cinch.cli.lease;

import dev.cinch.cli.base.Failure;
import dev.cinch.cli.base.Io;
import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LeaseService;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.wire.LeaseDocuments;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Talks to a lease service. */
@Command(
    name = "lease",
    subcommands = {
      LeaseAcquireCommand.class,
      LeaseRunCommand.class,
      LeaseCommand.Renew.class,
      LeaseCommand.Release.class,
      LeaseRevokeCommand.class,
      LeaseWatchCommand.class,
      LeaseListing.Show.class,
      LeaseListing.Listing.class,
      LeaseWhoCommand.class
    },
    description = {
      "Take, prolong, give back, revoke and look at leases.",
      "When you get a lease you see everything its last holder wrote, and that holder can write"
          + " nothing more."
    },
    footer = {"", "Example:", "  cinch lease acquire --server http://127.0.0.1:8470 jobs/42"})
public final class LeaseCommand {
  /** A grant, and what is told of it when it is renewed or released. */
  @SuppressWarnings("NullAway.Init")
  static final class Held {
    @Mixin GrantOption grant;

    @Option(
        names = "--watermark",
        paramLabel = "NANOS",
        description = "The highest timestamp written under the leases; nothing unless set.")
    @Nullable Long watermark;

    @Option(
        names = "--fenced",
        description = "The horizon of the logs concerned has passed the fence.")
    boolean fenced;

    LeaseReport report() {
      return report(OptionalLong.empty());
    }

    /**
     * @param wrote the highest timestamp of others; empty if there is none
     */
    LeaseReport report(OptionalLong wrote) {
      OptionalLong highest =
          watermark == null ? wrote : OptionalLong.of(Math.max(watermark, wrote.orElse(watermark)));
      return new LeaseReport(highest, fenced, List.of());
    }
  }

  @Command(
      name = "renew",
      description = "Prolong the leases of a grant.",
      footer = {
        "",
        "Examples:",
        "  eval \"$(cinch lease acquire --export jobs/42)\"",
        "  cinch lease renew --for 30s",
        "  cinch lease renew --grant-file grant.json"
      })
  @SuppressWarnings("NullAway.Init")
  static final class Renew extends LeaseRequest {
    @Mixin AlwaysJson json;
    @Mixin Held held;
    @Mixin ForOption length;

    Renew(Io io) {
      super(io);
    }

    @Override
    void ask(LeaseClient client, Printer printer) throws Exception {
      Id id = held.grant.id(io);
      // Appends that share the grant may have resumed it at an instance that answers (rule L12).
      List<Long> instances = held.grant.shared(io).isEmpty() ? List.of() : client.instances();
      printer.print(LeaseDocuments.json(renewed(client, id, instances)));
    }

    private Grant renewed(LeaseClient client, Id id, List<Long> instances) throws Exception {
      for (int i = 0; ; i++) {
        LeaseReport report =
            instances.isEmpty() ? held.report() : held.report().to(instances.get(i));
        try {
          return client.service().renew(id, length.of(client).toMillis(), LogSet.NONE, report);
        } catch (LeaseRefusedException e) {
          if (!e.asksToResume() || i >= instances.size() - 1) {
            throw e;
          }
        }
      }
    }
  }

  @Command(
      name = "release",
      description = "Give the leases of a grant back. Repeating it is no error.",
      footer = {
        "",
        "Examples:",
        "  cinch lease release",
        "  cinch lease release --grant-file - < grant.json"
      })
  @SuppressWarnings("NullAway.Init")
  static final class Release extends LeaseRequest {
    @Mixin AlwaysJson json;
    @Mixin Held held;

    Release(Io io) {
      super(io);
    }

    @Override
    void ask(LeaseClient client, Printer printer) throws Exception {
      Id id = held.grant.id(io);
      Optional<GrantDirectory> shared = held.grant.shared(io);
      if (shared.isEmpty()) {
        client.service().release(id, held.report());
      } else {
        releaseShared(client.service(), id, shared.get());
      }
    }

    /** Rule L2: only with the highest timestamp of all that was written under them. */
    private void releaseShared(LeaseService client, Id id, GrantDirectory grant) throws Exception {
      GrantDirectory.Uses uses = grant.close();
      boolean sent = false;
      try {
        if (uses.open() > 0) {
          throw new Failure.Refusal(
              "an append under the leases goes on, or was killed: wait for its end, or let them run"
                  + " out");
        }
        if (uses.instances().size() > 1) {
          throw new Failure.Refusal(
              "the lease service was restarted while appends went on under the leases: they can't"
                  + " be given back, and run out");
        }
        LeaseReport last = held.report(uses.highest());
        // It may be carried out whatever is answered, and later: no append may begin any more.
        sent = true;
        client.release(
            id, uses.instances().isEmpty() ? last : last.to(uses.instances().iterator().next()));
      } finally {
        if (!sent) {
          grant.reopen();
        }
      }
      grant.remove();
    }
  }
}
