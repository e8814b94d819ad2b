package dev.cinch.cli.lease;

import dev.cinch.bag.Log;
import dev.cinch.bag.Session;
import dev.cinch.bag.Store;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.Name;
import dev.cinch.cli.base.ExitCode;
import dev.cinch.cli.base.Io;
import dev.cinch.cli.base.MachineNames;
import dev.cinch.cli.base.Misuse;
import dev.cinch.cli.base.StoppableTime;
import dev.cinch.cli.base.StoreOptions;
import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseService;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.OneLine;
import dev.cinch.lease.Operation;
import dev.cinch.lease.hold.LeaseWait;
import dev.cinch.lease.hold.LostAnswers;
import dev.cinch.lease.time.SystemTime;
import dev.cinch.lease.wire.LeaseDocuments;
import java.io.IOException;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Takes leases. */
@Command(
    name = "acquire",
    description = {
      "Take leases, all or none, and print the grant with its secret id and signed witnesses.",
      "Appends under leases take and renew their own: see cinch append --lease. Commands run under"
          + " leases with cinch lease run."
    },
    footer = {
      "",
      "Examples:",
      "  cinch lease acquire --for 30s --holder worker-7 jobs/42",
      "  cinch lease acquire --wait 5m jobs/42",
      "  eval \"$(cinch lease acquire --export jobs/42)\"",
      "  cinch append --log jobs results.txt && cinch lease release"
    })
@SuppressWarnings("NullAway.Init") // picocli sets the fields
final class LeaseAcquireCommand extends LeaseRequest {
  @Spec CommandSpec spec;
  @Mixin AlwaysJson json;
  @Mixin ForOption length;
  @Mixin WaitOption waiting;

  @Parameters(arity = "1..*", paramLabel = "LEASE", description = "The leases' names.")
  List<LeaseName> names;

  @Option(
      names = "--holder",
      paramLabel = "TEXT",
      description = "Who holds it, as others are told; the machine's name unless set.")
  @Nullable String holder;

  @Option(names = "--tentative", description = "Permits no writes, and anyone may break it.")
  boolean tentative;

  @Option(
      names = "--store",
      paramLabel = "DIR",
      description = "Permit the logs of this store; every log unless set (or CINCH_STORE).")
  @Nullable Name store;

  @Option(
      names = "--export",
      description =
          "Print what sets CINCH_GRANT and CINCH_SERVER, for eval: append, lease renew and lease"
              + " release in that shell work with the leases. They run out unless they are"
              + " renewed.")
  boolean export;

  @Option(
      names = "--log",
      paramLabel = "NAME",
      showDefaultValue = CommandLine.Help.Visibility.NEVER,
      description = "Permit writes to this log alone; may be repeated.")
  List<LogName> logs = new ArrayList<>();

  LeaseAcquireCommand(Io io) {
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
      say("stopped by " + io.stop().name() + "; no lease was taken");
      return io.stop().exitCode();
    }
  }

  @Override
  void ask(LeaseClient client, Printer printer) throws Exception {
    Duration wait = waiting.checked();
    LeaseClient.checkNames(names);
    if (holder != null) {
      try {
        OneLine.check("--holder", holder);
      } catch (IllegalArgumentException e) {
        throw new Misuse(String.valueOf(e.getMessage()), e);
      }
    }
    Store opened = StoreOptions.open(store, SystemTime.INSTANCE);
    LogSet permitted = logs(opened);
    var random = new SecureRandom();
    var asks = new LostAnswers(client.service());
    var time = new StoppableTime(SystemTime.INSTANCE, io.stop());
    io.stop().listen();
    Grant grant =
        new LeaseWait(wait, time, time::queued, random, this::say, io.terminal() ? this::say : null)
            .take(
                asks,
                asking -> {
                  Grant taken = asks.acquire(request(client, Id.random(random), permitted), asking);
                  if (io.stop().requested()) {
                    asks.lost(taken.id()); // whoever sent the signal does not wait for its id
                    throw new InterruptedException("stopped by " + io.stop().name());
                  }
                  return taken;
                });
    if (opened != null) {
      requireStore(opened, client.service(), grant);
    }
    if (export) {
      GrantDirectory made = directory(client, grant);
      printer.line(
          "export CINCH_GRANT=" + quoted(made.path()) + " CINCH_SERVER=" + quoted(made.servers()));
    } else {
      printer.print(LeaseDocuments.json(grant));
    }
  }

  private static void requireStore(Store opened, LeaseService client, Grant grant)
      throws Exception {
    try {
      Session.requireStore(opened, grant);
    } catch (IOException e) {
      giveBack(client, grant);
      throw e;
    }
  }

  private static void giveBack(LeaseService client, Grant grant) throws Exception {
    var back = new LostAnswers(client);
    back.lost(grant.id()); // nobody will know it
    back.giveBack();
  }

  private GrantDirectory directory(LeaseClient client, Grant grant) throws Exception {
    try {
      return GrantDirectory.make(grant.id(), server.required(), length.of(client), io.env());
    } catch (IOException e) {
      giveBack(client.service(), grant);
      throw e;
    }
  }

  private static String quoted(Object text) {
    return "'" + text.toString().replace("'", "'\\''") + "'";
  }

  private void say(String line) {
    io.say(spec.qualifiedName(), line);
  }

  private Operation.Acquire request(LeaseClient client, Id id, LogSet permitted)
      throws LeaseUnavailableException {
    return new Operation.Acquire(
        id,
        names,
        holder == null ? MachineNames.ofHost().value() : holder,
        length.of(client).toMillis(),
        permitted,
        tentative);
  }

  private LogSet logs(@Nullable Store opened) throws IOException {
    if (opened == null) {
      if (!logs.isEmpty()) {
        throw new Misuse("--log needs --store");
      }
      return LogSet.ALL;
    }
    if (logs.isEmpty()) {
      return LogSet.of(opened.whole(opened.permittedLogs()).stream().map(Log::id).toList());
    }
    var ids = new ArrayList<Id>();
    for (LogName name : logs) {
      ids.add(opened.log(name).id());
    }
    return LogSet.of(ids);
  }
}
