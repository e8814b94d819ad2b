package dev.cinch.backup;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.close.Locks;
import dev.cinch.bag.file.SegmentReader;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.Envelope;
import dev.cinch.bag.format.HorizonRecord.ClosedBucket;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.BucketTree;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.storage.Freshness;
import dev.cinch.bag.store.LogContext;
import java.io.IOException;

/** Copies closed buckets: the lock of each, which holds its messages. Not thread-safe. */
@CheckReturnValue
final class BucketBackup {
  /** What closers write into a prelock. */
  private static final byte[] SEALED = {'x'};

  private final LogContext log;
  private final Locks locks;
  private final Destination to;
  private final LogLayout there;

  BucketBackup(LogContext log, Destination to, LogLayout there) {
    this.log = log;
    this.locks = new Locks(log);
    this.to = to;
    this.there = there;
  }

  void copy(Bucket bucket, ClosedBucket listed) throws IOException {
    Name copy = there.bucket(bucket);
    if (to.has(LogLayout.lock(copy))) {
      return;
    }
    Name source = LogLayout.lock(log.layout().bucket(bucket));
    String sha256;
    try (SegmentReader lock = locks.open(listed)) {
      sha256 = lock.sha256();
    }
    to.publish(LogLayout.prelock(copy), SEALED);
    to.link(to.draft(copy, log.storage(), source, sha256), LogLayout.lock(copy));
  }

  /** The bytes of a document of which something else says the digest. */
  static byte[] document(LogContext log, Name document, int limit, String sha256)
      throws IOException {
    return log.storage()
        .read(
            document,
            limit,
            Freshness.CACHED,
            bytes -> {
              String found = Envelope.sha256(bytes);
              if (!found.equals(sha256)) {
                throw new DamagedException(document, 0, "SHA-256 " + sha256, found);
              }
              return bytes;
            });
  }

  /** Removes the buckets that end at or before a time. */
  void removeThrough(long time) throws IOException {
    boolean unused =
        new BucketTree(there, log.bucketWidth())
            .walk(
                Long.MIN_VALUE,
                time,
                (directory, end, width) -> to.names(directory),
                new BucketTree.Visitor() {
                  @Override
                  public boolean bucket(Bucket bucket) throws IOException {
                    if (bucket.end() <= time) {
                      to.removeAll(there.bucket(bucket));
                    }
                    return true;
                  }

                  @Override
                  public void parent(Name directory, long end) throws IOException {
                    if (end <= time) {
                      to.removeAll(directory);
                    }
                  }
                });
  }
}
