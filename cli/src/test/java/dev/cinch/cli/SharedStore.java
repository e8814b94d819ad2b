package dev.cinch.cli;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.cinch.bag.Store;
import dev.cinch.bag.model.MachineName;
import dev.cinch.bag.registry.InstanceFile;
import dev.cinch.bag.registry.StoreInstances;
import dev.cinch.bag.registry.StoreShards;
import dev.cinch.bag.store.TrustedKeyFiles;
import dev.cinch.cli.base.MachineNames;
import dev.cinch.cli.serve.LateService;
import dev.cinch.lease.Between;
import dev.cinch.lease.LeaseHost;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.Outcome;
import dev.cinch.lease.Shard;
import dev.cinch.lease.ShardMap;
import dev.cinch.lease.instance.ServiceInstance;
import dev.cinch.lease.server.LeaseServer;
import dev.cinch.lease.time.SystemTime;
import dev.cinch.lease.witness.SigningKey;
import dev.cinch.lease.witness.WitnessSigner;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import org.jspecify.annotations.Nullable;

/** A store that several lease servers within this process share. */
public final class SharedStore implements AutoCloseable {
  private final List<LeaseServer> servers = new ArrayList<>();

  /** What each has refused, and nobody has waited for. */
  private final Map<LeaseServer, Map<Reason, Semaphore>> refusals = new ConcurrentHashMap<>();

  private final Map<LeaseServer, CountDownLatch> superseded = new ConcurrentHashMap<>();

  private final SigningKey key = SigningKey.generate();
  public final Path path;
  final Store store;
  public final Cinch cinch;

  public SharedStore(Path parent) throws Exception {
    path = Cinch.quickStore(parent);
    store = Store.open(path, Store.Environment.of(new MachineName("server"), SystemTime.INSTANCE));
    long unused = TrustedKeyFiles.add(store.context(), key);
    key.write(keyFile());
    cinch = Cinch.on(path);
  }

  private Path keyFile() {
    return path.resolveSibling("cinch.key");
  }

  /** The option of commands that need the store's key. */
  public String key() {
    return "--key=" + keyFile();
  }

  /** Publishes a map of so many shards. */
  public ShardMap set(int shards) throws IOException {
    return StoreShards.publish(store.context(), shards, key);
  }

  /** Starts the server of a shard of the last map. */
  public LeaseServer serve(int shard) throws IOException {
    var service = new LateService(store.context());
    var told = new ConcurrentHashMap<Reason, Semaphore>();
    var over = new CountDownLatch(1);
    LeaseServer server =
        LeaseServer.builder(counting(service, told), service::info)
            .health(() -> service.health(store.context().identity().id().toString()))
            .port(0)
            .maintenance(
                () -> {
                  service.maintain();
                  service.supersededBy().ifPresent(by -> over.countDown());
                })
            .start();
    superseded.put(server, over);
    servers.add(server);
    refusals.put(server, told);
    service.start(
        ServiceInstance.builder(new WitnessSigner(key), SystemTime.INSTANCE)
            .registry(instance(shard, server.uri().toString())));
    return server;
  }

  /** Waits until a server has refused something once more for that reason. */
  public void awaitRefused(LeaseServer server, Reason reason) throws InterruptedException {
    count(Objects.requireNonNull(refusals.get(server)), reason).acquire();
  }

  /** Waits until a server has seen that another one has taken over. */
  public void awaitSuperseded(LeaseServer server) throws InterruptedException {
    Objects.requireNonNull(superseded.get(server)).await();
  }

  private static Semaphore count(Map<Reason, Semaphore> told, Reason reason) {
    return told.computeIfAbsent(reason, unused -> new Semaphore(0));
  }

  private static LeaseHost counting(LateService service, Map<Reason, Semaphore> told) {
    return Between.of(
        LeaseHost.class,
        call -> {
          Object answer = call.by(service);
          count(answer, told);
          return answer;
        });
  }

  private static void count(@Nullable Object answer, Map<Reason, Semaphore> told) {
    if (answer instanceof List<?> several) {
      several.forEach(one -> count(one, told));
    } else if (answer instanceof CompletableFuture<?> later) {
      var unused = later.thenAccept(known -> count(known, told));
    } else if (answer instanceof Outcome.Refused refused) {
      count(told, refused.refusal().reason()).release();
    }
  }

  private StoreInstances instance(int shard, String address) throws IOException {
    var where = new InstanceFile(address, MachineNames.ofHost().value());
    var of = new Shard(StoreShards.look(store.context()).map(), shard);
    return new StoreInstances(store.context(), Optional.of(where), of, key);
  }

  /** Has an instance of a shard in the store that is said to be at an address; its number. */
  @CanIgnoreReturnValue
  public long claim(int shard, String address) throws IOException {
    return instance(shard, address).takeNumber();
  }

  /** Starts one for each shard of the last map. */
  public List<LeaseServer> serveAll() throws IOException {
    var all = new ArrayList<LeaseServer>();
    int count = StoreShards.look(store.context()).map().count();
    for (int shard = 1; shard <= count; shard++) {
      all.add(serve(shard));
    }
    return all;
  }

  /** Waits until so many shards of the last map have a server. */
  public static void awaitServers(Path store, int count) {
    String last = "\"shard\":";
    while (Cinch.on(store).run("shards", "--json").ended(0).out().split(last, -1).length <= count) {
      Thread.onSpinWait(); // each has its place in the map before it answers
    }
  }

  /** A name of a shard, and no other of the same number. */
  public LeaseName name(int shard, int number) throws IOException {
    ShardMap map = StoreShards.look(store.context()).map();
    for (int i = 0; ; i++) {
      var name = new LeaseName("n" + number + "-" + i);
      if (map.shardOf(name) == shard) {
        return name;
      }
    }
  }

  @Override
  public void close() throws IOException {
    for (LeaseServer server : servers) {
      server.close();
    }
  }
}
