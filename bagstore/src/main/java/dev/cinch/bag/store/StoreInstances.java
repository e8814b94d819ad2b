package dev.cinch.bag.store;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.format.InstanceFile;
import dev.cinch.bag.fs.StoreFile;
import dev.cinch.bag.layout.CeilingName;
import dev.cinch.bag.layout.Numbered;
import dev.cinch.bag.layout.ShardEntry;
import dev.cinch.lease.Id;
import dev.cinch.lease.InstanceRegistry;
import dev.cinch.lease.LeaseEnd;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.Revocation;
import dev.cinch.lease.Shard;
import dev.cinch.lease.ShardMap;
import dev.cinch.lease.witness.TrustedKeys;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;

/**
 * Numbers and ceilings of lease service instances, as files in the store (rules L3, L9): {@code
 * service/instances/<number>}, which may say where it is, and {@code
 * service/ceilings/<number>-<ceiling>}. Names say all that counts, so a listing is all it takes to
 * read them. Where several servers share the store each shard has a chain of its own (rule L16).
 * Not thread-safe.
 */
@CheckReturnValue
public final class StoreInstances implements InstanceRegistry {
  private final StoreContext store;
  private final Optional<InstanceFile> where;
  private final OldCeilings old;
  private final StoreEnds ends;
  private final CountingKeys keys;

  /** The number is a cell's, whose nodes share it; {@link #takeNumber} takes none. */
  private final boolean shared;

  /** Whether it publishes ceilings: clients of a cell leave that to the nodes that sign. */
  private final boolean publishes;

  private long number;
  private long clockWithin = Long.MAX_VALUE;
  private final Shard shard;
  private List<Earlier> earlier = List.of();

  /** For an instance that nobody has to find. */
  public StoreInstances(StoreContext store) {
    this(store, Optional.empty(), Shard.WHOLE);
  }

  /** For an instance that leaves its address. */
  public StoreInstances(StoreContext store, InstanceFile where) {
    this(store, Optional.of(where), Shard.WHOLE);
  }

  /** For one of several servers (rule L16). */
  public StoreInstances(StoreContext store, Optional<InstanceFile> where, Shard shard) {
    this(store, where, shard, 0, true);
  }

  /**
   * For a node of a cell. All nodes are one instance, whose number was taken when the cell was
   * made: {@link #takeNumber} gives it, if no later instance has taken over. What a node ends is
   * ended by all of them (rule L11).
   *
   * @param number of the cell, from 1
   */
  public static StoreInstances ofCell(StoreContext store, long number) {
    if (number < 1) {
      throw new IllegalArgumentException("the number of an instance is from 1, not " + number);
    }
    return new StoreInstances(store, Optional.empty(), Shard.WHOLE, number, true);
  }

  /**
   * For a client of a cell, which proposes what the nodes sign: as {@link #ofCell}, but it
   * publishes no ceilings, since each node signs below its own alone (rule L3).
   *
   * @param number of the cell, from 1
   */
  public static StoreInstances ofCellClient(StoreContext store, long number) {
    if (number < 1) {
      throw new IllegalArgumentException("the number of an instance is from 1, not " + number);
    }
    return new StoreInstances(store, Optional.empty(), Shard.WHOLE, number, false);
  }

  /**
   * Has {@link #checkClock} refuse a clock that is further off than this, where the store allows
   * more; nanoseconds.
   */
  @CanIgnoreReturnValue
  public StoreInstances clockWithin(long nanos) {
    clockWithin = nanos;
    return this;
  }

  private StoreInstances(
      StoreContext store,
      Optional<InstanceFile> where,
      Shard shard,
      long ofCell,
      boolean publishes) {
    this.publishes = publishes;
    this.store = store;
    this.shared = ofCell > 0;
    this.number = ofCell;
    this.old = new OldCeilings(store, shared);
    this.shard = shard;
    this.ends = new StoreEnds(store);
    this.keys = CountingKeys.ofStore(store).strict();
    this.where = where;
  }

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

