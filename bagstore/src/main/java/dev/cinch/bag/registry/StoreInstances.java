package dev.cinch.bag.registry;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.layout.Numbered;
import dev.cinch.bag.registry.InstanceFile.Line;
import dev.cinch.bag.registry.ServiceNames.CeilingName;
import dev.cinch.bag.registry.ServiceNames.ShardEntry;
import dev.cinch.bag.store.ClockException;
import dev.cinch.bag.store.StoreContext;
import dev.cinch.bag.store.TrustedKeyFiles;
import dev.cinch.lease.Id;
import dev.cinch.lease.IsoTime;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.Revocation;
import dev.cinch.lease.Shard;
import dev.cinch.lease.ShardMap;
import dev.cinch.lease.service.InstanceRegistry;
import dev.cinch.lease.witness.PublicKey;
import dev.cinch.lease.witness.SigningKey;
import dev.cinch.lease.witness.TrustedKeys;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Numbers and ceilings of lease service instances, as files in the store (rules L3, L9). A number
 * is taken by {@code service/instances/<number>}, which may say where it is, and counts by {@code
 * service/instances/<number>.<signature>}; so does {@code
 * service/ceilings/<number>-<ceiling>.<signature>}. Names say all that counts, so a listing is all
 * it takes to read them. Where several servers share the store each shard has a chain of its own
 * (rule L16). Not thread-safe.
 */
@CheckReturnValue
public final class StoreInstances implements InstanceRegistry {
  private final StoreContext store;
  private static final Logger LOG = LoggerFactory.getLogger(StoreInstances.class);
  private final @Nullable SigningKey key;
  private final Statements statements;
  private final Optional<InstanceFile> where;
  private final StoreCeilings ceilings;
  private final OldCeilings old;
  private final StoreEnds ends;
  private final StoreLastWords lastWords;

  /**
   * Whether those of instances before are gone, since a ceiling of this one makes them needless.
   */
  private boolean tidied;

  /** The number is a cell's, whose nodes share it; {@link #takeNumber} takes none. */
  private final boolean shared;

  private long number;
  private long clockWithin = Long.MAX_VALUE;
  private final Shard shard;
  private List<Earlier> earlier = List.of();

  /**
   * For an instance that nobody has to find.
   *
   * @param key of the store, by which the number counts; the first one where it has none yet
   */
  public StoreInstances(StoreContext store, SigningKey key) {
    this(store, Optional.empty(), Shard.WHOLE, key);
  }

  /** For an instance that leaves its address. */
  public StoreInstances(StoreContext store, InstanceFile where, SigningKey key) {
    this(store, Optional.of(where), Shard.WHOLE, key);
  }

  /** For one of several servers (rule L16). */
  public StoreInstances(
      StoreContext store, Optional<InstanceFile> where, Shard shard, SigningKey key) {
    this(store, where, shard, 0, key);
  }

