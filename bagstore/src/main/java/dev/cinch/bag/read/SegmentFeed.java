package dev.cinch.bag.read;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.close.ChainWalk;
import dev.cinch.bag.close.HorizonChain;
import dev.cinch.bag.close.HorizonChain.Link;
import dev.cinch.bag.close.Locks;
import dev.cinch.bag.file.LeaseSet;
import dev.cinch.bag.file.SegmentCursor;
import dev.cinch.bag.file.SegmentReader;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.HorizonRecord;
import dev.cinch.bag.format.HorizonRecord.ClosedBucket;
import dev.cinch.bag.format.HorizonRecord.Sums;
import dev.cinch.bag.format.SegmentBucket;
import dev.cinch.bag.format.SegmentBucket.DataFile;
import dev.cinch.bag.format.SegmentEncoder;
import dev.cinch.bag.format.SegmentHeader;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.store.LogContext;
import java.io.IOException;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Reads the buckets of a record for whoever builds a segment: all messages that the locks cover, in
 * the total order, whether rule F3 lets them exist or not. Memory is bounded by the data files of
 * one bucket. Thread-safe.
 */
@CheckReturnValue
public final class SegmentFeed {
  private final LogContext log;
  private final Locks locks;

  public SegmentFeed(LogContext log) {
    this.log = log;
    this.locks = new Locks(log);
  }

  /** Bytes of data files that the record's locks cover. */
  public long bytes(HorizonRecord record) throws IOException {
    long bytes = 0;
    for (ClosedBucket b : record.buckets()) {
      for (DataFile f : locks.readListed(b).bucket().files()) {
        bytes += f.validLength();
      }
    }
    return bytes;
  }

  /**
   * Puts the record's buckets, in order, into a segment.
   *
   * @return what the record counts of them
   */
  @CanIgnoreReturnValue
  public Sums feed(HorizonRecord record, SegmentEncoder out) throws IOException {
    Sums sums = Sums.NONE;
    for (ClosedBucket listed : record.buckets()) {
      try (SegmentReader lock = locks.open(listed)) {
        feed(lock, record, out);
        sums = sums.plus(Locks.sums(lock));
      }
    }
    return sums;
  }

  /**
   * Checks that a segment is what its records, their locks and data files give as they stand now:
   * it is made once more, and not kept. The same records give the same content (rule R1).
   *
   * @param tip the last record of the log
   * @return what its records count of their own buckets
   * @throws DamagedException if it is another, or what it was made of can't be read
   */
  @CanIgnoreReturnValue
  public Sums check(SegmentReader segment, Link tip) throws IOException {
    Sums sums = Sums.NONE;
    SegmentHeader header = segment.header();
    Name path = segment.path();
    var encoder = new SegmentEncoder(header, bytes -> {});
    var walk = new ChainWalk(new HorizonChain(log), tip, header.firstRecord());
    long from = header.from();
    Optional<Link> last = Optional.empty();
    for (long n = header.firstRecord(); n <= header.lastRecord(); n++) {
      last = walk.next();
      if (last.isEmpty()) {
        throw new DamagedException(
            path, 64, "records up to " + (n - 1) + ", the last one", "" + header.lastRecord());
      }
      if (last.get().record().from() != from) {
        throw new DamagedException(
            path, 72, "a range from " + last.get().record().from(), "" + from);
      }
      from = last.get().record().to();
      sums = sums.plus(feed(last.get().record(), encoder));
    }
    String digest = last.map(Link::digest).orElse("");
    if (from != header.to() || !digest.equals(header.lastDigest())) {
      throw new DamagedException(
          path,
          80,
          "record %d up to %d, of SHA-256 %s".formatted(header.lastRecord(), from, digest),
          "up to %d, of %s".formatted(header.to(), header.lastDigest()));
    }
    encoder.end();
    String found = segment.content();
    if (!found.equals(encoder.content())) {
      throw new DamagedException(
          path,
          0,
          "content of SHA-256 %s, which its records and data files give"
              .formatted(encoder.content()),
          found);
    }
    return sums;
  }

  private static void feed(SegmentReader lock, HorizonRecord record, SegmentEncoder out)
      throws IOException {
    SegmentBucket bucket = lock.bucket(lock.header().from()).orElseThrow();
    out.bucket(bucket.listed(record));
    SegmentCursor m = lock.messages(Long.MIN_VALUE, Long.MAX_VALUE);
    LeaseSet known = null;
    int number = 0;
    while (m.next()) {
      LeaseSet set = m.leaseSet();
      if (set != null && !same(set, known)) {
        number = out.leaseSet(m.signedLeases());
      }
      known = set;
      m.feed(out, set == null ? 0 : number);
    }
  }

  @SuppressWarnings("ReferenceEquality") // the same object, or ask the encoder
  private static boolean same(LeaseSet a, @Nullable LeaseSet b) {
    return a == b;
  }
}
