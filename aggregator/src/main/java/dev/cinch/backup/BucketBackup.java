package dev.cinch.backup;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.audit.FileVerifier;
import dev.cinch.bag.audit.Finding;
import dev.cinch.bag.close.Locks;
import dev.cinch.bag.close.Locks.Closed;
import dev.cinch.bag.format.BucketLock;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.Envelope;
import dev.cinch.bag.format.FileHeader;
import dev.cinch.bag.format.HorizonRecord.ClosedBucket;
import dev.cinch.bag.format.LockedFile;
import dev.cinch.bag.layout.BucketTree;
import dev.cinch.bag.layout.LogLayout;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.storage.LogStorage.Freshness;
import dev.cinch.bag.storage.Stored;
import dev.cinch.bag.store.LogContext;
import dev.cinch.lease.Sha256;
import java.io.IOException;
import java.nio.file.Path;

/**
 * Copies closed buckets, each as its lock says and the lock last: a bucket that has one is whole.
 * Not thread-safe.
 */
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
    Path copy = there.bucket(bucket);
    if (to.has(LogLayout.lock(copy))) {
      return;
    }
    Closed closed = locks.readListed(listed);
    Path source = log.layout().bucket(bucket);
    to.publish(LogLayout.prelock(copy), SEALED);
    for (LockedFile file : closed.lock().files()) {
      Path data = LogLayout.dataFile(copy, file.name());
      if (file.validLength() > 0 && !to.has(data)) {
        data(bucket, file, data);
      }
    }
    for (BucketLock.Part part : closed.lock().parts()) {
      Path name = LogLayout.lockPart(LogLayout.lock(source), part.sha256());
      to.publish(
          LogLayout.lockPart(LogLayout.lock(copy), part.sha256()),
          document(log, name, BucketLock.MAX_BYTES, part.sha256()));
    }
    Path lock = LogLayout.lock(source);
    to.publish(LogLayout.lock(copy), document(log, lock, BucketLock.MAX_BYTES, closed.digest()));
  }

  /** The bytes of a document of which something else says the digest. */
  static byte[] document(LogContext log, Path document, int limit, String sha256)
      throws IOException {
    return log.documents()
        .read(
            document,
            limit,
            bytes -> {
              String found = Envelope.sha256(bytes);
              if (!found.equals(sha256)) {
                throw new DamagedException(document, 0, "SHA-256 " + sha256, found);
              }
              return bytes;
            });
  }

  private void data(Bucket bucket, LockedFile file, Path copy) throws IOException {
    try {
      data(bucket, file, copy, Freshness.CACHED);
    } catch (DamagedException e) {
      data(bucket, file, copy, Freshness.CERTAIN); // before it is believed (rule N5)
    }
  }

  /** The lock's copy of the last bytes counts, whatever the file holds there (rule C3). */
  private void data(Bucket bucket, LockedFile file, Path copy, Freshness freshness)
      throws IOException {
    Path draft;
    try (Stored in = log.storage().open(bucket, file.name(), freshness)) {
      draft = to.draft(there.bucket(bucket), in, file.copyOffset(), file.copy(), Sha256.digest());
    }
    Path source = LogLayout.dataFile(log.layout().bucket(bucket), file.name());
    try (Stored in = to.open(draft)) {
      var header = new FileHeader(log.store().identity().id(), log.id(), bucket, file.name());
      var verifier = FileVerifier.ofBytes(source, header, in, () -> to.open(draft), log);
      for (Finding f : verifier.settled(file, in.size())) {
        if (f.severity() == Finding.Severity.DAMAGE) {
          throw new DamagedException(f.path(), f.offset(), f.expected(), f.actual());
        }
      }
    } catch (IOException e) {
      to.remove(draft);
      throw e;
    }
    to.link(draft, copy);
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
                  public void parent(Path directory, long end) throws IOException {
                    if (end <= time) {
                      to.removeAll(directory);
                    }
                  }
                });
  }
}
