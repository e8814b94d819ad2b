package dev.cinch.lease;

import com.google.errorprone.annotations.CheckReturnValue;
import java.util.List;
import java.util.Optional;

/**
 * Which servers have the shards of a map (rule L16). No safety rests on it: whoever asks the wrong
 * one is refused. Immutable and thread-safe.
 *
 * @param map the last one that was published
 * @param servers the latest instance of each shard that has had one, in the order of the shards
 */
@CheckReturnValue
public record ShardServers(ShardMap map, List<Server> servers) {
  /** Of a service that shares its names with nobody, and does not know its own address. */
  public static final ShardServers ALONE = new ShardServers(ShardMap.NONE, List.of());

  /**
   * A server, which may have ended.
   *
   * @param shard from 1
   * @param instance its number
   * @param address where it listens, like {@code http://web-1:8470}; empty if it left none
   * @param machine where it runs; empty if it left no address
   */
  public record Server(int shard, long instance, String address, String machine) {}

  public ShardServers {
    servers = List.copyOf(servers);
  }

  /** The server that has a name; empty if none has started yet. */
  public Optional<Server> of(LeaseName name) {
    return shard(map.shardOf(name));
  }

  /** The server that has a shard, from 1; empty if none has started yet. */
  public Optional<Server> shard(int shard) {
    return servers.stream().filter(s -> s.shard() == shard).findFirst();
  }

  /** The server that is the instance of that number; empty if it is none of these. */
  public Optional<Server> instance(long number) {
    return servers.stream().filter(s -> s.instance() == number).findFirst();
  }
}
