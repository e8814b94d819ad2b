package dev.cinch.bag.read;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.close.HorizonChain.Link;
import dev.cinch.bag.close.Locks;
import dev.cinch.bag.close.UnrecordedLocks;
import dev.cinch.bag.close.View;
import dev.cinch.bag.file.DataFiles;
import dev.cinch.bag.file.Evidence.Source;
import dev.cinch.bag.file.SegmentReader;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.ForeignEntryException;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.DataFileName;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.storage.Buckets.Bag;
import dev.cinch.bag.storage.Freshness;
import dev.cinch.bag.store.CountingKeys;
import dev.cinch.bag.store.LogContext;
import dev.cinch.lease.witness.WitnessVerifier;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.util.ArrayDeque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The buckets of a log that no record lists, in order: the lock of one that is closed, else its
 * data files. Not thread-safe.
 *
 * <p>Others settle and retire meanwhile. What they retired is missing in listings, of the tree and
 * of a bucket, without a word; and a bucket that was made in settled time is listed though it does
 * not exist, and its writer was told so. So nothing of what listings say counts before a look at
 * the chain that comes after them (rule H4). One look serves some buckets.
 */
@CheckReturnValue
final class OpenBuckets {
  private static final Logger LOG = LoggerFactory.getLogger(OpenBuckets.class);

  /** How many are listed before one look at the chain. */
  private static final int READ_AHEAD = 32;

  private final LogContext log;
  private final Locks locks;

  /** What the tree listed, of what was not looked at yet; and what was found in the next few. */
  private final Queue<Bucket> open = new ArrayDeque<>();

  private final ArrayDeque<Found> found = new ArrayDeque<>();

  /** What stands in them, or for them, and is neither file nor directory. */
  private final Map<Name, ForeignEntryException> foreign = new LinkedHashMap<>();

  private boolean listed;

  /** For what was found; null before it counts. */
  private @Nullable WitnessVerifier keys;

  OpenBuckets(LogContext log) {
    this.log = log;
    this.locks = new Locks(log);
  }

  /**
   * What there is of a bucket that is not settled.
   *
   * @param locked whether it is closed (rule H4)
   * @param files all that there are, if it is not
   */
  private record Found(Bucket bucket, boolean locked, List<DataFileName> files) {}

  /** Lists them anew, where what was listed went under the reader's hands. */
  void again() {
    open.clear();
    found.clear();
    listed = false;
  }

  /** Whether there is something that {@link #next} opens, if it is still open by a later look. */
  boolean isFound() {
    return !found.isEmpty();
  }

  /** Whether all were listed, and opened. */
  boolean isEnd() {
    return listed && open.isEmpty() && found.isEmpty();
  }

  /**
   * Looks what there is of the next few, and opens no data file yet. The names are looked up past
   * every cache: whoever has just taken a lease must find all that its last holder wrote (rules N2,
   * H3).
   */
  void find(long from, long to) throws IOException {
    if (!listed) {
      open.addAll(log.buckets().permitted(from, to, this::leaveOut));
      listed = true;
    }
    keys = null;
    while (!open.isEmpty() && found.size() < READ_AHEAD) {
      try {
        found.add(find(open.remove()));
      } catch (ForeignEntryException e) {
        leaveOut(e);
      }
    }
  }

  private Found find(Bucket bucket) throws IOException {
    List<DataFileName> files;
    boolean locked = false;
    try {
      Bag bag = log.buckets().look(bucket, Freshness.PERMITTED);
      files = bag.files();
      if (bag.mayBeLocked()) {
        locked = locks.read(bucket).isPresent();
      }
    } catch (NoSuchFileException e) {
      // Closed meanwhile, and what was made for the listing was swept before it had its mode.
      files = List.of();
      locked = locks.read(bucket).isPresent();
      if (!locked) {
        throw e;
      }
    }
    return new Found(bucket, locked, locked ? List.of() : files);
  }

  /** Leaves out what a look after the listing says is settled. */
  void settled(long through) {
    open.removeIf(bucket -> bucket.start() < through);
    found.removeIf(f -> f.bucket().start() < through);
  }

  /**
   * Opens the next one that was found; null if it can't be read, or there is none.
   *
   * @param view of a look after the listing
   */
  @Nullable Source next(View view) throws IOException {
    WitnessVerifier judge = keys;
    if (judge == null) {
      missNoRecord();
      // Listed after the files: a key is trusted before anything is written under it.
      judge =
          new WitnessVerifier(new CountingKeys(log.store(), view.tip().map(Link::record)).now());
      keys = judge;
    }
    Found next = found.poll();
    if (next == null) {
      return null;
    }
    Bucket bucket = next.bucket();
    try {
      if (next.locked()) { // its record is still to come
        return SegmentReader.ofBucket(log, bucket, Freshness.CACHED)
            .messages(bucket.start(), bucket.end(), judge, false);
      }
      return files(next, judge);
    } catch (ForeignEntryException e) {
      leaveOut(e);
      return null;
    }
  }

  private DataFiles files(Found found, WitnessVerifier judge) throws IOException {
    var files = new DataFiles(log, found.bucket(), judge, found.files().size());
    try {
      for (DataFileName name : found.files()) {
        files.addGrowing(name, this::leaveOut);
      }
      return files;
    } catch (IOException | RuntimeException e) {
      files.close();
      throw e;
    }
  }

  /** A lock that no record and no intent reaches had a record, which is missing (rule H7). */
  private void missNoRecord() throws IOException {
    List<Bucket> locked = found.stream().filter(Found::locked).map(Found::bucket).toList();
    if (!locked.isEmpty()) {
      Optional<DamagedException> missing = new UnrecordedLocks(log).missing(locked);
      if (missing.isPresent()) {
        throw missing.get();
      }
    }
  }

  /** What is there can't be read, and there may have been something (rule N7). */
  void leaveOut(ForeignEntryException e) {
    if (foreign.putIfAbsent(e.path(), e) == null && foreign.size() > 1) {
      LOG.warn("{}", e.getMessage()); // the first one is thrown
    }
  }

  /** At the end: it keeps nothing else from being read. */
  void end() throws ForeignEntryException {
    for (ForeignEntryException e : foreign.values()) {
      throw e;
    }
  }
}
