package dev.cinch.cli.serve;

import dev.cinch.bag.Store;
import dev.cinch.bag.model.Words;
import dev.cinch.bag.registry.InstanceFile;
import dev.cinch.bag.registry.InstanceServers;
import dev.cinch.bag.registry.StoreInstances;
import dev.cinch.bag.registry.StoreShards;
import dev.cinch.bag.store.StoreContext;
import dev.cinch.bag.store.TrustedKeyFiles;
import dev.cinch.cli.base.Failure;
import dev.cinch.cli.base.Misuse;
import dev.cinch.lease.cell.net.CellFile;
import dev.cinch.lease.cell.net.CellNode;
import dev.cinch.lease.cell.net.CellSettings;
import dev.cinch.lease.cell.net.CellStatus;
import dev.cinch.lease.etcd.EtcdCluster;
import dev.cinch.lease.etcd.EtcdInstance;
import dev.cinch.lease.etcd.EtcdRegister;
import dev.cinch.lease.instance.ServiceInstance;
import dev.cinch.lease.register.CellRegister;
import dev.cinch.lease.register.RegisterBackend;
import dev.cinch.lease.server.LeaseServer;
import dev.cinch.lease.time.TimeSource;
import dev.cinch.lease.witness.SigningKey;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Where {@code cinch serve} keeps who has which lease: in memory, at a cell of nodes, in etcd. */
@SuppressWarnings("NullAway.Init") // picocli sets the fields
public final class ServeBackend {
  private static final Logger log = LoggerFactory.getLogger(ServeBackend.class);
  private static final String MEMORY = "memory";

  /** How often a number is taken at most, where others do the same. */
  private static final int ATTEMPTS = 3;

  @Option(
      names = "--backend",
      paramLabel = "NAME",
      defaultValue = MEMORY,
      description =
          "Where leases are kept: memory, this process's alone; paxoslease or flease, the nodes of"
              + " a cell, which goes on while a majority of them does; or etcd. Servers of the same"
              + " cell or etcd serve the same leases.")
  public String backend;

  @Option(
      names = "--cell",
      paramLabel = "FILE",
      description = "The cell, as cinch cell init made it; needs --node and --store.")
  public @Nullable Path cell;

  @Option(
      names = "--node",
      paramLabel = "ID",
      description =
          "Which node of the cell this is; --host, --port and --advertise are those of its address"
              + " for clients there, unless given.")
  public @Nullable Integer node;

  @Option(
      names = "--node-dir",
      paramLabel = "DIR",
      description =
          "Keeps how often this node has started, and is no other node's; cinch-node-ID here. A"
              + " node that has lost it must not come back to the cell.")
  public @Nullable Path directory;

  @Mixin EtcdOptions etcd;

  /** The etcd that is named; null with leases elsewhere. */
  private @Nullable EtcdCluster cluster;

  /** The file, once it is read; null with leases in memory. */
  private @Nullable CellFile file;

  private @Nullable CellNode running;

  /** Of gRPC, whose failures are told; Java's own logging would print them as well. */
  private java.util.logging.@Nullable Logger quiet;

  /** What is to be said of etcd, once it is known. */
  private @Nullable String told;

  /** Refuses what does not fit together, and reads the cell's file. */
  public void check(boolean hasStore) throws IOException {
    boolean known = backend.equals("paxoslease") || backend.equals("flease");
    if (!known && !backend.equals(MEMORY) && !isEtcd()) {
      throw new Misuse("--backend is memory, paxoslease, flease or etcd, not " + backend);
    }
    etcd.check();
    if (isEtcd() != etcd.isGiven()) {
      throw new Misuse("--backend etcd and --etcd URL go together");
    }
    if (isEtcd() && !hasStore) {
      throw new Misuse("--backend etcd needs --store DIR");
    }
    cluster = isEtcd() ? etcd.cluster() : null;
    if (!known) {
      if (cell != null || node != null || directory != null) {
        throw new Misuse("--cell, --node and --node-dir go with --backend paxoslease or flease");
      }
      return;
    }
    if (cell == null || node == null || !hasStore) {
      throw new Misuse(
          "--backend "
              + backend
              + " needs --cell FILE, --node ID and --store DIR; cinch cell init makes the file");
    }
    CellFile read = CellFile.read(cell);
    if (!read.algorithm().name().equals(backend)) {
      throw new Failure.Refusal(
          cell + ": a cell of " + read.algorithm().name() + ", not of " + backend);
    }
    if (read.nodes().stream().noneMatch(n -> n.id() == node)) {
      throw new Misuse(
          "%s has no node %d; it has %s"
              .formatted(cell, node, read.nodes().stream().map(n -> n.id()).toList()));
    }
    file = read;
  }

