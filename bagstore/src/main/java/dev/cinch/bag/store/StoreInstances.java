package dev.cinch.bag.store;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.format.InstanceFile;
import dev.cinch.bag.fs.StoreFile;
import dev.cinch.bag.layout.CeilingName;
import dev.cinch.bag.layout.Numbered;
import dev.cinch.lease.Id;
import dev.cinch.lease.InstanceRegistry;
import dev.cinch.lease.LeaseEnd;
import dev.cinch.lease.Revocation;
import dev.cinch.lease.witness.TrustedKeys;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;

/**
 * Numbers and ceilings of lease service instances, as files in the store (rules L3, L9): {@code
 * service/instances/<number>}, which may say where it is, and {@code
 * service/ceilings/<number>-<ceiling>}. Names say all that counts, so a listing is all it takes to
 * read them. Not thread-safe.
 */
@CheckReturnValue
public final class StoreInstances implements InstanceRegistry {
  /**
   * A listing may overlap with a publication: the last few ceilings stay, so that it finds at least
   * one of them.
   */
  private static final int KEPT_CEILINGS = 3;

  /** For what a clock goes wrong between two comparisons, milliseconds. */
  private static final long SLACK_MS = 1_000;

  private final StoreContext store;
  private final Optional<InstanceFile> where;
  private final ArrayDeque<Path> published = new ArrayDeque<>();
  private final StoreEnds ends;
  private final CountingKeys keys;
  private long number;
  private OptionalLong lastEarlier = OptionalLong.empty();

  /** For an instance that nobody has to find. */
  public StoreInstances(StoreContext store) {
    this(store, Optional.empty());
  }

  /** For an instance that leaves its address. */
  public StoreInstances(StoreContext store, InstanceFile where) {
    this(store, Optional.of(where));
  }

  private StoreInstances(StoreContext store, Optional<InstanceFile> where) {
    this.store = store;
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

  /** The instance of the highest number; empty if there was none. */
  public static Optional<Instance> latest(StoreContext store) throws IOException {
    long number = highestNumber(store);
    if (number == 0) {
      return Optional.empty();
    }
    Path file = store.layout().instances().resolve(Numbered.name(number));
    Optional<InstanceFile> where;
    try {
      where = InstanceFile.decode(store.fresh().readAll(file, InstanceFile.MAX_BYTES));
    } catch (IOException e) {
      where = Optional.empty(); // it is but a hint
    }
    return Optional.of(new Instance(number, where));
  }

  @Override
  public String latest() throws IOException {
    return latest(store).map(Instance::inWords).orElse("a later instance");
  }

  @Override
  public Id store() {
    return store.identity().id();
  }

  @Override
  public void checkClock(long wall) throws IOException {
    long now = store.checkedNow();
    // The machine's clock is right now; it may have been set since the service read it.
    long ahead = wall - now;
    long boundMs = store.settings().clockAheadMs();
    if (ahead > boundMs * 1_000_000) {
      throw new ClockException(ahead, boundMs, "ahead of");
    }
  }

  /**
   * A writer's clock may be ahead of the filesystem's while the service's is behind it, or the
   * other way round, and a timestamp ahead of its writer's clock.
   */
  @Override
  public long timestampsOffNanos() {
    StoreSettings s = store.settings();
    long ms = s.clockAheadMs() + s.clockBehindMs() + s.timestampDistanceMs() + SLACK_MS;
    return ms * 1_000_000;
  }

  @Override
  public long takeNumber() throws IOException {
    ends.prepare(); // before what can't be undone: a number stops the instance before
    long next = highestNumber(store) + 1;
    while (true) {
      if (next > Numbered.MAX) {
        throw new IOException(store.layout().instances() + ": no number is left for an instance");
      }
      try {
        Path unused =
            create(
                store.layout().instances(), Numbered.name(next), where.map(InstanceFile::encode));
        number = next;
        return next;
      } catch (FileAlreadyExistsException e) {
        next++; // another instance starts at this moment, or our own request was sent twice: a gap
        // does no harm
      }
    }
  }

  private Path create(Path directory, String name, Optional<byte[]> content) throws IOException {
    Path file = directory.resolve(name);
    try (StoreFile created = store.fs().create(file, store.fileMode())) {
      if (content.isPresent()) {
        created.write(ByteBuffer.wrap(content.get()));
        created.force();
      }
    }
    store.fs().forceDirectory(directory);
    return file;
  }

  private static long highestNumber(StoreContext store) throws IOException {
    return store.fresh().list(store.layout().instances()).stream()
        .map(Numbered::parse)
        .flatMapToLong(OptionalLong::stream)
        .max()
        .orElse(0);
  }

  @Override
  public OptionalLong highestEarlierCeiling() throws IOException {
    List<CeilingName> earlier =
        store.fresh().list(store.layout().ceilings()).stream()
            .map(CeilingName::parse)
            .flatMap(Optional::stream)
            .filter(c -> c.instance() < number)
            .toList();
    lastEarlier = earlier.stream().mapToLong(CeilingName::instance).max();
    return earlier.stream().mapToLong(CeilingName::ceiling).max();
  }

  @Override
  public OptionalLong lastEarlierInstance() {
    return lastEarlier;
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
    String name = new CeilingName(number, ceiling).toString();
    Path file;
    try {
      file = create(store.layout().ceilings(), name, Optional.empty());
    } catch (FileAlreadyExistsException e) {
      // Ours, from a request that was sent twice; or the force of an earlier call failed, after
      // which the name may not outlive a power cut.
      file = store.layout().ceilings().resolve(name);
      store.fs().forceDirectory(store.layout().ceilings());
    }
    // Only now look for a later instance: one that took its number before this look will find the
    // ceiling, and fence it.
    if (!isLatest()) {
      return false;
    }
    if (!published.contains(file)) {
      published.addLast(file);
    }
    if (published.size() > KEPT_CEILINGS) {
      store.fresh().removeQuietly(published.removeFirst());
    }
    return true;
  }

  @Override
  public boolean isLatest() throws IOException {
    return highestNumber(store) == number;
  }
}
