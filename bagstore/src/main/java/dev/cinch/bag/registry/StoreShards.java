package dev.cinch.bag.registry;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.layout.Numbered;
import dev.cinch.bag.layout.StoreLayout;
import dev.cinch.bag.model.Names;
import dev.cinch.bag.registry.ServiceNames.ServerEntry;
import dev.cinch.bag.registry.ServiceNames.ShardEntry;
import dev.cinch.bag.registry.ServiceNames.SignedName;
import dev.cinch.bag.storage.LogStorage.Freshness;
import dev.cinch.bag.store.KeyRefusedException;
import dev.cinch.bag.store.StoreContext;
import dev.cinch.bag.store.TrustedKeyFiles;
import dev.cinch.lease.ShardMap;
import dev.cinch.lease.ShardServers;
import dev.cinch.lease.witness.SigningKey;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * Shard maps, and which instances have which shards, as files beside the instances' numbers (rules
 * L9, L16): one listing tells it all. Only what a key of the store signed counts; the rest may be
 * anybody's. Immutable: what stood there at one look.
 */
@CheckReturnValue
public final class StoreShards {
  private final StoreContext store;
  private final Statements statements;
  private final List<String> names;
  private final long highestNumber;
  private final ShardMap lastMap;
  private final Map<Long, ShardMap> maps = new HashMap<>();
  private final Map<Long, ShardEntry> entries = new HashMap<>();

  private StoreShards(StoreContext store, Statements statements, List<String> names)
      throws IOException {
    this.store = store;
    this.statements = statements;
    this.names = names;
    Path directory = store.layout().instances();
    statements.look();
    var numbers = new TreeMap<Long, List<SignedName>>(Comparator.reverseOrder());
    for (String name : names) {
      SignedName signed = SignedName.parse(name).orElse(null);
      if (signed == null) {
        continue;
      }
      OptionalLong number = Numbered.parse(signed.base());
      Optional<ShardMap> map = StoreLayout.shardMap(signed.base());
      Optional<ShardEntry> entry = ShardEntry.parse(signed.base());
      if (number.isPresent()) {
        numbers.computeIfAbsent(number.getAsLong(), n -> new ArrayList<>()).add(signed);
      } else if (map.isPresent() && statements.counts(directory, 0, signed)) {
        ShardMap unused = maps.merge(map.get().number(), map.get(), StoreShards::first);
      } else if (entry.isPresent()
          && statements.counts(directory, entry.get().instance(), signed)) {
        entries.put(entry.get().instance(), entry.get());
      }
    }
    highestNumber = highest(numbers);
    lastMap =
        maps.values().stream()
            .max(Comparator.comparingLong(ShardMap::number))
            .orElse(ShardMap.NONE);
  }

  /** Its number is one's who made the map; if that was removed, all go by the same of two. */
  private static ShardMap first(ShardMap a, ShardMap b) {
    return a.count() < b.count() ? a : b;
  }

  /** Those below it are not looked at. */
  private long highest(NavigableMap<Long, List<SignedName>> numbers) throws IOException {
    for (Map.Entry<Long, List<SignedName>> of : numbers.entrySet()) {
      for (SignedName name : of.getValue()) {
        if (statements.counts(store.layout().instances(), of.getKey(), name)) {
          return of.getKey();
        }
      }
    }
    return 0;
  }

  /** Looks, past every cache. */
  public static StoreShards look(StoreContext store) throws IOException {
    return look(store, new Statements(store));
  }

  /** As {@link #look(StoreContext)}, for who looks again and again. */
  static StoreShards look(StoreContext store, Statements statements) throws IOException {
    return new StoreShards(store, statements, store.storage().listNow(store.layout().instances()));
  }

  /**
   * As {@link #look}; for users who may only read it may be old. For what is shown, and nothing
   * that a server decides by.
   */
  public static StoreShards lookAsPermitted(StoreContext store) throws IOException {
    return lookAsPermitted(store, new Statements(store));
  }

  static StoreShards lookAsPermitted(StoreContext store, Statements statements) throws IOException {
    Path directory = store.layout().instances();
    return new StoreShards(store, statements, store.storage().list(directory, Freshness.PERMITTED));
  }

