package dev.cinch.cli;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.cinch.bag.Store;
import dev.cinch.bag.layout.LogName;
import dev.cinch.lease.AcquireRequest;
import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseInfo;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.time.SystemTime;
import java.io.IOException;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Talks to a lease service. */
@Command(
    name = "lease",
    mixinStandardHelpOptions = true,
    synopsisSubcommandLabel = "COMMAND",
    description = "Take, prolong, give back and look at leases.",
    footer = {"", "Example:", "  cinch lease acquire --server http://127.0.0.1:8470 jobs/42"})
@SuppressWarnings("NullAway.Init") // picocli sets the fields
final class LeaseCommand implements Callable<Integer>, Commands.Group {
  private static final int PAGE = 1_000;

  private final Io io;

  @Spec CommandSpec spec;

  LeaseCommand(Io io) {
    this.io = io;
  }

  @Override
  public CommandLine line() {
    return new CommandLine(this)
        .addSubcommand("acquire", new Acquire(io))
        .addSubcommand("renew", new Renew(io))
        .addSubcommand("release", new Release(io))
        .addSubcommand("show", new Show(io))
        .addSubcommand("list", new Listing(io));
  }

  @Override
  public Integer call() {
    throw new ParameterException(
        spec.commandLine(), "name one of acquire, renew, release, show, list");
  }

  private static void print(Io io, ObjectNode... nodes) throws IOException {
    try (Output out = io.output()) {
      for (ObjectNode node : nodes) {
        out.line(node.toString());
      }
    }
  }

  @Command(
      name = "acquire",
      mixinStandardHelpOptions = true,
      description = {
        "Take leases, all or none, and print the grant with its secret id and signed witnesses.",
        "Appends under leases take and renew their own: see cinch append --lease."
      },
      footer = {"", "Example:", "  cinch lease acquire --for 30s --holder worker-7 jobs/42"})
  @SuppressWarnings("NullAway.Init")
  static final class Acquire implements Callable<Integer> {
    private final Io io;

    @Mixin ServerOptions server;

    @Parameters(arity = "1..*", paramLabel = "LEASE", description = "The leases' names.")
    List<LeaseName> names;

    @Option(
        names = "--for",
        paramLabel = "DURATION",
        defaultValue = "30s",
        description = "How long; ${DEFAULT-VALUE}.")
    Duration duration;

    @Option(names = "--holder", paramLabel = "TEXT", description = "Who; the machine's name.")
    @Nullable String holder;

    @Option(names = "--tentative", description = "Permits no writes, and anyone may break it.")
    boolean tentative;

    @Option(
        names = "--store",
        paramLabel = "DIR",
        description = "Permit the logs of this store; every log unless set (or CINCH_STORE).")
    @Nullable Path store;

    @Option(names = "--log", paramLabel = "NAME", description = "Only this log; may be repeated.")
    List<LogName> logs = new ArrayList<>();

    @Spec CommandSpec spec;

    Acquire(Io io) {
      this.io = io;
    }

    @Override
    public Integer call() throws Exception {
      var request =
          new AcquireRequest(
              Id.random(new SecureRandom()),
              names,
              holder == null ? MachineNames.ofHost().value() : holder,
              duration.toMillis(),
              logs(),
              tentative);
      print(io, LeaseJson.grant(server.client().acquire(request)));
      return ExitCode.GOOD;
    }

    private LogSet logs() throws IOException {
      if (store == null) {
        if (!logs.isEmpty()) {
          throw new ParameterException(spec.commandLine(), "--log needs --store");
        }
        return LogSet.ALL;
      }
      Store opened =
          Store.open(store, Store.Environment.of(MachineNames.ofHost(), SystemTime.INSTANCE));
      var ids = new ArrayList<Id>();
      for (LogName name : logs.isEmpty() ? opened.freshLogs() : logs) {
        ids.add(opened.log(name).id());
      }
      return LogSet.of(ids);
    }
  }

