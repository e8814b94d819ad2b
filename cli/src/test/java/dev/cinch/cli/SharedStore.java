package dev.cinch.cli;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.cinch.bag.Store;
import dev.cinch.bag.format.InstanceFile;
import dev.cinch.bag.layout.MachineName;
import dev.cinch.bag.store.StoreInstances;
import dev.cinch.bag.store.StoreShards;
import dev.cinch.bag.store.TrustedKeyFiles;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.Shard;
import dev.cinch.lease.ShardMap;
import dev.cinch.lease.http.LeaseServer;
import dev.cinch.lease.memory.MemoryLeaseService;
import dev.cinch.lease.time.SystemTime;
import dev.cinch.lease.witness.SigningKey;
import dev.cinch.lease.witness.WitnessSigner;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** A store that several lease servers within this process share. */
final class SharedStore implements AutoCloseable {
  private final List<LeaseServer> servers = new ArrayList<>();
  private final SigningKey key = SigningKey.generate();
  final Path path;
  final Store store;
  final Cinch cinch;

  SharedStore(Path parent) throws Exception {
    path = Cinch.quickStore(parent);
    store = Store.open(path, Store.Environment.of(new MachineName("server"), SystemTime.INSTANCE));
    long unused = TrustedKeyFiles.add(store.context(), key);
    cinch = Cinch.on(path);
  }

  /** Publishes a map of so many shards. */
  ShardMap set(int shards) throws IOException {
    return StoreShards.publish(store.context(), shards);
  }

  /** Starts the server of a shard of the last map. */
  LeaseServer serve(int shard) throws IOException {
    var service = new LateService(store.context());
    LeaseServer server =
        LeaseServer.builder(service, service::info)
            .health(() -> service.health(store.context().identity().id().toString()))
            .port(0)
            .maintenance(service::maintain)
            .start();
    servers.add(server);
    service.start(
        MemoryLeaseService.builder(new WitnessSigner(key), SystemTime.INSTANCE)
            .registry(instance(shard, server.uri().toString())));
    return server;
  }

  private StoreInstances instance(int shard, String address) throws IOException {
    var where = new InstanceFile(address, MachineNames.ofHost().value());
    var of = new Shard(StoreShards.look(store.context()).map(), shard);
    return new StoreInstances(store.context(), Optional.of(where), of);
  }

  /** Has an instance of a shard in the store that is said to be at an address; its number. */
  @CanIgnoreReturnValue
  long claim(int shard, String address) throws IOException {
    return instance(shard, address).takeNumber();
  }

  /** Changes a byte in the middle of a map. */
  void damageMap(long number) throws IOException {
    Path file = store.context().layout().shardMap(number);
    byte[] bytes = Files.readAllBytes(file);
    bytes[bytes.length / 2] ^= 1;
    boolean unused = file.toFile().setWritable(true);
    Files.write(file, bytes);
  }

  /** Starts one for each shard of the last map. */
  List<LeaseServer> serveAll() throws IOException {
    var all = new ArrayList<LeaseServer>();
    int count = StoreShards.look(store.context()).map().count();
    for (int shard = 1; shard <= count; shard++) {
      all.add(serve(shard));
    }
    return all;
  }

  /** A name of a shard, and no other of the same number. */
  LeaseName name(int shard, int number) throws IOException {
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