  /**
   * Publishes the next map. Instances of all earlier ones stop when they see it.
   *
   * @param count of its shards
   * @param by a key of the store, or its first
   * @return the last one afterwards: another one if somebody else was faster
   * @throws IllegalArgumentException for a count out of range
   * @throws KeyRefusedException if the store trusts other keys alone
   */
  public static ShardMap publish(StoreContext store, int count, SigningKey by) throws IOException {
    long unusedKey = TrustedKeyFiles.add(store, by);
    Path directory = store.layout().instances();
    StoreShards now = look(store);
    long number = now.lastMap() + 1;
    while (true) {
      var next = new ShardMap(number, count);
      if (store.storage().note(store.layout().shardMap(number))) {
        String name =
            new Statements(store).signedName(by, directory, StoreLayout.shardMapName(next));
        boolean unused = store.storage().note(directory.resolve(name)); // or of a removed number
        store.storage().secure(directory);
        return look(store).map();
      }
      now = look(store);
      if (now.lastMap() >= number) {
        return now.map();
      }
      number++; // somebody else's who has not gone on, or a stray's: a gap does no harm
    }
  }

  /** The last map; {@link ShardMap#NONE} if there is none. */
  public ShardMap map() {
    return lastMap;
  }

  /** The map of that number; {@link ShardMap#NONE} if there is none. */
  ShardMap map(long number) {
    return maps.getOrDefault(number, ShardMap.NONE);
  }

  /** The number of the last map; 0 if there is none. */
  long lastMap() {
    return lastMap.number();
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
    var servers = new InstanceServers(store, statements, number, names);
    return new StoreInstances.Instance(number, servers.where());
  }

  /** The lowest number from here on that nobody has taken, an instance or a stray. */
  long free(long from) {
    var taken = new HashSet<>(names);
    long free = from;
    while (free <= Numbered.MAX && taken.contains(Numbered.name(free))) {
      free++;
    }
    return free;
  }

  /**
   * What stands there and counts for nothing: names that no key of the store signed, and numbers
   * without such a name. What somebody is taking at this moment is not told.
   */
  public List<Path> strays() throws IOException {
    Path directory = store.layout().instances();
    var strays = new ArrayList<Path>();
    for (String name : names) {
      if (!Names.isTemporary(name) && !counts(directory, name)) {
        strays.add(directory.resolve(name));
      }
    }
    return strays;
  }

  private boolean counts(Path directory, String name) throws IOException {
    SignedName signed = SignedName.parse(name).orElse(null);
    if (signed != null) {
      long instance =
          Numbered.parse(signed.base())
              .orElse(ShardEntry.parse(signed.base()).map(ShardEntry::instance).orElse(0L));
      boolean known = instance > 0 || StoreLayout.shardMap(signed.base()).isPresent();
      return known && statements.counts(directory, instance, signed);
    }
    OptionalLong map = StoreLayout.shardMapNumber(name);
    if (map.isPresent()) {
      return maps.containsKey(map.getAsLong());
    }
    long instance =
        Numbered.parse(name).orElse(ServerEntry.parse(name).map(ServerEntry::instance).orElse(0L));
    return instance > 0 && new InstanceServers(store, statements, instance, names).isSigned(name);
  }

  /** The latest instance of a shard of the last map, from 1; empty if it has had none. */
  public Optional<StoreInstances.Instance> instance(int shard) {
    long number = latest(lastMap(), shard);
    return number == 0 ? Optional.empty() : Optional.of(numbered(number));
  }

  /** The latest instance of each shard of the last map. */
  public ShardServers servers() {
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
    return lastMap() == 0
        ? Stream.empty()
        : names.stream()
            .map(Numbered::parse)
            .flatMapToLong(OptionalLong::stream)
            .filter(n -> n <= highestNumber)
            .filter(n -> entry(n).map(e -> e.map() < lastMap()).orElse(true))
            .boxed()
            .sorted(Comparator.reverseOrder())
            .map(this::numbered);
  }
}
