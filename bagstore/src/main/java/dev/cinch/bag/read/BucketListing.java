package dev.cinch.bag.read;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.layout.LogLayout;
import dev.cinch.bag.layout.TimeName;
import dev.cinch.bag.store.LogContext;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Which buckets there are, for who misses some that a record lists: one listing of each directory
 * above buckets that is there. So what is asked for grows with what there is, and not with what a
 * record lists, which may be forged. Thread-safe.
 */
@CheckReturnValue
public final class BucketListing {
  private final LogContext log;

  public BucketListing(LogContext log) {
    this.log = log;
  }

  /**
   * The starts of the buckets in {@code [from, to)} whose directories are there, past every cache
   * where this user may make entries.
   */
  public Set<Long> starts(long from, long to) throws IOException {
    long width = log.bucketWidth();
    var found = new HashSet<Long>();
    Path root = log.layout().buckets();
    for (long era : starts(root, from, to, LogLayout.eraWidth(width))) {
      Path eraDirectory = root.resolve(TimeName.of(era));
      for (long group : starts(eraDirectory, from, to, LogLayout.groupWidth(width))) {
        found.addAll(starts(eraDirectory.resolve(TimeName.of(group)), from, to, width));
      }
    }
    return found;
  }

  private List<Long> starts(Path directory, long from, long to, long width) throws IOException {
    return LogLayout.starts(directory, names(directory), from, to, width);
  }

  private List<String> names(Path directory) throws IOException {
    try {
      return log.store().fs().isLocal(directory)
          ? log.store().fs().list(directory)
          : log.store().fresh().listAsPermitted(directory);
    } catch (NoSuchFileException e) {
      return List.of(); // retired since, or a copy of a store lacks its empty directories
    }
  }
}