  /** What renewals and releases tell. */
  static final class Report {
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
      return new LeaseReport(
          watermark == null ? OptionalLong.empty() : OptionalLong.of(watermark), fenced, List.of());
    }
  }

  @Command(
      name = "renew",
      mixinStandardHelpOptions = true,
      description = "Prolong the leases of a grant.",
      footer = {"", "Example:", "  cinch lease renew --for 30s 0123456789abcdef0123456789abcdef"})
  @SuppressWarnings("NullAway.Init")
  static final class Renew implements Callable<Integer> {
    private final Io io;

    @Mixin ServerOptions server;
    @Mixin Report report;

    @Parameters(paramLabel = "ID", description = "The grant's secret id.")
    Id id;

    @Option(
        names = "--for",
        paramLabel = "DURATION",
        defaultValue = "30s",
        description = "How long from now; ${DEFAULT-VALUE}.")
    Duration duration;

    Renew(Io io) {
      this.io = io;
    }

    @Override
    public Integer call() throws Exception {
      Grant grant = server.client().renew(id, duration.toMillis(), LogSet.NONE, report.report());
      print(io, LeaseJson.grant(grant));
      return ExitCode.GOOD;
    }
  }

  @Command(
      name = "release",
      mixinStandardHelpOptions = true,
      description = "Give the leases of a grant back. Repeating it is no error.",
      footer = {"", "Example:", "  cinch lease release 0123456789abcdef0123456789abcdef"})
  @SuppressWarnings("NullAway.Init")
  static final class Release implements Callable<Integer> {
    private final Io io;

    @Mixin ServerOptions server;
    @Mixin Report report;

    @Parameters(paramLabel = "ID", description = "The grant's secret id.")
    Id id;

    Release(Io io) {
      this.io = io;
    }

    @Override
    public Integer call() throws Exception {
      server.client().release(id, report.report());
      print(io);
      return ExitCode.GOOD;
    }
  }

  @Command(
      name = "show",
      mixinStandardHelpOptions = true,
      description = "Print what is known about a lease; exit code 3 if nothing is.",
      footer = {"", "Example:", "  cinch lease show jobs/42"})
  @SuppressWarnings("NullAway.Init")
  static final class Show implements Callable<Integer> {
    private final Io io;

    @Mixin ServerOptions server;

    @Parameters(paramLabel = "LEASE", description = "The lease's name.")
    LeaseName name;

    Show(Io io) {
      this.io = io;
    }

    @Override
    public Integer call() throws Exception {
      Optional<LeaseInfo> info = server.client().show(name);
      if (info.isEmpty()) {
        throw new Failure.Refusal("the service knows nothing of " + name);
      }
      print(io, LeaseJson.info(info.get()));
      return ExitCode.GOOD;
    }
  }

  @Command(
      name = "list",
      mixinStandardHelpOptions = true,
      description = "Print what is known about leases, one JSON object a line.",
      footer = {"", "Example:", "  cinch lease list --prefix jobs/"})
  @SuppressWarnings("NullAway.Init")
  static final class Listing implements Callable<Integer> {
    private final Io io;

    @Mixin ServerOptions server;

    @Option(names = "--prefix", paramLabel = "TEXT", defaultValue = "", description = "Of names.")
    String prefix;

    Listing(Io io) {
      this.io = io;
    }

    @Override
    public Integer call() throws Exception {
      var client = server.client();
      Optional<LeaseName> after = Optional.empty();
      try (Output out = io.output()) {
        while (true) {
          List<LeaseInfo> page = client.list(prefix, after, PAGE);
          for (LeaseInfo info : page) {
            out.line(LeaseJson.info(info).toString());
          }
          if (page.size() < PAGE) {
            return ExitCode.GOOD;
          }
          after = Optional.of(page.get(page.size() - 1).witness().name());
        }
      }
    }
  }
}
