package dev.cinch.bag.store;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.layout.CeilingName;
import dev.cinch.bag.layout.Numbered;
import dev.cinch.lease.InstanceRegistry;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * Numbers and ceilings of lease service instances, as empty files in the store (rules L3, L9):
 * {@code service/instances/<number>} and {@code service/ceilings/<number>-<ceiling>}. Names say
 * all, so a listing is all it takes to read them. Not thread-safe.
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
  private final ArrayDeque<Path> published = new ArrayDeque<>();
  private long number;

  public StoreInstances(StoreContext store) {
    this.store = store;
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
    long next = highestNumber() + 1;
    while (true) {
      if (next > Numbered.MAX) {
        throw new IOException(store.layout().instances() + ": no number is left for an instance");
      }
      try {
        Path unused = create(store.layout().instances(), Numbered.name(next));
        number = next;
        return next;
      } catch (FileAlreadyExistsException e) {
        next++; // another instance starts at this moment, or our own request was sent twice: a gap
        // does no harm
      }
    }
  }

  private Path create(Path directory, String name) throws IOException {
    Path file = directory.resolve(name);
    store.fs().create(file, store.fileMode()).close();
    store.fs().forceDirectory(directory);
    return file;
  }

  private long highestNumber() throws IOException {
    return store.fresh().list(store.layout().instances()).stream()
        .map(Numbered::parse)
        .flatMapToLong(OptionalLong::stream)
        .max()
        .orElse(0);
  }

  @Override
  public OptionalLong highestEarlierCeiling() throws IOException {
    return store.fresh().list(store.layout().ceilings()).stream()
        .map(CeilingName::parse)
        .flatMap(Optional::stream)
        .filter(c -> c.instance() < number)
        .mapToLong(CeilingName::ceiling)
        .max();
  }

  @Override
  public boolean publishCeiling(long ceiling) throws IOException {
    String name = new CeilingName(number, ceiling).toString();
    Path file;
    try {
      file = create(store.layout().ceilings(), name);
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
    return highestNumber() == number;
  }
}