  /**
   * An earlier instance that had published a ceiling.
   *
   * @param map that its shard belongs to
   * @param shard index of it
   */
  private record Earlier(long number, ShardMap map, int shard) {}

  /** The instance of the highest number; empty if there was none. */
  public static Optional<Instance> latest(StoreContext store) throws IOException {
    StoreShards now = StoreShards.look(store);
    long number = now.highestNumber();
    return number == 0 ? Optional.empty() : Optional.of(now.numbered(number));
  }

  /** The latest instance that has a name, by the last shard map; empty if there was none. */
  public static Optional<Instance> latest(StoreContext store, LeaseName name) throws IOException {
    StoreShards now = StoreShards.look(store);
    ShardMap map = now.map();
    long number = now.latest(map.number(), map.shardOf(name));
    return number == 0 ? Optional.empty() : Optional.of(now.numbered(number));
  }

  /** The latest instance of a shard's chain; empty if there was none. */
  public static Optional<Instance> latest(StoreContext store, Shard shard) throws IOException {
    StoreShards now = StoreShards.look(store);
    long number = now.latest(shard.map().number(), shard.index());
    return number == 0 ? Optional.empty() : Optional.of(now.numbered(number));
  }

  @Override
  public String latest() throws IOException {
    StoreShards now = StoreShards.look(store);
    if (now.lastMap() > shard.map().number()) {
      return now.map().inWords();
    }
    return now.numbered(now.latest(shard.map().number(), shard.index())).inWords();
  }

  @Override
  public Shard shard() {
    return shard;
  }

  @Override
  public Id store() {
    return store.identity().id();
  }

  @Override
  public void checkClock(long wall) throws IOException {
    long now = store.comparedNow(clockWithin);
    // The machine's clock is right now; it may have been set since the service read it.
    long ahead = wall - now;
    long boundMs = store.settings().clockAheadMs();
    if (ahead > boundMs * 1_000_000) {
      throw new ClockException(ahead, boundMs, "ahead of");
    }
  }

  @Override
  public long clocksApartNanos() {
    return store.settings().clocksApartNanos();
  }

  @Override
  public long timestampsOffNanos() {
    return store.settings().watermarkAheadNanos();
  }

  @Override
  public long takeNumber() throws IOException {
    ends.prepare(); // before what can't be undone: a number stops the instance before
    StoreShards now = StoreShards.look(store);
    if (shared) {
      requireCellLatest(now);
      return number;
    }
    requireLast(now.map());
    long next = now.highestNumber() + 1;
    while (true) {
      if (next >= Numbered.MAX) { // which keeps out software that knows no shard maps
        throw new IOException(store.layout().instances() + ": no number is left for an instance");
      }
      try {
        Path unused =
            create(
                store.layout().instances(), Numbered.name(next), where.map(InstanceFile::encode));
        number = next;
        if (shard.map().number() > 0) {
          // Before the ceilings are listed: only by this it has its place in the shard's chain.
          var entry = new ShardEntry(number, shard.map().number(), shard.index());
          Path unusedEntry = create(store.layout().instances(), entry.toString(), Optional.empty());
        }
        return next;
      } catch (FileAlreadyExistsException e) {
        next++; // another instance starts at this moment, or our own request was sent twice: a gap
        // does no harm
      }
    }
  }

  /** So that it stops nobody in vain. No safety rests on that: see {@link #publishCeiling}. */
  private void requireLast(ShardMap last) throws IOException {
    if (!last.equals(shard.map())) {
      throw new IOException(
          last.number() == 0
              ? "the store has no shard map"
              : "the store has "
                  + last.inWords()
                  + ": say which one is served with --shard, like 1/"
                  + last.count());
    }
  }

  private void requireCellLatest(StoreShards now) throws IOException {
    if (now.lastMap() > 0) {
      throw new IOException(
          "the store has " + now.map().inWords() + ", of which a cell can serve no shard");
    }
    long latest = now.highestNumber();
    if (latest > number) {
      throw new IOException(
          now.numbered(latest).inWords()
              + " has taken over from the cell, which is instance "
              + number
              + ": make a new cell to serve this store");
    }
    if (latest < number) {
      throw new IOException(
          store.layout().instances()
              + " has no instance "
              + number
              + ": the cell was made for another store, or for a later state of this one");
    }
  }