  /** Whether a cell has the leases. */
  boolean isCell() {
    return file != null;
  }

  private boolean isEtcd() {
    return backend.equals("etcd");
  }

  /** Whether other servers may have the same leases, and be the same instance. */
  boolean isShared() {
    return isCell() || isEtcd();
  }

  /** Where clients find this node; empty with leases in memory. */
  Optional<URI> http() {
    return file == null || node == null
        ? Optional.empty()
        : Optional.of(URI.create(file.node(node).http()));
  }

  /** The longest lease that can be granted, milliseconds. */
  long longestMs(long otherwise) {
    return file == null
        ? otherwise
        : Math.min(otherwise, TimeUnit.NANOSECONDS.toMillis(file.algorithm().longest()));
  }

  /** Has the server tell how the node is. */
  void tellBy(LeaseServer.Builder server, TimeSource time) {
    CellFile of = file;
    if (of != null) {
      server.cell(CellStatus.supplier(of, () -> Optional.ofNullable(running), time));
    }
  }

  /** Where this node's signing key is unless it is said; empty with leases in memory. */
  public Optional<Path> signingKey() {
    return file == null || cell == null || node == null
        ? Optional.empty()
        : Optional.of(file.signingKey(cell, node));
  }

  /** What a node does until it is closed. */
  public interface Running extends AutoCloseable {
    @Override
    void close() throws IOException;
  }

  /** Refuses where another server of the store answers. */
  public interface Gone {
    void require() throws IOException;
  }

  /**
   * Starts what keeps the leases, and has the service use it.
   *
   * @param first whether the cell is said to be new
   * @param where clients find this server
   * @param gone asked before an instance takes over the store
   */
  public Running start(
      ServiceInstance.Builder service,
      Store store,
      TimeSource time,
      long longestLeaseMs,
      boolean first,
      InstanceFile where,
      SigningKey key,
      Gone gone)
      throws IOException {
    EtcdCluster in = cluster;
    if (in != null) {
      return startEtcd(in, service, store, time, longestLeaseMs, where, key, gone);
    }
    if (cell == null || node == null || file == null) {
      return () -> {};
    }
    CellFile of = CellFile.read(cell, store.context().identity().id());
    long unused = TrustedKeyFiles.add(store.context(), key); // before it signs anything (rule F3)
    CellNode started = CellNode.start(of, node, ownDirectory(), CellSettings.DEFAULT, time, first);
    running = started;
    join(store, of.instance(), where, key);
    long apartMs = apartMs(store);
    service
        .registry(
            StoreInstances.ofCell(store.context(), of.instance(), key)
                .clockWithin(of.algorithm().clockWithin()))
        .backend(
            RegisterBackend.on(
                new CellRegister(started, RandomGenerator.getDefault()),
                TimeUnit.MILLISECONDS.toNanos(of.sinceMs() - apartMs),
                longestLeaseMs,
                apartMs));
    return started::close;
  }

  /** How far two clocks are apart at most that the store allows. */
  public static long apartMs(Store store) {
    return TimeUnit.NANOSECONDS.toMillis(store.settings().clocksApartNanos());
  }

