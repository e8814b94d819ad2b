package dev.cinch.cli.serve;

import dev.cinch.bag.Store;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Words;
import dev.cinch.bag.registry.InstanceFile;
import dev.cinch.bag.registry.StoreInstances;
import dev.cinch.bag.store.ClockException;
import dev.cinch.bag.store.TrustedKeyFiles;
import dev.cinch.cli.base.ExitCode;
import dev.cinch.cli.base.Failure;
import dev.cinch.cli.base.Io;
import dev.cinch.cli.base.MachineNames;
import dev.cinch.cli.base.Misuse;
import dev.cinch.cli.base.Output;
import dev.cinch.cli.base.ShardChoice;
import dev.cinch.cli.base.StoreOptions;
import dev.cinch.lease.HostPort;
import dev.cinch.lease.ServiceInfo;
import dev.cinch.lease.Shard;
import dev.cinch.lease.access.Access;
import dev.cinch.lease.client.ServerAddresses;
import dev.cinch.lease.instance.ServiceInstance;
import dev.cinch.lease.server.LeaseServer;
import dev.cinch.lease.time.SystemTime;
import dev.cinch.lease.time.TimeBounds;
import dev.cinch.lease.time.TimeSource;
import dev.cinch.lease.witness.GrantSigner;
import dev.cinch.lease.witness.SigningKey;
import dev.cinch.lease.witness.WitnessSigner;
import java.io.IOException;
import java.net.InetAddress;
import java.net.URI;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Runs a lease service in memory. */
@Command(
    name = "serve",
    sortOptions = false,
    description = {
      "Run a lease service that keeps everything in memory, until it is told to stop (SIGTERM).",
      "It then answers what is under way, for 5 seconds at most; a second signal ends it at once."
          + " Prints a line with its address once it listens."
    },
    footer = {
      "",
      "With --store it leaves its number, its address and its ceilings there. So a restart needs to"
          + " trust no clock. When it ends by a signal it leaves what is held, too, and the next one"
          + " grants all else at once. A second server finds the first, and refuses to start (exit code 3)."
          + " Without --store a restart relies on waiting out the longest lease.",
      "",
      "Example:",
      "  cinch serve --store /mnt/shared/store --key cinch.key --port 8470"
    })
@SuppressWarnings("NullAway.Init") // picocli sets the fields
public final class ServeCommand implements Callable<Integer> {
  private final Io io;

  @Spec CommandSpec spec;

  @Option(
      names = "--store",
      paramLabel = "DIR",
      description =
          "A store that trusts its key, or has none yet, and keeps its number (or CINCH_STORE).")
  @Nullable Name store;

  @Option(
      names = "--key",
      paramLabel = "FILE",
      defaultValue = "cinch.key",
      description =
          "The signing key, made with mode 0600 if there is none and the store has none. With a"
              + " cell the node's own, beside the cell's file unless it is said.")
  Path key;

  @Option(
      names = "--host",
      paramLabel = "ADDRESS",
      defaultValue = "127.0.0.1",
      description = "Where to listen.")
  String host;

  @Option(
      names = "--advertise",
      paramLabel = "URL",
      description =
          "Where others find it, left in the store for the next server; the address that it listens"
              + " at, or http://HOSTNAME:PORT if that is every one. Names in it are answered to. Of"
              + " a server with several names all, with commas between them.")
  @Nullable String advertise;

  @Option(
      names = "--replace",
      description = "Start also while another server of this store answers, and end that one.")
  boolean replace;

  @Option(
      names = "--port",
      paramLabel = "PORT",
      defaultValue = "8470",
      description = "0 for any that is free.")
  int port;

  @Option(
      names = "--connections",
      paramLabel = "N",
      description =
          "How many connections may be open; 4096, or fewer if memory or descriptors are short."
              + " Above that newcomers take the places of those that never renewed a lease.")
  @Nullable Integer connections;

  @Option(
      names = "--connections-per-address",
      paramLabel = "N",
      description = "How many of them from one address; half of all.")
  @Nullable Integer connectionsPerAddress;

  @Option(
      names = "--longest-lease",
      paramLabel = "DURATION",
      description =
          "The longest lease that it grants; that of cinch init, or 60s. With --store it may be"
              + " another one at each start.")
  @Nullable Duration longestLease;

