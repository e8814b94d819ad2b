package dev.cinch.bag.close;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.format.BucketLock;
import dev.cinch.bag.format.Checkpoint;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.Envelope;
import dev.cinch.bag.format.HorizonRecord.ClosedBucket;
import dev.cinch.bag.layout.LogLayout;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.storage.LogStorage;
import dev.cinch.bag.storage.LogStorage.Freshness;
import dev.cinch.bag.store.LogContext;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads the locks of a log's buckets (rule C1). The lock of very many data files has its list in
 * parts beside it, each named by its digest and published before it; so no document is longer than
 * every reader takes. Thread-safe.
 */
@CheckReturnValue
public final class Locks {
  private static final Logger LOG = LoggerFactory.getLogger(Locks.class);

  private final LogContext log;
  private final LogStorage storage;

  public Locks(LogContext log) {
    this.log = log;
    this.storage = log.storage();
  }

  /**
   * A closed bucket.
   *
   * @param lock what exists in it
   * @param digest SHA-256 of the lock, in hexadecimal
   */
  public record Closed(BucketLock lock, String digest) {}

  /** What a bucket's lock says, if it has one; as far as this machine knows. */
  public Optional<Closed> read(Bucket bucket) throws IOException {
    return read(bucket, Freshness.CACHED);
  }

  Optional<Closed> read(Bucket bucket, Freshness freshness) throws IOException {
    try {
      return Optional.of(
          log.documents()
              .read(path(bucket), BucketLock.MAX_BYTES, freshness, b -> decode(b, bucket)));
    } catch (NoSuchFileException e) {
      return Optional.empty();
    }
  }

  /** As {@link #read}, for who does not know that there is one. A "no" may be old. */
  public Optional<Closed> readIfListed(Bucket bucket) throws IOException {
    return log.documents()
        .readIfListed(path(bucket), BucketLock.MAX_BYTES, bytes -> decode(bytes, bucket));
  }

  /**
   * As {@link #read}, of a bucket that a record lists, so that its lock is there unless it was lost
   * or retired. A "no" that may be old is not believed until every cache has expired.
   *
   * <p>Caches of what was published by a time expire together, so that all that look missing are
   * waited for together.
   *
   * @param listed monotonic time of this machine at which the record was there that lists the
   *     bucket, and so the lock
   * @return empty if there is none: the caller decides between lost and retired
   */
  public Optional<Closed> readListed(Bucket bucket, long listed) throws IOException {
    long deadline = listed + storage.staleNanos();
    Optional<Closed> closed = read(bucket);
    boolean expired = false; // before the last look: a pause in that proves nothing
    while (closed.isEmpty() && !expired && !isRetired(bucket)) {
      expired = log.store().time().monotonicNanos() - deadline >= 0 || !storage.mayBeUnseen(bucket);
      if (!expired) {
        LOG.info("{} has no lock; trying again until caches have expired", bucket);
        log.store().awaitCaches(bucket);
      }
      closed = read(bucket);
    }
    return closed;
  }

  /**
   * The lock of a bucket that a record lists, which must be the one that the record names. Whatever
   * is read by a lock in settled time is read by this one.
   *
   * @throws DamagedException if there is none, or another: it is lost, or was retired meanwhile
   */
  public Closed readListed(ClosedBucket listed) throws IOException {
    return readListed(listed, log.store().time().monotonicNanos());
  }

  /** As {@link #readListed(ClosedBucket)}, at a time of {@link #readListed(Bucket, long)}. */
  public Closed readListed(ClosedBucket listed, long at) throws IOException {
    var bucket = new Bucket(listed.start(), log.bucketWidth());
    Closed closed =
        readListed(bucket, at)
            .orElseThrow(() -> new DamagedException(path(bucket), 0, "a lock", "no file"));
    if (!closed.digest().equals(listed.lockDigest())) {
      throw new DamagedException(
          path(bucket), 0, "SHA-256 " + listed.lockDigest(), closed.digest());
    }
    return closed;
  }

  private boolean isRetired(Bucket bucket) throws IOException {
    Optional<Checkpoint> checkpoint = new HorizonChain(log).checkpoint();
    return checkpoint.isPresent() && checkpoint.get().to() >= bucket.end();
  }

  private Closed decode(byte[] bytes, Bucket bucket) throws IOException {
    Path path = path(bucket);
    BucketLock lock =
        BucketLock.decode(
            bytes,
            path,
            (part, file) ->
                log.documents()
                    .read(
                        LogLayout.lockPart(path, part.sha256()),
                        BucketLock.MAX_BYTES,
                        b -> BucketLock.decodePart(b, file, part)));
    if (!lock.store().equals(log.store().identity().id())
        || !lock.log().equals(log.id())
        || !lock.bucket().equals(bucket)) {
      throw new DamagedException(path, 0, "a lock of this bucket", "one of another place");
    }
    return new Closed(lock, Envelope.sha256(bytes));
  }

  /** Where the lock stands, for people. */
  Path path(Bucket bucket) {
    return LogLayout.lock(log.layout().bucket(bucket));
  }
}
