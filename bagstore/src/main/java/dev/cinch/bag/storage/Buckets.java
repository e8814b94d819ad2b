package dev.cinch.bag.storage;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.format.ForeignEntryException;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.BucketTree;
import dev.cinch.bag.model.DataFileName;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.model.Name;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * The buckets that a log has, and what stands in them, by listings of their places. Thread-safe.
 *
 * @param storage what lists
 * @param log whose buckets
 * @param width of each, nanoseconds
 */
@CheckReturnValue
public record Buckets(Storage storage, LogLayout log, long width) {
  /** Tells whether everything before a time is settled, so that buckets there may be retired. */
  @FunctionalInterface
  public interface Settled {
    boolean through(long end) throws IOException;
  }

  /**
   * What stands in a bucket.
   *
   * @param mayBeLocked whether it has a lock, or may have one that this user does not see
   */
  public record Bag(List<DataFileName> files, boolean mayBeLocked) {}

  private BucketTree tree() {
    return new BucketTree(log, width);
  }

  /**
   * Those in {@code [from, to)}, ascending and past every cache (S5). What it names is durable: a
   * record must not outlive what it lists.
   *
   * @param settled asked where something vanishes meanwhile, as retired buckets do
   */
  public List<Bucket> all(long from, long to, Settled settled) throws IOException {
    return tree().find(from, to, (place, end, w) -> unlessSettled(place, end, settled));
  }

  /** The place may have been settled and retired since the one above it was listed. */
  private List<String> unlessSettled(Name place, long end, Settled settled) throws IOException {
    try {
      List<String> names = storage.list(place, Freshness.CERTAIN);
      storage.secure(place);
      return names;
    } catch (NoSuchFileException e) {
      if (!settled.through(end)) {
        throw e;
      }
      return List.of();
    }
  }

  /** Those in {@code [from, to)} that this machine knows. */
  public List<Bucket> known(long from, long to) throws IOException {
    return tree().find(from, to, (place, end, w) -> known(place));
  }

  private List<String> known(Name place) {
    try {
      return storage.list(place, Freshness.CACHED);
    } catch (IOException e) { // not there yet, or any more; whoever settles tells
      return List.of();
    }
  }

  /**
   * Those in {@code [from, to)}, as fresh as this user may look: for who misses some that a record
   * lists. What is asked for grows with what there is, and not with what a record lists, which may
   * be forged.
   */
  public List<Bucket> permitted(long from, long to) throws IOException {
    return tree()
        .find(from, to, (place, end, w) -> storage.listIfThere(place, Freshness.PERMITTED));
  }

  /**
   * As {@link #permitted(long, long)}, where all places must be there.
   *
   * @param leftOut told of what stands in the place of buckets, and is none (rule N7)
   */
  public List<Bucket> permitted(long from, long to, Consumer<ForeignEntryException> leftOut)
      throws IOException {
    return tree()
        .find(
            from,
            to,
            (place, end, w) -> {
              try {
                return storage.list(place, Freshness.PERMITTED);
              } catch (ForeignEntryException e) {
                leftOut.accept(e);
                return List.of();
              }
            });
  }

  /** Whether there may be one in {@code [from, to)}, past every cache; in doubt there is one. */
  public boolean mayBeIn(long from, long to) throws IOException {
    try {
      return !tree().walk(from, to, (place, end, w) -> now(place), bucket -> false);
    } catch (NoSuchFileException e) {
      return true; // retired since its parent was listed, or lost: whoever settles tells
    }
  }

  private List<String> now(Name place) throws IOException {
    return storage
        .listIfPermitted(place)
        .orElseThrow(() -> new NoSuchFileException(place.toString()));
  }

  /**
   * Looks what stands in a bucket.
   *
   * @param freshness cached, or as this user may look
   * @throws NoSuchFileException if it is not there, or was closed meanwhile
   */
  public Bag look(Bucket bucket, Freshness freshness) throws IOException {
    Name place = log.bucket(bucket);
    Optional<List<String>> now =
        freshness == Freshness.CACHED ? Optional.empty() : storage.listIfPermitted(place);
    List<String> names = now.isPresent() ? now.get() : storage.list(place, Freshness.CACHED);
    return new Bag(
        names.stream().map(DataFileName::parse).flatMap(Optional::stream).toList(),
        // A "no" by name could outlast the closing, so that is for those whose listing may be old.
        now.isEmpty() || LogLayout.hasLock(names));
  }

  /**
   * Removes the data files of a bucket whose lock a durable record names (rule R0); its mark and
   * its lock stay.
   *
   * @throws IOException if some could not be removed
   */
  public void sweep(Bucket bucket) throws IOException {
    IOException failed = null;
    Name place = log.bucket(bucket);
    for (String name : known(place)) {
      if (DataFileName.parse(name).isPresent()) {
        try {
          storage.remove(place.resolve(name));
        } catch (IOException e) {
          failed = e;
        }
      }
    }
    if (failed != null) {
      throw failed;
    }
  }
}
