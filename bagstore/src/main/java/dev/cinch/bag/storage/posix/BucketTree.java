package dev.cinch.bag.storage.posix;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.fs.Fresh;
import dev.cinch.bag.layout.LogLayout;
import dev.cinch.bag.layout.TimeName;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.storage.LogStorage.Settled;
import dev.cinch.bag.store.LogContext;
import dev.cinch.bag.store.StoreContext;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Walks the directories above the buckets of a log. How fresh a listing is, and what is made of one
 * that fails, its user says. Thread-safe.
 */
@CheckReturnValue
public final class BucketTree {
  private final StoreContext store;
  private final LogLayout layout;
  private final long bucketWidth;

  public BucketTree(LogContext log) {
    this(log.store(), log.layout());
  }

  BucketTree(StoreContext store, LogLayout layout) {
    this.store = store;
    this.layout = layout;
    this.bucketWidth = store.settings().bucketWidthNanos();
  }

  /** Lists a directory of the tree. */
  @FunctionalInterface
  public interface Lister {
    /**
     * @param end no bucket in it ends later; {@link Long#MAX_VALUE} of the outermost one
     * @param width of what stands in it: of an era, a group or a bucket
     */
    List<String> list(Path directory, long end, long width) throws IOException;
  }

  /** Told of what is listed, in order. */
  @FunctionalInterface
  public interface Visitor {
    /**
     * @return whether to go on
     */
    boolean bucket(Bucket bucket) throws IOException;

    /**
     * An era or a group, after all that stands in it.
     *
     * @param end no bucket in it ends later
     */
    default void parent(Path directory, long end) throws IOException {}
  }

  /**
   * Walks what is listed of {@code [from, to)}.
   *
   * @return whether the visitor wanted all of it
   */
  public boolean walk(long from, long to, Lister lister, Visitor visitor) throws IOException {
    long width = LogLayout.eraWidth(bucketWidth);
    return walk(layout.buckets(), Long.MAX_VALUE, width, from, to, lister, visitor);
  }

  private boolean walk(
      Path directory, long end, long width, long from, long to, Lister lister, Visitor visitor)
      throws IOException {
    List<String> names = lister.list(directory, end, width);
    for (long start : LogLayout.starts(directory, names, from, to, width)) {
      if (width == bucketWidth) {
        if (!visitor.bucket(new Bucket(start, width))) {
          return false;
        }
        continue;
      }
      Path child = directory.resolve(TimeName.of(start));
      long inner = width / LogLayout.FAN_OUT;
      if (!walk(child, start + width, inner, from, to, lister, visitor)) {
        return false;
      }
      visitor.parent(child, start + width);
    }
    return true;
  }

  /** What is listed of {@code [from, to)}, ascending. */
  public List<Bucket> find(long from, long to, Lister lister) throws IOException {
    var found = new ArrayList<Bucket>();
    boolean unused = walk(from, to, lister, found::add);
    return found;
  }

  /** The buckets that exist in {@code [from, to)}, past every cache (rule N2): advance, step 3. */
  List<Bucket> certain(long from, long to, Settled settled) throws IOException {
    return find(from, to, (directory, end, width) -> unlessSettled(directory, end, settled));
  }

  /** The directory may have been settled and retired since its parent was listed. */
  private List<String> unlessSettled(Path directory, long end, Settled settled) throws IOException {
    try {
      List<String> names = store.fresh().list(directory);
      store.fs().forceDirectory(directory); // a record must not outlive what it lists
      return names;
    } catch (NoSuchFileException e) {
      if (!settled.through(end)) {
        throw e;
      }
      return List.of();
    }
  }

  /**
   * As {@link #certain}, as far as this machine knows: what is old is there, what is new may be
   * missing.
   */
  List<Bucket> known(long from, long to) throws IOException {
    return find(
        from,
        to,
        (directory, end, width) -> {
          try {
            return store.fs().list(directory);
          } catch (IOException e) { // not there yet, or any more; whoever settles tells
            return List.of();
          }
        });
  }

  /**
   * As {@link #certain}, as fresh as this user may look, and nothing is forced: for who misses
   * buckets that a record lists. What is asked for grows with what there is, and not with what a
   * record lists, which may be forged.
   */
  public List<Bucket> permitted(long from, long to) throws IOException {
    Fresh fresh = store.fresh();
    return find(
        from,
        to,
        (directory, end, width) ->
            isLocal(directory)
                ? fresh.listIfThere(directory)
                : fresh.listAsPermittedIfThere(directory));
  }

  private boolean isLocal(Path directory) throws IOException {
    try {
      return store.fs().isLocal(directory);
    } catch (NoSuchFileException e) {
      return false;
    }
  }

  /**
   * Whether a bucket may exist in {@code [from, to)}, for who looks again soon: past caches where
   * there are any, and nothing is forced.
   */
  boolean holdsAny(long from, long to) throws IOException {
    try {
      return !walk(
          from,
          to,
          (directory, end, width) ->
              store.fs().isLocal(directory)
                  ? store.fs().list(directory)
                  : store.fresh().list(directory),
          bucket -> false);
    } catch (NoSuchFileException e) {
      return true; // retired since its parent was listed, or lost: whoever settles tells
    }
  }
}