  @Option(
      names = "--first",
      description =
          "You vouch that no lease of an earlier service is valid: grant at once. Without --store;"
              + " or with a new cell, at the first start of each node.")
  boolean first;

  @Mixin ServeAccess access;
  @Mixin ServeBackend backend;
  @Mixin ServeTime times;
  @Mixin ShardChoice shards;

  @Option(
      names = "--clock-offset",
      hidden = true,
      paramLabel = "DURATION",
      defaultValue = "0s",
      description = "For demonstrations: play a machine whose wall clock is off by so much.")
  Duration clockOffset;

  @Option(
      names = "--clock-rate",
      hidden = true,
      paramLabel = "RATE",
      defaultValue = "1",
      description = "For demonstrations: play a machine whose monotonic clock runs so fast.")
  double clockRate;

  ServeCommand(Io io) {
    this.io = io;
  }

  @Override
  public Integer call() throws IOException, InterruptedException {
    try {
      return serve();
    } catch (ClockException e) {
      throw new IOException(e.getMessage(), e); // it may be right soon: units start it again then
    }
  }

  private int serve() throws IOException, InterruptedException {
    if (port < 0 || port > 65_535) {
      throw new Misuse("a port is 0 to 65535, not " + port);
    }
    backend.check(store != null);
    backend.http().ifPresent(this::listenAt);
    backend.signingKey().ifPresent(this::signWith);
    if (first && store != null && !backend.isCell()) {
      throw new Misuse(
          "--first does not go with a store (" + store + "), whose ceilings tell what is valid");
    }
    if (shards.wanted != null && backend.isShared()) {
      throw new Misuse("--shard goes with --backend memory alone");
    }
    if (shards.wanted != null && store == null) {
      throw new Misuse("--shard needs --store, which has the map");
    }
    atLeastOne("--connections", connections);
    if (advertise != null) {
      try {
        var unused = ServerAddresses.parse(new InstanceFile(advertise, "any").address());
      } catch (IllegalArgumentException e) {
        throw new Misuse(String.valueOf(e.getMessage()), e);
      }
    }
    atLeastOne("--connections-per-address", connectionsPerAddress);
    times.check(store != null);
    if (!isLoopback()) {
      access.requireTrusted(host + ":" + port, io);
    }
    requireName();
    TimeSource time = PacedTime.of(new SystemTime(clockOffset.toNanos()), clockRate);
    Store opened = StoreOptions.open(store, time);
    if (opened != null) {
      requireKeyOf(opened);
    }
    SigningKey signing = KeygenCommand.load(key, io, "cinch serve");
    var signer = new WitnessSigner(signing);
    TimeBounds bounds = times.bounds(io, time, opened);
    ServiceInstance.Builder builder = builder(opened, signer, time).bounds(bounds);
    Optional<Shard> shard = opened == null ? Optional.empty() : shards.now(opened.context());
    if (opened != null && shard.isPresent()) {
      if (!backend.isShared()) { // others have the same number
        requireAllGone(opened, shard.get());
      }
    }
    var service = new LateService(opened == null ? null : opened.context());
    var end = new CompletableFuture<Optional<String>>(); // a successor's name, none for a signal
    String id = opened == null ? "" : opened.context().identity().id().toString();
    Access rights = access.rights(key, time);
    LeaseServer.Builder listening =
        server(service, time)
            .access(rights)
            .health(() -> service.health(id))
            .maintenance(
                () -> {
                  service.maintain();
                  service.supersededBy().ifPresent(by -> end.complete(Optional.of(by)));
                });
    try (Output out = io.output();
        LeaseServer server = listening.start();
        ServeBackend.Running unusedNode =
            opened == null
                ? () -> {}
                : backend.start(
                    builder,
                    opened,
                    time,
                    longestMs(opened),
                    first,
                    address(server),
                    signing,
                    () -> requireAllGone(opened, Shard.WHOLE))) {
      io.stop().onRequest(() -> end.complete(Optional.empty()));
      backend.onStop(() -> end.complete(Optional.empty()));
      if (opened != null && shard.isEmpty()) {
        io.stop().listen();
        tell(out, "listening on " + server.uri());
        tell(
            out, "has shard " + shards.wanted + " once cinch shards set has made a map of so many");
        shard = shards.await(opened.context(), io.stop());
        if (shard.isEmpty()) {
          return ExitCode.GOOD;
        }
        if (!backend.isShared()) { // others have the same number
          requireAllGone(opened, shard.get());
        }
        start(service, builder, opened, shard.get(), server, signing);
      } else {
        start(service, builder, opened, shard.orElse(Shard.WHOLE), server, signing);
        io.stop().listen();
        tell(out, "listening on " + server.uri());
      }
      backend.line().ifPresent(line -> tell(out, line));
      tellWait(out, service);
      access.makeToken(key, rights, io).ifPresent(line -> tell(out, line));
      Optional<String> by = end.join();
      if (by.isPresent()
          && opened != null
          && ShardChoice.isMoved(opened.context(), shard.orElseThrow())) {
        handOver(out, service, by.get());
      }
      boolean stopped = backend.hasStopped(); // which it does by itself only where it can't go on
      drain(server);
      if (stopped) {
        throw new IOException("the cell's node stopped, and the log says why; start it again");
      }
      if (by.isEmpty()) {
        service
            .end(time)
            .ifPresent(why -> io.say("cinch serve", "the next server waits for leases: " + why));
        return ExitCode.GOOD;
      }
      throw new Failure.Refusal(
          by.get() + " has taken over; instance " + service.info().instance() + " ends");
    }
  }

