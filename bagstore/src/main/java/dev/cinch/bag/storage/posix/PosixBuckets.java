package dev.cinch.bag.storage.posix;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.layout.BucketTree;
import dev.cinch.bag.layout.LogLayout;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.storage.LogStorage.Freshness;
import dev.cinch.bag.storage.LogStorage.Settled;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;

/** Lists the buckets of a log, more or less fresh. Thread-safe. */
@CheckReturnValue
final class PosixBuckets {
  private final PosixStore store;
  final BucketTree tree;

  PosixBuckets(PosixStore store, LogLayout layout) {
    this.store = store;
    this.tree = new BucketTree(layout, store.settings().bucketWidthNanos());
  }

  /** The buckets that exist in {@code [from, to)}, past every cache (rule N2): advance, step 3. */
  List<Bucket> certain(long from, long to, Settled settled) throws IOException {
    return tree.find(from, to, (directory, end, width) -> unlessSettled(directory, end, settled));
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
    return tree.find(
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
  List<Bucket> permitted(long from, long to) throws IOException {
    return tree.find(
        from,
        to,
        (directory, end, width) ->
            store.listIfThere(
                directory, isLocal(directory) ? Freshness.CACHED : Freshness.PERMITTED));
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
      return !tree.walk(
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
