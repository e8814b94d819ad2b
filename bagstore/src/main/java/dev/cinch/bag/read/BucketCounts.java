package dev.cinch.bag.read;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.close.BucketCloser;
import dev.cinch.bag.format.LockedFile;
import dev.cinch.bag.layout.Bucket;
import dev.cinch.bag.layout.LogLayout;
import dev.cinch.bag.store.LogContext;
import java.io.IOException;
import java.nio.file.NoSuchFileException;

/** How many messages settled buckets have, by their locks. Not thread-safe. */
@CheckReturnValue
final class BucketCounts {
  private final LogContext log;
  private final BucketCloser locks;

  BucketCounts(LogContext log) {
    this.log = log;
    this.locks = new BucketCloser(log);
  }

  /**
   * @param bucket one that a record lists
   * @throws NoSuchFileException if it has no lock: it is lost, or retired meanwhile
   */
  long messages(Bucket bucket) throws IOException {
    return locks
        .readListed(bucket)
        .orElseThrow(
            () -> new NoSuchFileException(LogLayout.lock(log.layout().bucket(bucket)).toString()))
        .lock()
        .files()
        .stream()
        .mapToLong(LockedFile::messages)
        .sum();
  }
}
