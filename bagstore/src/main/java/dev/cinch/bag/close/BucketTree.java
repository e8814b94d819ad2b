package dev.cinch.bag.close;

import dev.cinch.bag.layout.Bucket;
import dev.cinch.bag.layout.LogLayout;
import dev.cinch.bag.layout.TimeName;
import dev.cinch.bag.store.LogContext;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Lists the bucket directories of a log, past every cache (rule N2): advance, step 3. Thread-safe.
 */
final class BucketTree {
  private final LogContext log;

  BucketTree(LogContext log) {
    this.log = log;
  }

  /**
   * As {@link #find}, as far as this machine knows: what is old is there, what is new may be
   * missing.
   */
  List<Bucket> known(long from, long to) {
    long width = log.bucketWidth();
    var found = new ArrayList<Bucket>();
    Path buckets = log.layout().buckets();
    for (long era : listed(buckets, from, to, LogLayout.eraWidth(width))) {
      Path eraDirectory = buckets.resolve(TimeName.of(era));
      for (long group : listed(eraDirectory, from, to, LogLayout.groupWidth(width))) {
        for (long start : listed(eraDirectory.resolve(TimeName.of(group)), from, to, width)) {
          found.add(new Bucket(start, width));
        }
      }
    }
    return found;
  }

  private List<Long> listed(Path directory, long from, long to, long width) {
    try {
      return LogLayout.starts(directory, log.store().fs().list(directory), from, to, width);
    } catch (IOException e) { // not there yet, or any more; whoever lists it in step 3 tells
      return List.of();
    }
  }

  /**
   * Whether a bucket may exist in {@code [from, to)}, for who looks again soon: past caches where
   * there are any, and nothing is forced.
   */
  boolean holdsAny(long from, long to) throws IOException {
    long width = log.bucketWidth();
    Path buckets = log.layout().buckets();
    try {
      for (long era : looked(buckets, from, to, LogLayout.eraWidth(width))) {
        Path eraDirectory = buckets.resolve(TimeName.of(era));
        for (long group : looked(eraDirectory, from, to, LogLayout.groupWidth(width))) {
          Path groupDirectory = eraDirectory.resolve(TimeName.of(group));
          if (!looked(groupDirectory, from, to, width).isEmpty()) {
            return true;
          }
        }
      }
      return false;
    } catch (NoSuchFileException e) {
      return true; // retired since its parent was listed, or lost: whoever settles tells
    }
  }

  private List<Long> looked(Path directory, long from, long to, long width) throws IOException {
    List<String> names =
        log.store().fs().isLocal(directory)
            ? log.store().fs().list(directory)
            : log.store().fresh().list(directory);
    return LogLayout.starts(directory, names, from, to, width);
  }

  /** The buckets that exist in {@code [from, to)}, ascending. */
  List<Bucket> find(long from, long to) throws IOException {
    long width = log.bucketWidth();
    var found = new ArrayList<Bucket>();
    Path buckets = log.layout().buckets();
    long eraWidth = LogLayout.eraWidth(width);
    long groupWidth = LogLayout.groupWidth(width);
    for (long era : starts(buckets, from, to, eraWidth)) {
      Path eraDirectory = buckets.resolve(TimeName.of(era));
      for (long group : unlessSettled(era + eraWidth, eraDirectory, from, to, groupWidth)) {
        Path groupDirectory = eraDirectory.resolve(TimeName.of(group));
        for (long start : unlessSettled(group + groupWidth, groupDirectory, from, to, width)) {
          found.add(new Bucket(start, width));
        }
      }
    }
    return found;
  }

  /**
   * As {@link #starts}, of a directory that may have been settled and retired since its parent was
   * listed.
   */
  private List<Long> unlessSettled(long end, Path directory, long from, long to, long width)
      throws IOException {
    try {
      return starts(directory, from, to, width);
    } catch (NoSuchFileException e) {
      if (new HorizonChain(log).freshTip().filter(tip -> tip.record().to() >= end).isEmpty()) {
        throw e;
      }
      return List.of();
    }
  }

  private List<Long> starts(Path directory, long from, long to, long width) throws IOException {
    List<String> names = log.store().fresh().list(directory);
    log.store().fs().forceDirectory(directory); // a record must not outlive what it lists
    return LogLayout.starts(directory, names, from, to, width);
  }
}
