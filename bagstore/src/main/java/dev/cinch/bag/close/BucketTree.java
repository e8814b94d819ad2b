package dev.cinch.bag.close;

import dev.cinch.bag.layout.Bucket;
import dev.cinch.bag.layout.LogLayout;
import dev.cinch.bag.layout.TimeName;
import dev.cinch.bag.store.LogContext;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;

/**
 * Lists the bucket directories of a log, past every cache (rule N2): advance, step 3. Thread-safe.
 */
final class BucketTree {
  private final LogContext log;

  BucketTree(LogContext log) {
    this.log = log;
  }

  /** The buckets that exist in {@code [from, to)}, ascending. */
  List<Bucket> find(long from, long to) throws IOException {
    long width = log.bucketWidth();
    var found = new ArrayList<Bucket>();
    Path buckets = log.layout().buckets();
    for (long era : starts(buckets, from, to, LogLayout.eraWidth(width))) {
      Path eraDirectory = buckets.resolve(TimeName.of(era));
      for (long group : starts(eraDirectory, from, to, LogLayout.groupWidth(width))) {
        Path groupDirectory = eraDirectory.resolve(TimeName.of(group));
        for (long start : starts(groupDirectory, from, to, width)) {
          found.add(new Bucket(start, width));
        }
      }
    }
    return found;
  }

  private List<Long> starts(Path directory, long from, long to, long width) throws IOException {
    List<String> names = log.store().fresh().list(directory, log.store().fileMode());
    log.store().fs().forceDirectory(directory); // a record must not outlive what it lists
    return names.stream()
        .map(TimeName::parse)
        .flatMapToLong(OptionalLong::stream)
        .filter(start -> Math.floorMod(start, width) == 0 && start < to && start + width > from)
        .sorted()
        .boxed()
        .toList();
  }
}
