package dev.cinch.cli.lease;

import dev.cinch.bag.Session;
import dev.cinch.bag.Store;
import dev.cinch.bag.model.Name;
import dev.cinch.cli.base.ExitCode;
import dev.cinch.cli.base.Io;
import dev.cinch.cli.base.MachineNames;
import dev.cinch.cli.base.Misuse;
import dev.cinch.cli.base.ServerOptions;
import dev.cinch.cli.base.StoppableTime;
import dev.cinch.cli.base.StoreOptions;
import dev.cinch.lease.Grant;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.client.ServerAddresses;
import dev.cinch.lease.hold.HeldLease;
import dev.cinch.lease.hold.LeaseKeeper;
import dev.cinch.lease.hold.LeaseWait;
import dev.cinch.lease.hold.LostAnswers;
import dev.cinch.lease.time.SystemTime;
import java.io.IOException;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Runs a command while leases are held. */
@Command(
    name = "run",
    customSynopsis = "cinch lease run [OPTION]... LEASE... -- COMMAND [ARGUMENT]...",
    description = {
      "Take leases, all or none, run a command while they are held, and give them back.",
      "cinch append within the command writes under them. It finds them by CINCH_GRANT, a directory"
          + " that only this user can open. If the store is named, earlier holders are fenced"
          + " first, so that the command reads all that they wrote and nothing after. If the leases"
          + " can't be renewed, the command and what it started are ended before they can be"
          + " another's. SIGTERM comes when a fifth of the time is left, SIGKILL shortly before the"
          + " end. Signals are passed on to the command; Ctrl-C reaches it by itself. It gets"
          + " arguments, environment, limits and descriptors as if it was run without Cinch. If an"
          + " append within the command was killed, or goes on behind it, the leases are not given"
          + " back, and run out. The next holder waits for that, so nothing is lost or out of"
          + " order. CINCH_FENCE is a token by which other storage keeps out earlier holders of the"
          + " first lease: docs/fencing.md."
    },
    exitCodeList = {
      "any:the command's own; 128 and the signal's number if one ended it",
      "2:the command line is wrong; nothing was run",
      "3:a lease is held by another, and nothing was run; or one was lost, and the command ended",
      "4:no lease service, or no store; nothing was run",
      "126, 127:the command can't be run, or is not there"
    },
    footer = {
      "",
      "Examples:",
      "  cinch lease run nightly -- ./nightly.sh",
      "  cinch lease run --on-lost './page.sh \"$CINCH_LEASE: $CINCH_REASON\"' nightly -- ./nightly.sh",
      "  cinch lease run jobs/42 -- sh -c './job | cinch append --log results'"
    })
@SuppressWarnings("NullAway.Init") // picocli sets the fields
public final class LeaseRunCommand implements Callable<Integer> {
  private static final Duration USUAL = Duration.ofSeconds(60);

  private static final String NAME = "cinch lease run";

  private final Io io;

  @Mixin ServerOptions server;
  @Mixin WaitOption waiting;

  @Option(
      names = "--for",
      paramLabel = "DURATION",
      description =
          "How long leases last unless renewed, which happens by itself; 60s unless set, or as long"
              + " as is allowed. A service that is away for less than half of that ends no"
              + " command.")
  @Nullable Duration length;

  @Option(
      names = "--holder",
      paramLabel = "TEXT",
      description = "Who holds them, as others are told; machine and process unless set.")
  @Nullable String holder;

  @Option(
      names = "--store",
      paramLabel = "DIR",
      description = "Fence what earlier holders wrote there first (or CINCH_STORE).")
  @Nullable Name store;

  @Option(
      names = "--on-lost",
      paramLabel = "COMMAND",
      description =
          "A shell's command, run when the leases can't be renewed any more or were revoked, before"
              + " the other one is ended. It has CINCH_LEASE, CINCH_REASON, and in CINCH_LEFT_MS the"
              + " time until the leases can be another's. The other one is ended when it is over, or"
              + " half of that time is.")
  @Nullable String onLost;

  @Parameters(arity = "1..*", paramLabel = "LEASE", description = "The leases' names.")
  List<LeaseName> names;

  /** Whether something stands behind {@code --}, where there is no launcher that runs it. */
  public boolean hasCommand;

  LeaseRunCommand(Io io) {
    this.io = io;
  }

  /**
   * Where the arguments of this command end, so that what stands behind is another command with
   * options of its own; -1 if they don't, or are of another command. The launcher goes by the same.
   */
  public static int end(List<String> args) {
    List<String> words = List.of("lease", "run");
    int met = 0;
    for (int i = 0; i < args.size(); i++) {
      String arg = args.get(i);
      if (met == 2) {
        if (arg.equals("--")) {
          return i;
        }
      } else if (arg.equals(words.get(met))) {
        met++;
      } else if (!arg.startsWith("-")) {
        return -1;
      }
    }
    return -1;
  }

