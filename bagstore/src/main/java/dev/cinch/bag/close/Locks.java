package dev.cinch.bag.close;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.file.SegmentReader;
import dev.cinch.bag.format.Checkpoint;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.HorizonRecord.ClosedBucket;
import dev.cinch.bag.format.HorizonRecord.Sums;
import dev.cinch.bag.format.SegmentBucket;
import dev.cinch.bag.format.SegmentTrailer;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.storage.Freshness;
import dev.cinch.bag.storage.Patience;
import dev.cinch.bag.store.LogContext;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.util.Optional;

/** Reads the locks of a log's buckets: settled files, each of one bucket (rule C1). Thread-safe. */
@CheckReturnValue
public final class Locks {
  private final LogContext log;

  public Locks(LogContext log) {
    this.log = log;
  }

  /**
   * A closed bucket.
   *
   * @param bucket what exists in it
   * @param sums of it alone
   * @param digest of its lock, by which records name it; in hexadecimal
   */
  public record Closed(SegmentBucket bucket, Sums sums, String digest) {}

  /** What a bucket's lock says, if it has one; as far as this machine knows. */
  public Optional<Closed> read(Bucket bucket) throws IOException {
    return read(bucket, Freshness.CACHED);
  }

  Optional<Closed> read(Bucket bucket, Freshness freshness) throws IOException {
    Optional<SegmentReader> lock = find(bucket, freshness);
    return lock.isPresent() ? Optional.of(closed(lock.get())) : Optional.empty();
  }

  private Optional<SegmentReader> find(Bucket bucket, Freshness freshness) throws IOException {
    try {
      return Optional.of(SegmentReader.ofBucket(log, bucket, freshness));
    } catch (NoSuchFileException e) {
      return Optional.empty();
    }
  }

  private static Closed closed(SegmentReader lock) throws IOException {
    try (lock) {
      return new Closed(lock.bucket(lock.header().from()).orElseThrow(), sums(lock), lock.digest());
    }
  }

  /** What a record counts of a lock: its end tells all of it. */
  public static Sums sums(SegmentReader lock) {
    SegmentTrailer end = lock.trailer();
    return new Sums(end.buckets(), end.messages(), lock.size(), end.newest());
  }

  /** As {@link #read}, for who does not know that there is one. A "no" may be old. */
  public Optional<Closed> readIfListed(Bucket bucket) throws IOException {
    Name path = path(bucket);
    Name place = path.parent();
    return log.storage().listsDearly()
            || log.storage().listIfThere(place, Freshness.CACHED).contains(path.last())
        ? read(bucket)
        : Optional.empty();
  }

  /**
   * Opens the lock of a bucket that a record lists, so that it is there unless it was lost or
   * retired. A "no" that may be old is not believed until every cache has expired.
   *
   * @param wait patience that began once the record was there, and so the lock; of many that look
   *     missing it is one, since caches of what was published by a time expire together
   * @return empty if there is none: the caller decides between lost and retired
   */
  public Optional<SegmentReader> open(Bucket bucket, Patience wait) throws IOException {
    Optional<SegmentReader> lock = find(bucket, Freshness.CACHED);
    return lock.isPresent() || isRetired(bucket)
        ? lock
        : wait.find(() -> find(bucket, Freshness.CACHED));
  }

  /** Patience with locks that look missing. */
  public Patience patience() {
    return log.storage().patience(log.layout().buckets());
  }

  /**
   * Opens the lock of a bucket that a record lists, which must be the one that the record names.
   * Whatever is read by a lock in settled time is read by this one.
   *
   * @throws DamagedException if there is none, or another: it is lost, or was retired meanwhile
   */
  public SegmentReader open(ClosedBucket listed) throws IOException {
    return open(listed, patience());
  }

  /** As {@link #open(ClosedBucket)}, with the patience of {@link #open(Bucket, Patience)}. */
  public SegmentReader open(ClosedBucket listed, Patience wait) throws IOException {
    var bucket = new Bucket(listed.start(), log.bucketWidth());
    SegmentReader lock = open(bucket, wait).orElseThrow(() -> missing(bucket));
    if (!lock.digest().equals(listed.lockDigest())) {
      lock.close();
      throw new DamagedException(
          path(bucket), 0, "a lock of digest " + listed.lockDigest(), lock.digest());
    }
    return lock;
  }

  /** What the lock says that {@link #open(ClosedBucket)} opens. */
  public Closed readListed(ClosedBucket listed) throws IOException {
    return closed(open(listed));
  }

  private boolean isRetired(Bucket bucket) throws IOException {
    Optional<Checkpoint> checkpoint = new HorizonChain(log).checkpoint();
    return checkpoint.isPresent() && checkpoint.get().to() >= bucket.end();
  }

  /** What is wrong where a listed bucket has no lock. */
  public DamagedException missing(Bucket bucket) {
    return new DamagedException(path(bucket), 0, "a lock", "no file");
  }

  /** Where the lock stands, for people. */
  Name path(Bucket bucket) {
    return LogLayout.lock(log.layout().bucket(bucket));
  }
}