  /** The address that the cell's file has, unless another one is given. */
  private void listenAt(URI http) {
    access.requireScheme(http);
    var given = spec.commandLine().getParseResult();
    if (!given.hasMatchedOption("--host")) {
      host = HostPort.of(http).orElseThrow().host().replaceAll("[\\[\\]]", "");
    }
    int its = HostPort.of(http).orElseThrow().port();
    if (!given.hasMatchedOption("--port") && its > 0) {
      port = its;
    }
  }

  /** The node's own key, unless another file is given. */
  private void signWith(Path own) {
    if (!spec.commandLine().getParseResult().hasMatchedOption("--key")) {
      key = own;
    }
  }

  private void requireAllGone(Store opened, Shard shard) throws IOException {
    if (!replace) {
      new EarlierInstance(opened.context(), shard, MachineNames.ofHost(), access.credentials())
          .requireGone()
          .ifPresent(note -> io.say("cinch serve", note));
    }
  }

  private void start(
      LateService service,
      ServiceInstance.Builder builder,
      @Nullable Store opened,
      Shard shard,
      LeaseServer server,
      SigningKey signing)
      throws IOException {
    if (opened != null && !backend.isShared()) {
      builder.registry(
          new StoreInstances(opened.context(), Optional.of(address(server)), shard, signing));
    }
    service.start(builder);
  }

  /**
   * Goes on answering where the shards are until the last lease is over that this server can have
   * granted: its holders know no other address.
   */
  private void handOver(Output out, LateService service, String by) throws InterruptedException {
    ServiceInfo info = service.info();
    long left = info.ceiling().orElse(info.now()) - info.now();
    if (left > 0) {
      tell(out, by + " has taken over; says where for another " + Words.span(left));
      boolean unused = io.stop().await(left);
    }
  }

  /** Lets what is under way be answered: to whom it is not, its outcome is unknown. */
  private void drain(LeaseServer server) {
    int cut = server.drain().toCompletableFuture().join();
    if (cut > 0) {
      io.say(
          "cinch serve",
          "requests cut off after "
              + LeaseServer.DRAIN_MS / 1_000
              + " s without an answer: "
              + cut);
    }
  }

  /** A store that has a key refuses a new one, so a mistyped name must not make one. */
  private void requireKeyOf(Store opened) throws IOException {
    if (Files.notExists(key) && backend.isCell()) {
      throw new Failure.Refusal(
          key + ": no such file: copy this node's key from where cinch cell init has made it");
    }
    if (Files.notExists(key) && TrustedKeyFiles.any(opened.context())) {
      throw new Failure.Refusal(
          key + ": no such file, and " + store + " has its key already: name the file with --key");
    }
  }