  private Path create(Path directory, String name, Optional<byte[]> content) throws IOException {
    Path file = directory.resolve(name);
    store.requireSame(); // a number or a ceiling would stop the servers of another store
    try (StoreFile created = store.fs().create(file, store.fileMode())) {
      if (content.isPresent()) {
        created.write(ByteBuffer.wrap(content.get()));
        created.force();
      }
    }
    store.fs().forceDirectory(directory);
    return file;
  }

  @Override
  public OptionalLong highestEarlierCeiling() throws IOException {
    List<CeilingName> published =
        store.fresh().list(store.layout().ceilings()).stream()
            .map(CeilingName::parse)
            .flatMap(Optional::stream)
            .filter(c -> c.instance() < number)
            .toList();
    if (published.isEmpty()) {
      return OptionalLong.empty();
    }
    // Only now: an instance has its entry before its first ceiling.
    StoreShards shards = StoreShards.look(store);
    var maps = new HashMap<Long, ShardMap>();
    var found = new HashMap<Long, Earlier>();
    OptionalLong highest = OptionalLong.empty();
    for (CeilingName ceiling : published) {
      ShardEntry entry = shards.entry(ceiling.instance()).orElse(null);
      long map = entry == null ? 0 : entry.map();
      if (map == shard.map().number()
          && map > 0
          && entry != null
          && entry.shard() != shard.index()) {
        continue; // it has other names
      }
      if (!maps.containsKey(map)) {
        maps.put(map, shards.map(map));
      }
      ShardMap of = Objects.requireNonNull(maps.get(map));
      int index = entry == null ? 1 : entry.shard();
      found.put(ceiling.instance(), new Earlier(ceiling.instance(), of, index));
      highest = OptionalLong.of(Math.max(ceiling.ceiling(), highest.orElse(Long.MIN_VALUE)));
    }
    earlier = List.copyOf(found.values());
    return highest;
  }

  @Override
  public OptionalLong lastEarlierInstance(LeaseName name) {
    // One of an earlier map may have a higher number. It signs nothing, since it sees the later
    // map.
    return earlier.stream()
        .filter(e -> e.map().shardOf(name) == e.shard())
        .max(
            Comparator.comparingLong((Earlier e) -> e.map().number())
                .thenComparing(Earlier::number))
        .map(e -> OptionalLong.of(e.number()))
        .orElse(OptionalLong.empty());
  }

  @Override
  public Set<LeaseEnd> end(List<LeaseEnd> toEnd) throws IOException {
    return ends.end(toEnd, number);
  }

  @Override
  public Revocation revoked(Revocation revocation) throws IOException {
    return StoreRevocations.keep(store, revocation);
  }

  @Override
  public TrustedKeys trustedKeys() throws IOException {
    return keys.now();
  }

  @Override
  public boolean publishCeiling(long ceiling) throws IOException {
    if (!publishes) {
      return isLatest();
    }
    var name = new CeilingName(number, ceiling);
    try {
      Path unused = create(store.layout().ceilings(), name.toString(), Optional.empty());
    } catch (FileAlreadyExistsException e) {
      // Ours, from a request that was sent twice; or the force of an earlier call failed, after
      // which the name may not outlive a power cut. Or another node's of the cell: as good as ours.
      store.fs().forceDirectory(store.layout().ceilings());
    }
    // Only now look for a later instance: one that took its number before this look will find the
    // ceiling, and fence it. Those of a later map begin when that is there.
    if (!isLatest()) {
      return false;
    }
    old.published(name);
    return true;
  }

  @Override
  public boolean isLatest() throws IOException {
    StoreShards now = StoreShards.look(store);
    long map = shard.map().number();
    return now.lastMap() == map && now.latest(map, shard.index()) == number;
  }
}