  @Override
  public Integer call() throws Exception {
    Duration wait = waiting.checked();
    LeaseClient.checkNames(names);
    RunningCommand running = RunningCommand.ofLauncher(io);
    if (running == null && !hasCommand) {
      throw new Misuse("name a command to run: cinch lease run LEASE... -- COMMAND");
    }
    if (length != null && length.toMillis() < 1) {
      throw new Misuse("--for is at least 1ms");
    }
    if (running == null) {
      throw new IOException(
          "Java alone can't run a command under leases; start Cinch with its launcher, bin/cinch");
    }
    ServerAddresses servers = server.required();
    var time = new StoppableTime(SystemTime.INSTANCE, io.stop());
    Store opened = StoreOptions.open(store, time);
    var client = new LeaseClient(servers, server.credentials.get());
    try (var keeper = new LeaseKeeper(time)) {
      HeldLease held;
      try {
        Consumer<String> say = line -> io.say(NAME, line);
        var random = new SecureRandom();
        var taking =
            new LeaseWait(wait, time, time::queued, random, say, io.terminal() ? say : null);
        held =
            opened == null
                ? bare(client, keeper, taking)
                : fenced(opened, client, taking).leases().get(0);
      } catch (IllegalArgumentException e) {
        throw new Misuse(String.valueOf(e.getMessage()), e);
      } catch (InterruptedException e) {
        if (!io.stop().requested()) {
          throw e;
        }
        io.say(NAME, "stopped by " + io.stop().name() + "; nothing was run");
        return io.stop().exitCode();
      }
      time.settle();
      return run(held, length(client, opened), servers, running);
    }
  }

  private String holder() {
    return holder != null ? holder : MachineNames.ofHost() + "/" + ProcessHandle.current().pid();
  }

  /** How long leases last; asked for once. */
  private Duration length(LeaseClient client, @Nullable Store opened)
      throws LeaseUnavailableException {
    Duration given = length;
    if (given == null) {
      given = client.usual(opened == null ? USUAL : LeaseClient.enough(USUAL, opened));
      length = given;
    }
    return given;
  }

  /** Without a store nothing is fenced here. */
  private HeldLease bare(LeaseClient client, LeaseKeeper keeper, LeaseWait taking)
      throws Exception {
    var asks = new LostAnswers(client.service());
    HeldLease held =
        taking.take(
            asks,
            asking ->
                asks.hold(
                    names,
                    holder(),
                    length(client, null),
                    asking,
                    SystemTime.INSTANCE,
                    (lost, why) -> {}));
    keeper.keep(held);
    return held;
  }

  /** A session that is never closed: whether the leases are given back is decided here. */
  private Session fenced(Store opened, LeaseClient client, LeaseWait taking)
      throws LeaseRefusedException, LeaseUnavailableException, IOException, InterruptedException {
    Session session = Session.open(opened, client.service(), holder());
    boolean taken = false;
    try {
      Grant unused = taking.take(asking -> session.acquire(names, length(client, opened), asking));
      taken = true;
      return session;
    } finally {
      if (!taken) {
        session.close();
      }
    }
  }

  private int run(HeldLease held, Duration length, ServerAddresses servers, RunningCommand running)
      throws IOException, InterruptedException {
    GrantDirectory grant = shared(held, length, servers);
    List<String> variables = new ArrayList<>();
    variables.add(GrantOption.VARIABLE + "=" + grant.path());
    variables.add("CINCH_FENCE=" + fence(held));
    variables.add("CINCH_SERVER=" + servers);
    if (store != null) {
      variables.add("CINCH_STORE=" + (store.isDirectory() ? store.path().toAbsolutePath() : store));
    }
    var countdown =
        new LeaseCountdown(length.toNanos(), line -> io.say(NAME, line), hook(variables));
    // Whatever this throws, the guard ends the command, and the leases run out.
    running.begin(variables, grant.limits(), countdown.limits(held.deadline()));
    boolean byItself = countdown.attend(running, held);
    if (running.wasForsaken()) {
      io.say(NAME, "its launcher was killed, and so the command");
    }
    running.done();
    givingBack(held).give(grant);
    return byItself && !running.wasForsaken() ? ExitCode.GOOD : ExitCode.REFUSED;
  }

  private LeaseCountdown.Hook hook(List<String> variables) {
    if (onLost == null) {
      return LeaseCountdown.Hook.NONE;
    }
    var all = new ArrayList<>(variables);
    all.add("CINCH_LEASE=" + names.stream().map(LeaseName::value).collect(Collectors.joining(" ")));
    return new ShellHook(onLost, all, line -> io.say(NAME, line));
  }

  /** What other storage knows this holder by: docs/fencing.md. */
  private String fence(HeldLease held) {
    return held.witnesses().stream()
        .map(SignedWitness::witness)
        .filter(witness -> witness.name().equals(names.get(0)))
        .findFirst()
        .orElseThrow()
        .fencingToken();
  }

  private GivingBack givingBack(HeldLease held) {
    return new GivingBack(held, SystemTime.INSTANCE, line -> io.say(NAME, line));
  }

  private GrantDirectory shared(HeldLease held, Duration length, ServerAddresses servers)
      throws IOException, InterruptedException {
    try {
      return GrantDirectory.make(held.id(), servers, length, io.env());
    } catch (IOException e) {
      givingBack(held).giveUnused();
      throw e;
    }
  }
}
