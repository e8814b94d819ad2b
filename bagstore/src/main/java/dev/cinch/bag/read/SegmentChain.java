package dev.cinch.bag.read;

import dev.cinch.bag.close.ChainWalk;
import dev.cinch.bag.close.HorizonChain;
import dev.cinch.bag.close.HorizonChain.Link;
import dev.cinch.bag.close.Locks;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.HorizonRecord;
import dev.cinch.bag.format.HorizonRecord.ClosedBucket;
import dev.cinch.bag.format.SegmentBucket;
import dev.cinch.bag.format.SegmentHeader;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.store.LogContext;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The records and locks that a segment was made of, while they still stand: what the segment says
 * of itself must be what they say (rule R1). A segment of a copy that went its own way has the same
 * number, and all its checksums are right. Not thread-safe.
 */
final class SegmentChain {
  private record Listed(ClosedBucket bucket, HorizonRecord record) {}

  private final LogContext log;
  private final HorizonChain chain;
  private final Locks locks;
  private final SegmentReader segment;
  private final SegmentHeader header;
  private final Link tip;
  private final boolean whole;
  private final Deque<Listed> buckets = new ArrayDeque<>();
  private @Nullable ChainWalk records;
  private boolean over;

  /**
   * Compares the header.
   *
   * @param tip the last record of the log
   * @param from where the read begins; buckets before that are not compared
   * @throws DamagedException if it is of other records
   */
  SegmentChain(LogContext log, SegmentReader segment, Link tip, long from) throws IOException {
    this.log = log;
    this.chain = new HorizonChain(log);
    this.locks = new Locks(log);
    this.segment = segment;
    this.header = segment.header();
    this.tip = tip;
    this.whole = from <= header.from();
    Optional<Link> last = new ChainWalk(chain, tip, header.lastRecord()).next();
    if (last.isEmpty()) {
      throw wrong("a record up to " + tip.record().number() + " as its last", "" + header);
    }
    HorizonRecord record = last.get().record();
    if (!last.get().digest().equals(header.lastDigest()) || record.to() != header.to()) {
      throw wrong(
          "record %d of SHA-256 %s at its end".formatted(record.number(), last.get().digest()),
          header.lastDigest());
    }
  }

  /** Compares the next bucket with what its record and its lock say. */
  void compare(SegmentBucket found) throws IOException {
    boolean first = records == null;
    fill(found.start());
    while (first && !whole && !buckets.isEmpty() && before(found)) {
      Listed unused = buckets.remove();
      fill(found.start());
    }
    Listed listed = buckets.poll();
    if (listed == null || listed.bucket().start() != found.start()) {
      throw wrong(
          listed == null ? "no further bucket" : "the bucket " + listed.bucket().start(),
          "the bucket " + found.start());
    }
    Locks.Closed closed = locks.readListed(listed.bucket());
    if (!SegmentBucket.of(closed.lock(), listed.record()).equals(found)) {
      throw wrong(
          "what the lock of " + new Bucket(found.start(), log.bucketWidth()) + " says",
          "otherwise");
    }
  }

  private boolean before(SegmentBucket found) {
    return buckets.element().bucket().start() < found.start();
  }

  /** To be called when all its blocks were read. */
  void end() throws IOException {
    if (records != null || whole) {
      fill(header.from());
    }
    if (!buckets.isEmpty()) {
      throw wrong("the bucket " + buckets.element().bucket().start(), "the end");
    }
  }

  private void fill(long start) throws IOException {
    ChainWalk walk = records;
    if (walk == null) {
      long number = header.firstRecord();
      if (!whole) { // empty if it was retired meanwhile: then the walk fails, and is begun anew
        number = chain.numberSettling(start, tip).orElse(number);
      }
      walk = new ChainWalk(chain, tip, number);
      records = walk;
    }
    while (buckets.isEmpty() && !over) {
      Link link = walk.next().orElseThrow(() -> wrong("its records", "none of that number"));
      HorizonRecord record = link.record();
      if (record.number() == header.firstRecord() && record.from() != header.from()) {
        throw wrong("a range from " + record.from(), "" + header.from());
      }
      over = record.number() == header.lastRecord();
      for (ClosedBucket b : record.buckets()) {
        buckets.add(new Listed(b, record));
      }
    }
  }

  private DamagedException wrong(String expected, String actual) {
    return new DamagedException(segment.path(), 0, expected, actual);
  }
}