  /**
   * For a node of a cell. All nodes are one instance, whose number was taken when the cell was
   * made: {@link #takeNumber} gives it, if no later instance has taken over. What a node ends is
   * ended by all of them (rule L11).
   *
   * @param number of the cell, from 1
   * @param key the node's own
   */
  public static StoreInstances ofCell(StoreContext store, long number, SigningKey key) {
    if (number < 1) {
      throw new IllegalArgumentException("the number of an instance is from 1, not " + number);
    }
    return new StoreInstances(store, Optional.empty(), Shard.WHOLE, number, key);
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
    return new StoreInstances(store, Optional.empty(), Shard.WHOLE, number, null);
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
      @Nullable SigningKey key) {
    this.key = key;
    this.statements = new Statements(store);
    this.store = store;
    this.shared = ofCell > 0;
    this.number = ofCell;
    this.ceilings = new StoreCeilings(store, statements);
    this.old = new OldCeilings(store, shared);
    this.shard = shard;
    this.ends = new StoreEnds(store, statements, key);
    this.lastWords = new StoreLastWords(store, statements);
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

  /** One of an earlier map may have a higher number, and signs nothing by then. */
  private static final Comparator<Earlier> ORDER =
      Comparator.comparingLong((Earlier e) -> e.map().number()).thenComparing(Earlier::number);

  /**
   * The instance of the highest number; empty if there was none. For users who may only read it may
   * be old.
   */
  public static Optional<Instance> latest(StoreContext store) throws IOException {
    StoreShards now = StoreShards.lookAsPermitted(store);
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

  private StoreShards look() throws IOException {
    // A client of a cell may be a user who may only read. The nodes look for themselves.
    return key == null
        ? StoreShards.lookAsPermitted(store, statements)
        : StoreShards.look(store, statements);
  }

  @Override
  public String latest() throws IOException {
    StoreShards now = look();
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
    SigningKey by = key;
    if (by == null) {
      requireCellLatest(look());
      return number;
    }
    ends.prepare(); // before what can't be undone: a number stops the instance before
    if (shared) {
      requireCellLatest(look());
      return number;
    }
    long unusedKey = TrustedKeyFiles.add(store, by); // without it nothing of what follows counts
    long end = keyEnd();
    if (end <= store.now()) {
      throw new IOException(
          "the signing key ended at "
              + IsoTime.text(end)
              + ": sign another one, or this one anew, with cinch keygen --signed-by");
    } else if (end != PublicKey.NEVER) {
      LOG.warn("the signing key ends at {}: sign the next one before", IsoTime.text(end));
    }
    StoreShards now = look();
    requireLast(now.map());
    // One whose ceilings stand had its number, too, whoever removed that.
    long taken =
        ceilings.highest().stream()
            .mapToLong(CeilingName::instance)
            .max()
            .orElse(now.highestNumber());
    long next = now.free(Math.max(now.highestNumber(), taken) + 1);
    Path directory = store.layout().instances();
    while (number == 0) {
      if (next > Numbered.MAX) {
        throw new IOException(directory + ": no number is left for an instance");
      }
      String name = Numbered.name(next);
      String words = where.map(InstanceFile::words).orElse(InstanceFile.NOWHERE);
      var line = new Line(words, statements.sign(by, directory, name + " " + words));
      if (store.storage().publish(directory.resolve(name), line.encode())) {
        number = next;
      } else {
        next++; // another instance starts at this moment, or our own request was sent twice: a gap
        // does no harm
      }
    }
    count(by);
    if (shard.map().number() > 0) {
      // Before the ceilings are listed: only by this it has its place in the shard's chain.
      var entry = new ShardEntry(number, shard.map().number(), shard.index());
      publish(directory, statements.signedName(by, directory, entry.toString()));
    }
    return next;
  }

  /** From now on the number counts. */
  private void count(SigningKey by) throws IOException {
    Path directory = store.layout().instances();
    publish(directory, statements.signedName(by, directory, Numbered.name(number)));
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

  private void publish(Path directory, String name) throws IOException {
    // If it was there: ours, from a request that was sent twice; or an earlier call failed before
    // it was durable. Whoever made it, it says the same.
    boolean unused = store.storage().note(directory.resolve(name));
    store.storage().secure(directory);
  }

  @Override
  public OptionalLong highestEarlierCeiling() throws IOException {
    List<CeilingName> published =
        ceilings.highest().stream().filter(c -> c.instance() < number).toList();
    if (published.isEmpty()) {
      return OptionalLong.empty();
    }
    // Only now: an instance has its entry before its first ceiling.
    StoreShards shards = look();
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
      ShardMap of = shards.map(map);
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
        .max(ORDER)
        .map(e -> OptionalLong.of(e.number()))
        .orElse(OptionalLong.empty());
  }

  @Override
  public Set<InstanceRegistry.End> end(List<InstanceRegistry.End> toEnd) throws IOException {
    return ends.end(toEnd, number);
  }

  @Override
  public Revocation revoked(Revocation revocation) throws IOException {
    return StoreRevocations.keep(store, revocation);
  }

  @Override
  public long keyEnd() throws IOException {
    SigningKey by = key;
    return by == null ? PublicKey.NEVER : trustedKeys().end(by.publicKey());
  }

  @Override
  public TrustedKeys trustedKeys() throws IOException {
    return statements.keys();
  }

  @Override
  public boolean publishCeiling(long ceiling) throws IOException {
    SigningKey by = key;
    if (by == null) {
      return isLatest(); // clients of a cell leave that to the nodes that sign
    }
    var name = new CeilingName(number, ceiling);
    Path directory = store.layout().ceilings();
    String file = statements.signedName(by, directory, name.toString());
    publish(directory, file);
    // Only now look for a later instance: one that took its number before this look will find the
    // ceiling, and fence it. Those of a later map begin when that is there.
    if (!isLatest()) {
      return false;
    }
    old.published(new OldCeilings.Published(name, file));
    if (!tidied && !shared) {
      tidied = true;
      lastWords.removeBefore(number);
    }
    return true;
  }

  @Override
  public void leave(byte[] words) throws IOException {
    SigningKey by = key;
    if (by == null || shared) {
      throw new IOException("an instance of several servers leaves no last words");
    }
    lastWords.leave(number, words, by);
  }

  @Override
  public Optional<byte[]> lastWords() throws IOException {
    Earlier last = earlier.stream().max(ORDER).orElse(null);
    // What it says is of all before it, too: of its own chain, and of earlier maps.
    return last == null
            || shared
            || !last.map().equals(shard.map())
            || last.shard() != shard.index()
        ? Optional.empty()
        : lastWords.of(last.number());
  }

  @Override
  public boolean isLatest() throws IOException {
    StoreShards now = look();
    long map = shard.map().number();
    SigningKey by = key;
    if (by != null && now.lastMap() == map && now.highestNumber() < number) {
      // Somebody removed it. The next one that looks for numbers has to find it.
      count(by);
      now = look();
    }
    return now.lastMap() == map && now.latest(map, shard.index()) <= number;
  }
}
