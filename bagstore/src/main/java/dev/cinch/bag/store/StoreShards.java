package dev.cinch.bag.store;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.InstanceFile;
import dev.cinch.bag.format.ShardMapFile;
import dev.cinch.bag.layout.Numbered;
import dev.cinch.bag.layout.ShardEntry;
import dev.cinch.bag.layout.StoreLayout;
import dev.cinch.lease.ShardMap;
import dev.cinch.lease.ShardServers;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.stream.Stream;

/**
 * Shard maps, and which instances have which shards, as files beside the instances' numbers (rule
 * L16): one listing tells all but how many shards a map has. Immutable: what stood there at one
 * look.
 */
@CheckReturnValue
public final class StoreShards {
  private final StoreContext store;
  private final List<String> names;
  private final long highestNumber;
  private final long lastMap;
  private final Map<Long, ShardEntry> entries = new HashMap<>();

  private StoreShards(StoreContext store, List<String> names) {
    this.store = store;
    this.names = names;
    long highest = 0;
    long last = 0;
    for (String name : names) {
      OptionalLong number = Numbered.parse(name);
      OptionalLong map = StoreLayout.shardMapNumber(name);
      if (number.isPresent() && number.getAsLong() != Numbered.MAX) {
        highest = Math.max(highest, number.getAsLong());
      } else if (map.isPresent()) {
        last = Math.max(last, map.getAsLong());
      } else {
        ShardEntry.parse(name).ifPresent(e -> entries.put(e.instance(), e));
      }
    }
    highestNumber = highest;
    lastMap = last;
  }

  /** Looks, past every cache. */
  public static StoreShards look(StoreContext store) throws IOException {
    return new StoreShards(store, store.fresh().list(store.layout().instances()));
  }

  /**
   * As {@link #look}; for users who may only read it may be old. For what is shown, and nothing
   * that a server or a client of one decides by.
   */
  public static StoreShards lookAsPermitted(StoreContext store) throws IOException {
    return new StoreShards(store, store.fresh().listAsPermitted(store.layout().instances()));
  }

  /**
   * Publishes the next map. Instances of all earlier ones stop when they see it.
   *
   * @param count of its shards
   * @return the one that has the next number: another one if somebody else was faster
   * @throws IllegalArgumentException for a count out of range
   */
  public static ShardMap publish(StoreContext store, int count) throws IOException {
    // Software that knows no maps takes this for an instance after which there is no number: those
    // of its instances that run stop, and none starts. So before the map.
    Path last = store.layout().instances().resolve(Numbered.name(Numbered.MAX));
    store.requireSame();
    try {
      store.fs().create(last, store.fileMode()).close();
    } catch (FileAlreadyExistsException e) {
      // of an earlier map
    }
    store.fs().forceDirectory(store.layout().instances());
    var next = new ShardMap(look(store).lastMap + 1, count);
    Path file = store.layout().shardMap(next.number());
    store.fresh().publish(file, ShardMapFile.encode(next), store.fileMode(), store::requireSame);
    return read(store, next.number());
  }

  /**
   * The map of that number, from 1.
   *
   * @throws DamagedException if it can't be read, or says that it is another one
   */
  public static ShardMap read(StoreContext store, long number) throws IOException {
    Path file = store.layout().shardMap(number);
    ShardMap map =
        store.fresh().decode(file, ShardMapFile.MAX_BYTES, b -> ShardMapFile.decode(b, file));
    if (map.number() != number) {
      throw new DamagedException(file, 0, "shard map " + number, "" + map.number());
    }
    return map;
  }

  /** The last map; {@link ShardMap#NONE} if there is none. */
  public ShardMap map() throws IOException {
    return map(lastMap);
  }

  /** The map of that number, 0 for none. */
  ShardMap map(long number) throws IOException {
    return number == 0 ? ShardMap.NONE : read(store, number);
  }

  /** The number of the last map; 0 if there is none. */
  long lastMap() {
    return lastMap;
  }

  /** The highest number that any instance has taken; 0 if none has. */
  long highestNumber() {
    return highestNumber;
  }

  /** Which shard an instance has; empty for one that came before all maps. */
  Optional<ShardEntry> entry(long instance) {
    return Optional.ofNullable(entries.get(instance));
  }

  /** The highest number in the chain of a shard; of map 0: of all. 0 if it has no instance. */
  long latest(long map, int shard) {
    return map == 0
        ? highestNumber
        : entries.values().stream()
            .filter(e -> e.map() == map && e.shard() == shard)
            .mapToLong(ShardEntry::instance)
            .max()
            .orElse(0);
  }

  /** An instance, and where it is. */
  StoreInstances.Instance numbered(long number) {
    return new StoreInstances.Instance(number, new InstanceServers(store, number, names).where());
  }

  /** The latest instance of a shard of the last map, from 1; empty if it has had none. */
  public Optional<StoreInstances.Instance> instance(int shard) {
    long number = latest(lastMap, shard);
    return number == 0 ? Optional.empty() : Optional.of(numbered(number));
  }

  /** The latest instance of each shard of the last map. */
  public ShardServers servers() throws IOException {
    ShardMap map = map();
    var servers = new ArrayList<ShardServers.Server>(map.count());
    for (int shard = 1; shard <= map.count(); shard++) {
      Optional<StoreInstances.Instance> instance = instance(shard);
      if (instance.isPresent()) {
        Optional<InstanceFile> where = instance.get().where();
        String address = where.map(InstanceFile::address).orElse("");
        String machine = where.map(InstanceFile::machine).orElse("");
        servers.add(new ShardServers.Server(shard, instance.get().number(), address, machine));
      }
    }
    return new ShardServers(map, servers);
  }

  /**
   * The instances that are of no shard of the last map, the latest first: of earlier maps, and of
   * none. Each may still run. Where it is, is read as the stream gets to it; empty without a map.
   */
  public Stream<StoreInstances.Instance> earlier() {
    return lastMap == 0
        ? Stream.empty()
        : names.stream()
            .map(Numbered::parse)
            .flatMapToLong(OptionalLong::stream)
            .filter(n -> n != Numbered.MAX && entry(n).map(e -> e.map() < lastMap).orElse(true))
            .boxed()
            .sorted(Comparator.reverseOrder())
            .map(this::numbered);
  }
}