  private Running startEtcd(
      EtcdCluster in,
      ServiceInstance.Builder service,
      Store store,
      TimeSource time,
      long longestLeaseMs,
      InstanceFile where,
      SigningKey key,
      Gone gone)
      throws IOException {
    java.util.logging.Logger grpc = java.util.logging.Logger.getLogger("io.grpc");
    grpc.setLevel(java.util.logging.Level.OFF);
    quiet = grpc; // or Java forgets what it is set to
    StoreContext context = store.context();
    long unused = TrustedKeyFiles.add(context, key); // also of a number that is there already
    RandomGenerator random = RandomGenerator.getDefault();
    EtcdInstance.Claim claim;
    String prefix;
    try (var instance = new EtcdInstance(in, context.identity().id(), time, random)) {
      claim = claim(instance, context, time, where, key, gone);
      prefix = instance.prefix(claim);
    }
    join(store, claim.number(), where, key);
    long apartMs = apartMs(store);
    EtcdRegister register = EtcdRegister.of(in, prefix, longestLeaseMs + 2 * apartMs, time, random);
    told = "instance %d, whose leases are in %s".formatted(claim.number(), register);
    service
        .registry(StoreInstances.ofCell(context, claim.number(), key))
        .backend(
            RegisterBackend.on(
                register,
                TimeUnit.MILLISECONDS.toNanos(claim.sinceMs() - apartMs),
                longestLeaseMs,
                apartMs));
    return register::close;
  }

  /** Has holders, and status, find this server of an instance, too. */
  private static void join(Store store, long number, InstanceFile where, SigningKey key)
      throws IOException {
    if (!InstanceServers.join(store.context(), number, where, key)) {
      log.warn(
          "instance {} has as many addresses as the store takes: clients find {} by --server alone",
          number,
          where.address());
    }
  }

  /** The instance that etcd has, if it is the store's latest; else a new one. */
  private static EtcdInstance.Claim claim(
      EtcdInstance instance,
      StoreContext store,
      TimeSource time,
      InstanceFile where,
      SigningKey key,
      Gone gone)
      throws IOException {
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
      Optional<EtcdInstance.Claim> last = instance.read();
      long latest = StoreInstances.latest(store).map(StoreShards.Instance::number).orElse(0L);
      if (last.isPresent() && last.get().number() == latest) {
        return last.get();
      }
      gone.require();
      long sinceMs = TimeUnit.NANOSECONDS.toMillis(time.wallNanos());
      var next =
          new EtcdInstance.Claim(new StoreInstances(store, where, key).takeNumber(), sinceMs);
      if (instance.replace(last, next)) {
        return next;
      }
    }
    throw new Failure.Refusal("other servers take over the store at this moment; start again");
  }

  /** Has somebody told when the node has stopped, whatever for; on any thread. */
  void onStop(Runnable told) {
    if (running != null) {
      var unused = running.stopped().thenRun(told);
    }
  }

  /** Whether there is a node, and it has stopped. */
  boolean hasStopped() {
    return running != null && running.stopped().isDone();
  }

  private Path ownDirectory() {
    return directory == null ? Path.of("cinch-node-" + node) : directory;
  }

  /** What is to be said of the node when it has started; empty with leases in memory. */
  Optional<String> line() {
    if (told != null) {
      return Optional.of(told);
    }
    CellNode started = running;
    CellFile of = file;
    if (started == null || of == null) {
      return Optional.empty();
    }
    CellStatus status = started.status().join();
    long silent = Math.max(0, status.quarantinedUntil() - status.now());
    String what =
        "node %d of %d, instance %d; the cell grants leases while %d of them vote"
            .formatted(node, of.nodes().size(), of.instance(), of.majority());
    if (silent == 0) {
      return Optional.of(what);
    }
    String why =
        status.boot() > 1
            ? "as after every start"
            : "as after a start without --first. It is the first one in %s: if the node has started"
                    .formatted(ownDirectory().toAbsolutePath())
                + " before, stop it, and name its directory by --node-dir";
    return Optional.of(what + ", and this one does in " + Words.span(silent) + ", " + why);
  }
}