  private InstanceFile address(LeaseServer server) {
    String given = advertise;
    if (given == null && !spec.commandLine().getParseResult().hasMatchedOption("--port")) {
      given = backend.http().map(URI::toString).orElse(null); // as the cell's file tells all
    }
    if (given == null) {
      given =
          isEveryAddress()
              ? server.uri().getScheme() + "://" + MachineNames.hostName() + ":" + server.port()
              : server.uri().toString();
    }
    return new InstanceFile(given, MachineNames.ofHost().value());
  }

  /** Clients and the next server read where it is; what they can't read guards nothing. */
  private void requireName() {
    String name = MachineNames.hostName();
    if (store != null
        && advertise == null
        && isEveryAddress()
        && backend.http().isEmpty()
        && HostPort.parse(name + ":1").isEmpty()) {
      throw new Misuse(
          "this machine's name is none of a host: \"%s\"; say where others find the server: --advertise http://NAME:%d"
              .formatted(name, port));
    }
  }

  private boolean isEveryAddress() {
    return host.equals("0.0.0.0") || host.equals("::") || host.equals("0:0:0:0:0:0:0:0");
  }

  /** Says until when it grants nothing, if that is so. */
  private void tellWait(Output out, LateService service) {
    service.health("").obstacle().ifPresent(why -> tell(out, String.valueOf(why.getMessage())));
  }

  private LeaseServer.Builder server(LateService service, TimeSource time) throws IOException {
    var server = LeaseServer.builder(service, service::info).host(host).port(port).names(names());
    backend.tellBy(server, time);
    access.encrypt(server);
    if (store != null) {
      server.store(access.status(store, time));
    }
    if (connections != null) {
      server.connections(connections);
    }
    if (connectionsPerAddress != null) {
      server.connectionsPerAddress(connectionsPerAddress);
    }
    return server;
  }

  /** The names under which it may be asked, beside localhost. */
  private Set<String> names() {
    var names = new LinkedHashSet<String>();
    if (advertise != null) {
      ServerAddresses.parse(advertise).all().forEach(a -> names.add(name(a)));
    }
    backend.http().ifPresent(http -> names.add(name(http)));
    if (!isLoopback()) {
      names.addAll(MachineNames.known());
    }
    return names;
  }

  private static String name(URI address) {
    return HostPort.of(address).orElseThrow().host();
  }

  private boolean isLoopback() {
    try {
      return InetAddress.getByName(host).isLoopbackAddress();
    } catch (UnknownHostException e) {
      return true; // listening there fails, and says so
    }
  }

  private void atLeastOne(String option, @Nullable Integer value) {
    if (value != null && value < 1) {
      throw new Misuse(option + " is at least 1, not " + value);
    }
  }

  /** It has taken a number, which stopped the server before it: it serves, whoever reads this. */
  private void tell(Output out, String line) {
    try {
      out.line(line);
      out.flush();
    } catch (IOException e) {
      io.say("cinch serve", line + "; " + Failure.of(e).line());
    }
  }

  private long longestMs(@Nullable Store opened) {
    long longest = ServiceInstance.DEFAULT_LONGEST_LEASE_MS;
    if (opened != null) {
      longest = opened.settings().longestLeaseMs();
    }
    long wanted = longestLease == null ? longest : longestLease.toMillis();
    long most = backend.longestMs(wanted);
    if (longestLease != null && most < wanted) {
      throw new Misuse("the longest lease of the cell is " + most + " ms, not " + wanted);
    }
    if (longestLease != null && opened != null && wanted <= opened.settings().leaseAboveMs()) {
      throw new Misuse(
          "the longest lease is %d ms; it must be above bucket width + grace + margins, %d ms, or no fence ends in time"
              .formatted(wanted, opened.settings().leaseAboveMs()));
    }
    return most;
  }

  private ServiceInstance.Builder builder(
      @Nullable Store opened, GrantSigner signer, TimeSource time) {
    var builder = ServiceInstance.builder(signer, time).fresh(first);
    try {
      return builder.longestLeaseMs(longestMs(opened));
    } catch (IllegalArgumentException e) {
      throw new Misuse(String.valueOf(e.getMessage()), e);
    }
  }
}
