package dev.cinch.cli.lease;

import dev.cinch.bag.model.Words;
import dev.cinch.cli.base.ExitCode;
import dev.cinch.cli.base.Failure;
import dev.cinch.cli.base.Io;
import dev.cinch.cli.base.JsonOption;
import dev.cinch.cli.base.Table;
import dev.cinch.lease.LeaseInfo;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.wire.LeaseDetail;
import dev.cinch.lease.wire.LeaseDocuments;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Prints what a lease service knows of leases: a table, or JSON as the API has it. */
@SuppressWarnings("NullAway.Init") // picocli sets the fields
abstract class LeaseListing extends LeaseRequest {
  private static final int PAGE = 1_000;
  private static final List<String> HEAD =
      List.of("LEASE", "STATE", "HOLDER", "AGE", "EXPIRES", "WAITING");

  @Mixin JsonOption json;

  private final Table table = new Table(HEAD.size(), HEAD.size());
  private boolean begun;

  LeaseListing(Io io) {
    super(io);
  }

  @Override
  int ifClosed() {
    return ExitCode.GOOD;
  }

  /**
   * Prints some more.
   *
   * @param now the service's time, which decides what has expired
   */
  final void print(List<LeaseDetail> leases, long now, Printer printer) throws Exception {
    if (json.json) {
      for (LeaseDetail each : leases) {
        printer.print(LeaseDocuments.json(each));
      }
      return;
    }
    var rows = new ArrayList<List<String>>();
    if (!begun && !leases.isEmpty()) {
      begun = true;
      rows.add(HEAD);
    }
    for (LeaseDetail each : leases) {
      LeaseInfo info = each.info();
      rows.add(
          List.of(
              info.witness().name().toString(),
              info.state().name(),
              Failure.oneLine(info.witness().holder()),
              isHeld(info) ? Words.span(now - each.since()) : "-",
              expires(info, now),
              waiting(each)));
    }
    for (String line : table.lines(rows)) {
      printer.line(line);
    }
  }

  private static boolean isHeld(LeaseInfo info) {
    return info.state().excludes() || info.state() == LeaseInfo.State.TENTATIVE;
  }

  /** How many, and who is next. */
  private static String waiting(LeaseDetail lease) {
    if (lease.waitingCount().isEmpty()) {
      return "?";
    }
    int count = lease.waitingCount().getAsInt();
    return count == 0 ? "-" : count + ", next " + Failure.oneLine(lease.waiting().get(0).holder());
  }

  private static String expires(LeaseInfo info, long now) {
    long left = info.witness().expiry() - now;
    return switch (info.state()) {
      case HELD, TENTATIVE, REVOKED -> left > 0 ? "in " + Words.span(left) : "now";
      case EXPIRED -> Words.span(left) + " ago";
      case RELEASED -> "-";
    };
  }

  @Command(
      name = "show",
      description = {
        "Print what is known about a lease: its state, its holder, its age, when it expires unless it"
            + " is renewed, and who waits.",
        "Exit code 3 if nothing is known."
      },
      footer = {
        "",
        "Examples:",
        "  cinch lease show jobs/42",
        "  cinch lease show --json jobs/42 | jq -r .witness.expiry"
      })
  @SuppressWarnings("NullAway.Init") // picocli sets the fields
  static final class Show extends LeaseListing {
    @Parameters(paramLabel = "LEASE", description = "The lease's name.")
    LeaseName name;

    Show(Io io) {
      super(io);
    }

    @Override
    void ask(LeaseClient client, Printer printer) throws Exception {
      Optional<LeaseDetail> info = client.detail(name);
      if (info.isEmpty()) {
        throw client.unknown(name, "");
      }
      print(List.of(info.get()), client.now(), printer);
    }
  }

  @Command(
      name = "list",
      description =
          "Print what is known about leases, one a line: state, holder, age, when it expires unless"
              + " it is renewed, and who waits.",
      footer = {
        "",
        "Examples:",
        "  cinch lease list --prefix jobs/",
        "  cinch lease list --held",
        "  cinch lease list --json | jq -r 'select(.state == \"HELD\") | .witness.name'"
      })
  @SuppressWarnings("NullAway.Init") // picocli sets the fields
  static final class Listing extends LeaseListing {
    @Option(names = "--prefix", paramLabel = "TEXT", defaultValue = "", description = "Of names.")
    String prefix;

    @Option(
        names = "--held",
        description = "Only those that somebody has now, tentative and revoked ones too.")
    boolean held;

    Listing(Io io) {
      super(io);
    }

    @Override
    void ask(LeaseClient client, Printer printer) throws Exception {
      Optional<LeaseName> after = Optional.empty();
      long now = client.now();
      while (true) {
        List<LeaseDetail> page = client.details(prefix, after, PAGE);
        print(page.stream().filter(each -> !held || isHeld(each.info())).toList(), now, printer);
        if (page.isEmpty()) { // others may be short, since their bytes are bounded too
          return;
        }
        after = Optional.of(page.get(page.size() - 1).info().witness().name());
      }
    }
  }
}
