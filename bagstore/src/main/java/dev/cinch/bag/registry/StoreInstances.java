package dev.cinch.bag.registry;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.model.Numbered;
import dev.cinch.bag.registry.ServiceNames.CeilingName;
import dev.cinch.bag.registry.StoreShards.Instance;
import dev.cinch.bag.storage.Freshness;
import dev.cinch.bag.store.ClockException;
import dev.cinch.bag.store.StoreContext;
import dev.cinch.bag.store.TrustedKeyFiles;
import dev.cinch.lease.Id;
import dev.cinch.lease.IsoTime;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.Revocation;
import dev.cinch.lease.Shard;
import dev.cinch.lease.ShardMap;
import dev.cinch.lease.instance.InstanceRegistry;
import dev.cinch.lease.witness.PublicKey;
import dev.cinch.lease.witness.SigningKey;
import dev.cinch.lease.witness.TrustedKeys;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.stream.Collectors;
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
  private static final Logger LOG = LoggerFactory.getLogger(StoreInstances.class);

  private final StoreContext store;
  private final SigningKey key;
  private final Statements statements;
  private final Optional<InstanceFile> where;
  private final StoreCeilings ceilings;
  private final StoreEnds ends;

  /** Whether what a ceiling of this instance makes needless is gone. */
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
    this(store, where, shard, OptionalLong.empty(), key);
  }

  /**
   * For a node of a cell. All nodes are one instance, whose number was taken when the cell was
   * made: {@link #takeNumber} gives it, if no later instance has taken over. No later instance
   * resumes its leases (rule L10).
   *
   * @param number of the cell, from 1
   * @param key the node's own
   */
  public static StoreInstances ofCell(StoreContext store, long number, SigningKey key) {
    return new StoreInstances(store, Optional.empty(), Shard.WHOLE, OptionalLong.of(number), key);
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
      OptionalLong ofCell,
      SigningKey key) {
    if (ofCell.orElse(1) < 1) {
      throw new IllegalArgumentException(
          "the number of an instance is from 1, not " + ofCell.getAsLong());
    }
    this.key = key;
    this.statements = new Statements(store);
    this.store = store;
    this.shared = ofCell.isPresent();
    this.number = ofCell.orElse(0);
    this.ceilings = new StoreCeilings(store, statements);
    this.shard = shard;
    this.ends = new StoreEnds(store, statements, key);
    this.where = where;
  }

  /**
   * An earlier instance that had published a ceiling.
   *
   * @param shared it was of several servers
   */
  private record Earlier(long number, Shard shard, boolean shared) {}

  /**
   * One of an earlier map may have a higher number. It signs nothing, since it sees the later map.
   */
  private static final Comparator<Earlier> ORDER =
      Comparator.comparingLong((Earlier e) -> e.shard().map().number())
          .thenComparing(Earlier::number);

  /**
   * The instance of the highest number; empty if there was none. For users who may only read it may
   * be old.
   */
  public static Optional<Instance> latest(StoreContext store) throws IOException {
    StoreShards now = StoreShards.lookAsPermitted(store);
    return now.numbered(now.highestNumber());
  }

  /** The latest instance that has a name, by the last shard map; empty if there was none. */
  public static Optional<Instance> latest(StoreContext store, LeaseName name) throws IOException {
    StoreShards now = StoreShards.look(store);
    return now.instance(now.map().shardOf(name));
  }

  /** The latest instance of a shard's chain; empty if there was none. */
  public static Optional<Instance> latest(StoreContext store, Shard shard) throws IOException {
    return StoreShards.look(store).latest(shard);
  }

  private StoreShards look() throws IOException {
    return StoreShards.look(store, statements, Freshness.CERTAIN);
  }

  @Override
  public String latest() throws IOException {
    StoreShards now = look();
    return now.lastMap() > shard.map().number()
        ? now.map().inWords()
        : now.latest(shard).map(Instance::inWords).orElse("no instance");
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
    if (shared) {
      requireCellLatest(look());
      return number;
    }
    ends.prepare(); // before what can't be undone: a number stops the instance before
    long unusedKey = TrustedKeyFiles.add(store, key); // without it nothing of what follows counts
    long end = keyEnd();
    if (end <= store.now()) {
      throw new IOException(
          "the signing key ended at %s: sign another one, or this one anew, with cinch keygen --signed-by"
              .formatted(IsoTime.text(end)));
    } else if (end != PublicKey.NEVER) {
      LOG.warn("the signing key ends at {}: sign the next one before", IsoTime.text(end));
    }
    StoreShards now = look();
    requireLast(now.map());
    // One whose ceilings stand had its number, too, whoever removed that.
    List<CeilingName> published = ceilings.highest();
    long taken = published.stream().mapToLong(CeilingName::instance).max().orElse(0);
    long next = now.free(Math.max(now.highestNumber(), taken) + 1);
    String words = where.map(InstanceFile::words).orElse(InstanceFile.NOWHERE);
    while (number == 0) {
      if (next > Numbered.MAX) {
        throw new IOException(store.layout().instances() + ": no number is left for an instance");
      }
      if (InstanceServers.leave(store, statements, Numbered.name(next), words, key)) {
        now = look();
        if (now.highestNumber() < next) {
          number = next;
        } else { // another one may have had it, and what it left is gone: see removeEarlier
          next = now.free(now.highestNumber() + 1);
        }
      } else {
        next++; // another instance starts at this moment, or our own request was sent twice: a gap
        // does no harm
      }
    }
    now.count(number, key);
    if (shard.map().number() > 0) {
      // Before the ceilings are listed: only by this it has its place in the shard's chain.
      now.enter(number, shard, key);
    }
    now.removeEarlier(
        shard, published.stream().map(CeilingName::instance).collect(Collectors.toSet()));
    return number;
  }

  /** So that it stops nobody in vain. No safety rests on that: see {@link #publishCeiling}. */
  private void requireLast(ShardMap last) throws IOException {
    if (!last.equals(shard.map())) {
      throw new IOException(
          last.number() == 0
              ? "the store has no shard map"
              : "the store has %s: say which one is served with --shard, like 1/%d"
                  .formatted(last.inWords(), last.count()));
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
          "%s has taken over from the cell, which is instance %d: make a new cell to serve this store"
              .formatted(now.numbered(latest).orElseThrow().inWords(), number));
    }
    if (latest < number) {
      throw new IOException(
          "%s has no instance %d: the cell was made for another store, or for a later state of this one"
              .formatted(store.layout().instances(), number));
    }
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
    var found = new ArrayList<Earlier>();
    OptionalLong highest = OptionalLong.empty();
    for (CeilingName ceiling : published) {
      Shard of = shards.shard(ceiling.instance());
      if (of.map().equals(shard.map()) && of.index() != shard.index()) {
        continue; // it has other names
      }
      found.add(new Earlier(ceiling.instance(), of, ceiling.shared()));
      highest = OptionalLong.of(Math.max(ceiling.ceiling(), highest.orElse(Long.MIN_VALUE)));
    }
    earlier = List.copyOf(found);
    return highest;
  }

  @Override
  public OptionalLong lastEarlierInstance(LeaseName name) {
    return earlier.stream()
        .filter(e -> e.shard().has(name))
        .sorted(ORDER.reversed())
        .limit(1)
        .filter(e -> !e.shared()) // its servers end no leases, and may have granted the name on
        .mapToLong(Earlier::number)
        .findFirst();
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
    return trustedKeys().end(key.publicKey());
  }

  @Override
  public TrustedKeys trustedKeys() throws IOException {
    return statements.keys();
  }

  @Override
  public boolean publishCeiling(long ceiling) throws IOException {
    StoreCeilings.Published published =
        ceilings.publish(new CeilingName(number, ceiling, shared), key);
    // Only now look for a later instance: one that took its number before this look will find the
    // ceiling, and fence it. Those of a later map begin when that is there.
    if (!isLatest()) {
      return false;
    }
    ceilings.stands(published, shared);
    if (!tidied && !shared) {
      tidied = true;
      ceilings.removeEarlier(published.ceiling(), shard);
    }
    return true;
  }

  @Override
  public void leave(byte[] words) throws IOException {
    if (shared) {
      throw new IOException("an instance of several servers leaves no last words");
    }
    ceilings.leave(number, words, key);
  }

  @Override
  public Optional<byte[]> lastWords() throws IOException {
    Earlier last = earlier.stream().max(ORDER).orElse(null);
    // What it says is of all before it, too: of its own chain, and of earlier maps.
    return last == null || shared || !last.shard().equals(shard)
        ? Optional.empty()
        : ceilings.lastWords(last.number());
  }

  @Override
  public boolean isLatest() throws IOException {
    StoreShards now = look();
    long map = shard.map().number();
    if (now.lastMap() == map && now.highestNumber() < number) {
      // Somebody removed it. The next one that looks for numbers has to find it.
      now.count(number, key);
      now = look();
    }
    return now.lastMap() == map && now.highestNumber(shard) <= number;
  }
}
