package dev.cinch.bag.registry;

import static java.util.stream.Collectors.groupingBy;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Numbered;
import dev.cinch.bag.model.StoreLayout;
import dev.cinch.bag.registry.ServiceNames.ServerEntry;
import dev.cinch.bag.registry.ServiceNames.ShardEntry;
import dev.cinch.bag.registry.ServiceNames.SignedName;
import dev.cinch.bag.registry.SignedNames.Found;
import dev.cinch.bag.storage.Freshness;
import dev.cinch.bag.store.KeyRefusedException;
import dev.cinch.bag.store.StoreContext;
import dev.cinch.bag.store.TrustedKeyFiles;
import dev.cinch.lease.Shard;
import dev.cinch.lease.ShardMap;
import dev.cinch.lease.ShardServers;
import dev.cinch.lease.time.TimeSource;
import dev.cinch.lease.witness.SigningKey;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.stream.Stream;

/**
 * Shard maps, and which instances have which shards, as files beside the instances' numbers (rules
 * L9, L16): one listing tells it all. Only what a key of the store signed counts; the rest may be
 * anybody's. Immutable: what stood there at one look.
 */
@CheckReturnValue
public final class StoreShards {
  /**
   * How long a look may take that counts, nanoseconds: one of a user who may only read waits for
   * caches, too.
   */
  static final long LONGEST_LOOK = 80_000_000_000L;

  /**
   * How long a number has to stand before those below it go, nanoseconds. Longer than a look: so
   * each look finds a number that was there when it began, or a later one.
   */
  static final long STANDS = 120_000_000_000L;

  private static final int LOOKS = 3;

  private static final Comparator<Long> HIGHEST_FIRST = Comparator.reverseOrder();

  private final StoreContext store;
  private final Statements statements;
  private final Name place;
  private final List<String> names;
  private final SignedNames<Long> numbers;
  private final SignedNames<ShardEntry> entered;
  private final SignedNames<ShardMap> published;
  private final long highestNumber;
  private final ShardMap lastMap;
  private final TreeMap<Long, ShardMap> maps;
  private final Map<Long, ShardEntry> entries;

  /**
   * An instance that has taken a number.
   *
   * @param where what it left; empty if that is nothing, or can't be read
   */
  public record Instance(long number, Optional<InstanceFile> where) {
    /** For a message, like {@code instance 5 at http://web-1:8470 on web-1}. */
    public String inWords() {
      return "instance "
          + number
          + where.map(w -> " at " + w.address() + " on " + w.machine()).orElse("");
    }
  }

  private StoreShards(StoreContext store, Statements statements, List<String> names)
      throws IOException {
    this.store = store;
    this.statements = statements;
    this.place = store.layout().instances();
    this.names = names;
    statements.look();
    numbers = new SignedNames<>(store, statements, place, StoreShards::number);
    entered = new SignedNames<>(store, statements, place, ShardEntry::parse);
    published = new SignedNames<>(store, statements, place, StoreLayout::shardMap);
    highestNumber =
        numbers.counting(names, n -> 0, HIGHEST_FIRST).values().stream().findAny().orElse(0L);
    // Its number is one's who made the map; if that was removed, all go by the same of two.
    maps = published.counting(names, ShardMap::number, Comparator.comparing(ShardMap::count));
    entries =
        entered.counting(names, ShardEntry::instance, Comparator.comparing(ShardEntry::toString));
    lastMap = maps.isEmpty() ? ShardMap.NONE : maps.lastEntry().getValue();
  }

  private static Optional<Long> number(String base) {
    OptionalLong number = Numbered.parse(base);
    return number.isPresent() ? Optional.of(number.getAsLong()) : Optional.empty();
  }

  /** Looks, past every cache. */
  public static StoreShards look(StoreContext store) throws IOException {
    return look(store, new Statements(store));
  }

