package dev.cinch.cli;

import dev.cinch.bag.Store;
import dev.cinch.bag.store.StoreInstances;
import dev.cinch.bag.store.TrustedKeyFiles;
import dev.cinch.lease.http.LeaseServer;
import dev.cinch.lease.memory.MemoryLeaseService;
import dev.cinch.lease.time.SystemTime;
import dev.cinch.lease.witness.SigningKey;
import dev.cinch.lease.witness.WitnessSigner;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Runs a lease service in memory. */
@Command(
    name = "serve",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    description = {
      "Run a lease service that keeps everything in memory, until it is told to stop (SIGTERM).",
      "Prints a line with its address once it listens."
    },
    footer = {
      "",
      "With --store it leaves its number and its ceilings there, so that a restart needs to trust",
      "no clock; without, a restart relies on waiting out the longest lease.",
      "",
      "Example:",
      "  cinch serve --store /mnt/shared/store --key cinch.key --port 8470"
    })
@SuppressWarnings("NullAway.Init") // picocli sets the fields
final class ServeCommand implements Callable<Integer> {
  private final Io io;

  @Spec CommandSpec spec;

  @Option(
      names = "--store",
      paramLabel = "DIR",
      description =
          "A store that trusts its key, or has none yet, and keeps its number (or CINCH_STORE).")
  @Nullable Path store;

  @Option(
      names = "--key",
      paramLabel = "FILE",
      defaultValue = "cinch.key",
      description = "The signing key, made with mode 0600 if there is none.")
  Path key;

  @Option(
      names = "--host",
      paramLabel = "ADDRESS",
      defaultValue = "127.0.0.1",
      description = "Where to listen.")
  String host;

  @Option(
      names = "--port",
      paramLabel = "PORT",
      defaultValue = "8470",
      description = "0 for any that is free.")
  int port;

  @Option(
      names = "--connections",
      paramLabel = "N",
      description = {
        "How many connections may be open; 4096, or fewer if memory or descriptors are short.",
        "Above that newcomers take the places of those that never renewed a lease."
      })
  @Nullable Integer connections;

  @Option(
      names = "--connections-per-address",
      paramLabel = "N",
      description = "How many of them from one address; half of all.")
  @Nullable Integer connectionsPerAddress;

  @Option(
      names = "--longest-lease",
      paramLabel = "DURATION",
      description = "The longest lease that it grants; the store's, or 60s.")
  @Nullable Duration longestLease;

  @Option(
      names = "--first",
      description = {
        "You vouch that no lease of an earlier service is valid: grant at once. Only without",
        "--store."
      })
  boolean first;

  @Option(
      names = "--clock-offset",
      hidden = true,
      paramLabel = "DURATION",
      defaultValue = "0s",
      description = "For demonstrations: play a machine whose wall clock is off by so much.")
  Duration clockOffset;

  ServeCommand(Io io) {
    this.io = io;
  }

  @Override
  public Integer call() throws IOException, InterruptedException {
    if (port < 0 || port > 65_535) {
      throw new ParameterException(spec.commandLine(), "a port is 0 to 65535, not " + port);
    }
    if (first && store != null) {
      throw new ParameterException(
          spec.commandLine(),
          "--first does not go with a store (" + store + "), whose ceilings tell what is valid");
    }
    atLeastOne("--connections", connections);
    atLeastOne("--connections-per-address", connectionsPerAddress);
    var time = new SystemTime(clockOffset.toNanos());
    Store opened =
        store == null
            ? null
            : Store.open(
                store, HangWatch.watched(Store.Environment.of(MachineNames.ofHost(), time)));
    SigningKey signing = KeygenCommand.load(key, io, "cinch serve");
    MemoryLeaseService.Builder builder = builder(opened, signing, time);
    var service = new LateService();
    try (Output out = io.output();
        LeaseServer server = server(service).start()) {
      // Only now what can't be undone: a server that can't listen must not stop the one before it.
      if (opened != null) {
        long unused = TrustedKeyFiles.add(opened.context(), signing);
      }
      service.start(builder);
      var stopped = new CountDownLatch(1);
      var hook = new Thread(() -> stop(server, stopped), "cinch-stop");
      Runtime.getRuntime().addShutdownHook(hook);
      tell(out, "listening on " + server.uri());
      stopped.await();
    }
    return ExitCode.GOOD;
  }

  private LeaseServer.Builder server(LateService service) {
    var server =
        LeaseServer.builder(service, service::info)
            .host(host)
            .port(port)
            .maintenance(service::maintain);
    if (connections != null) {
      server.connections(connections);
    }
    if (connectionsPerAddress != null) {
      server.connectionsPerAddress(connectionsPerAddress);
    }
    return server;
  }

  private void atLeastOne(String option, @Nullable Integer value) {
    if (value != null && value < 1) {
      throw new ParameterException(spec.commandLine(), option + " is at least 1, not " + value);
    }
  }

  /** It has taken a number, which stopped the server before it: it serves, whoever reads this. */
  private void tell(Output out, String line) {
    try {
      out.line(line);
      out.flush();
    } catch (IOException e) {
      Commands.say(io, "cinch serve", line + "; " + Failure.of(e).line());
    }
  }

  /** SIGTERM is the normal way to end: ends with 0, which only halting in a hook can do. */
  private static void stop(LeaseServer server, CountDownLatch stopped) {
    try {
      server.close();
      Runtime.getRuntime().halt(ExitCode.GOOD);
    } catch (IOException e) {
      Runtime.getRuntime().halt(ExitCode.UNAVAILABLE);
    } finally {
      stopped.countDown();
    }
  }

  private MemoryLeaseService.Builder builder(
      @Nullable Store opened, SigningKey signing, SystemTime time) {
    var builder = MemoryLeaseService.builder(new WitnessSigner(signing), time).fresh(first);
    long longest = MemoryLeaseService.DEFAULT_LONGEST_LEASE_MS;
    if (opened != null) {
      builder.registry(new StoreInstances(opened.context()));
      longest = opened.settings().longestLeaseMs();
    }
    try {
      return builder.longestLeaseMs(longestLease == null ? longest : longestLease.toMillis());
    } catch (IllegalArgumentException e) {
      throw new ParameterException(spec.commandLine(), String.valueOf(e.getMessage()), e);
    }
  }
}
