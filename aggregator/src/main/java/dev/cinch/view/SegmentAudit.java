package dev.cinch.view;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.close.BucketCloser;
import dev.cinch.bag.close.ChainWalk;
import dev.cinch.bag.close.HorizonChain;
import dev.cinch.bag.close.HorizonChain.Link;
import dev.cinch.bag.format.Checkpoint.Covered;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.HorizonRecord;
import dev.cinch.bag.format.HorizonRecord.ClosedBucket;
import dev.cinch.bag.format.SegmentBucket;
import dev.cinch.bag.format.SegmentDigests;
import dev.cinch.bag.format.SegmentHeader;
import dev.cinch.bag.read.SegmentFeed;
import dev.cinch.bag.read.SegmentMarks;
import dev.cinch.bag.read.SegmentReader;
import dev.cinch.bag.read.SegmentVerifier;
import dev.cinch.bag.store.LogContext;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Checks whole segments against the records and locks that they cover, before these are retired:
 * from then on the segments are all there is (rule R1). Of segments that were published before this
 * was made: listings are made once for all of them. Not thread-safe.
 */
@CheckReturnValue
final class SegmentAudit {
  private final LogContext log;
  private final HorizonChain chain;
  private final SegmentFeed feed;
  private final SegmentMarks marks;

  /** The end of the records, where a segment was checked against them; it ends behind all. */
  private @Nullable Link tip;

  SegmentAudit(LogContext log) {
    this.log = log;
    this.chain = new HorizonChain(log);
    this.feed = new SegmentFeed(log);
    this.marks = new SegmentMarks(log, Optional.empty());
  }

  private record Listed(ClosedBucket bucket, HorizonRecord record) {}

  /**
   * @return what a checkpoint says of the segment that was checked
   * @throws DamagedException if the segment lacks anything that its records and their locks name,
   *     or has anything else
   */
  Covered check(long number) throws IOException {
    try (SegmentReader segment = SegmentReader.open(log, number, marks)) {
      var expected = new Expected(segment, tip(segment));
      SegmentDigests digests = new SegmentVerifier(segment).verify(expected::compare);
      expected.end();
      return new Covered(digests, segment.trailer().messages());
    }
  }

  /**
   * Reads a segment whose records are retired, behind a checkpoint that does not know its digests.
   *
   * @throws DamagedException if it contradicts itself
   */
  Covered read(long number) throws IOException {
    try (SegmentReader segment = SegmentReader.open(log, number, marks)) {
      SegmentDigests digests = new SegmentVerifier(segment).verify(bucket -> {});
      return new Covered(digests, segment.trailer().messages());
    }
  }

  private Link tip(SegmentReader segment) throws IOException {
    Link known = tip;
    if (known == null) {
      known = chain.freshTip().orElseThrow(() -> noRecords(segment));
      tip = known;
    }
    return known;
  }

  private static DamagedException noRecords(SegmentReader segment) {
    return new DamagedException(segment.path(), 0, "the records that it covers", "none");
  }

  /** The buckets that the segment must have, read record by record. */
  private final class Expected {
    private final SegmentReader segment;
    private final SegmentHeader header;
    private final Deque<Listed> buckets = new ArrayDeque<>();
    private final ChainWalk records;
    private boolean over;

    Expected(SegmentReader segment, Link tip) {
      this.segment = segment;
      this.header = segment.header();
      this.records = new ChainWalk(chain, tip, header.firstRecord());
    }

    private void fill() throws IOException {
      while (buckets.isEmpty() && !over) {
        Link link = records.next().orElseThrow(() -> wrong("its records", "none of that number"));
        over = link.record().number() == header.lastRecord();
        if (over && !link.digest().equals(header.lastDigest())) {
          throw wrong("records up to SHA-256 " + link.digest(), header.lastDigest());
        }
        for (ClosedBucket b : link.record().buckets()) {
          buckets.add(new Listed(b, link.record()));
        }
      }
    }

    void compare(SegmentBucket found) throws IOException {
      fill();
      Listed listed = buckets.poll();
      if (listed == null) {
        throw wrong("no further bucket", "the bucket " + found.start());
      }
      BucketCloser.Closed closed = feed.lock(listed.bucket());
      if (!SegmentBucket.of(closed.lock(), listed.record()).equals(found)) {
        throw wrong("what the lock of " + listed.bucket().start() + " says", "" + found.start());
      }
    }

    void end() throws IOException {
      fill();
      if (!buckets.isEmpty()) {
        throw wrong("the bucket " + buckets.element().bucket().start(), "the end");
      }
    }

    private DamagedException wrong(String expected, String actual) {
      return new DamagedException(segment.path(), 0, expected, actual);
    }
  }
}