  /**
   * As {@link #look}; for users who may only read it may be old. For what is shown, and nothing
   * that a server decides by.
   */
  public static StoreShards lookAsPermitted(StoreContext store) throws IOException {
    return look(store, new Statements(store), Freshness.PERMITTED);
  }

  /** As {@link #look(StoreContext)}, for who looks again and again. */
  static StoreShards look(StoreContext store, Statements statements) throws IOException {
    return look(store, statements, Freshness.CERTAIN);
  }

  static StoreShards look(StoreContext store, Statements statements, Freshness freshness)
      throws IOException {
    TimeSource time = store.time();
    Name place = store.layout().instances();
    for (int i = 0; i < LOOKS; i++) {
      long monotonic = time.monotonicNanos();
      long wall = time.wallNanos(); // a machine that sleeps may stop the other one
      List<String> names =
          freshness == Freshness.CERTAIN
              ? store.listNow(place)
              : store.storage().list(place, freshness);
      if (time.monotonicNanos() - monotonic <= LONGEST_LOOK
          && time.wallNanos() - wall <= LONGEST_LOOK) {
        return new StoreShards(store, statements, names);
      }
    }
    throw new IOException(
        place + ": listing it took too long each time to rely on it; see to the storage");
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
    StoreShards now = look(store);
    long number = now.lastMap() + 1;
    while (true) {
      var next = new ShardMap(number, count);
      if (store.publish(store.layout().shardMap(number), new byte[0])) {
        now.published.publish(StoreLayout.shardMapName(next), by);
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

  /** The number of the last map; 0 if there is none. */
  long lastMap() {
    return lastMap.number();
  }

  /** The highest number that any instance has taken; 0 if none has. */
  long highestNumber() {
    return highestNumber;
  }

  /** The shard of an instance; the whole of one that came before all maps. */
  Shard shard(long instance) {
    ShardEntry entry = entries.get(instance);
    ShardMap map = entry == null ? ShardMap.NONE : maps.getOrDefault(entry.map(), ShardMap.NONE);
    return entry == null || entry.shard() > map.count()
        ? Shard.WHOLE
        : new Shard(map, entry.shard());
  }

  /** The highest number in the chain of a shard; of map 0: of all. 0 if it has no instance. */
  long highestNumber(Shard shard) {
    return shard.map().number() == 0
        ? highestNumber
        : entries.keySet().stream()
            .filter(instance -> shard(instance).equals(shard))
            .mapToLong(instance -> instance)
            .max()
            .orElse(0);
  }

  /** The latest instance of a shard's chain; empty if there was none. */
  Optional<Instance> latest(Shard shard) {
    return numbered(highestNumber(shard));
  }

  /** An instance, and where it is; empty for number 0. */
  Optional<Instance> numbered(long number) {
    return number == 0
        ? Optional.empty()
        : Optional.of(
            new Instance(number, new InstanceServers(store, statements, number, names).where()));
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

  /** From now on the number of an instance counts. */
  void count(long number, SigningKey by) throws IOException {
    numbers.publish(Numbered.name(number), by);
  }

  /** From now on the instance has its place in the chain of a shard. */
  void enter(long number, Shard shard, SigningKey by) throws IOException {
    entered.publish(new ShardEntry(number, shard.map().number(), shard.index()).toString(), by);
  }

  /** The instance that has a name here, signed or not; 0 if none has. */
  private static long instance(String name) {
    String base = SignedName.parse(name).map(SignedName::base).orElse(name);
    return number(base)
        .or(() -> ServerEntry.parse(base).map(ServerEntry::instance))
        .or(() -> ShardEntry.parse(base).map(ShardEntry::instance))
        .orElse(0L);
  }

  /**
   * Removes what instances of a chain left here before its last one that has stood for long enough
   * (rule L9): no look needs to find them.
   *
   * @param kept instances whose ceilings stand, and need their entries
   */
  void removeEarlier(Shard chain, Set<Long> kept) throws IOException {
    Map<Long, List<String>> all = names.stream().collect(groupingBy(StoreShards::instance));
    long last = standing(chain, store.now() - STANDS, all);
    Predicate<String> isEntry =
        name -> SignedName.parse(name).flatMap(s -> ShardEntry.parse(s.base())).isPresent();
    all.keySet().stream()
        .filter(instance -> instance > 0 && instance < last)
        .filter(instance -> shard(instance).equals(chain) && !kept.contains(instance))
        .flatMap(instance -> all.getOrDefault(instance, List.of()).stream())
        .sorted(Comparator.comparing(isEntry::test)) // at the end: it says whose the rest is
        .limit(SignedNames.MOST_REMOVED)
        .forEach(name -> store.storage().removeQuietly(place.resolve(name)));
  }

  /** The last number of a chain that counted before a time; 0 if there is none. */
  private long standing(Shard chain, long before, Map<Long, List<String>> all) throws IOException {
    for (Found<Long> found : numbers.in(names, HIGHEST_FIRST)) {
      if (shard(found.value()).equals(chain)
          && changed(all.getOrDefault(found.value(), List.of())) < before
          && numbers.counts(found)) {
        return found.value();
      }
    }
    return 0;
  }

  /** When the last was made of the names by which an instance is seen. */
  private long changed(List<String> of) throws IOException {
    long last = Long.MIN_VALUE;
    for (String name : of) {
      if (SignedName.parse(name).isPresent()) {
        try {
          last = Math.max(last, store.storage().changedAt(place.resolve(name)));
        } catch (NoSuchFileException e) {
          return Long.MAX_VALUE; // a later one was faster
        }
      }
    }
    return last;
  }

  /**
   * What stands there and counts for nothing: names that no key of the store signed, and numbers
   * without such a name. What somebody is taking at this moment is not told.
   */
  public List<Name> strays() throws IOException {
    var strays = new ArrayList<Name>();
    for (String name : names) {
      if (!Name.isTemporary(name) && !counts(name)) {
        strays.add(place.resolve(name));
      }
    }
    return strays;
  }

  private boolean counts(String name) throws IOException {
    OptionalLong map = StoreLayout.shardMapNumber(name);
    if (map.isPresent()) {
      return maps.containsKey(map.getAsLong());
    }
    long instance = SignedName.parse(name).isPresent() ? 0 : instance(name);
    return numbers.counts(name)
        || entered.counts(name)
        || published.counts(name)
        || instance > 0 && new InstanceServers(store, statements, instance, names).isSigned(name);
  }

  /** The latest instance of a shard of the last map, from 1; empty if it has had none. */
  public Optional<Instance> instance(int shard) {
    return latest(new Shard(lastMap, shard));
  }

  /** The latest instance of each shard of the last map. */
  public ShardServers servers() {
    var servers = new ArrayList<ShardServers.Server>(lastMap.count());
    for (int shard = 1; shard <= lastMap.count(); shard++) {
      Optional<Instance> instance = instance(shard);
      if (instance.isPresent()) {
        Optional<InstanceFile> where = instance.get().where();
        String address = where.map(InstanceFile::address).orElse("");
        String machine = where.map(InstanceFile::machine).orElse("");
        servers.add(new ShardServers.Server(shard, instance.get().number(), address, machine));
      }
    }
    return new ShardServers(lastMap, servers);
  }

  /**
   * The instances that are of no shard of the last map, the latest first: of earlier maps, and of
   * none. Each may still run. Where it is, is read as the stream gets to it; empty without a map.
   */
  public Stream<Instance> earlier() {
    return lastMap() == 0
        ? Stream.empty()
        : names.stream()
            .flatMap(name -> number(name).stream())
            .filter(n -> n <= highestNumber && shard(n).map().number() < lastMap())
            .sorted(HIGHEST_FIRST)
            .flatMap(n -> numbered(n).stream());
  }
}
