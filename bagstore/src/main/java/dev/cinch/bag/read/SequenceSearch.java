package dev.cinch.bag.read;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.close.HorizonChain;
import dev.cinch.bag.close.HorizonChain.Link;
import dev.cinch.bag.format.Checkpoint;
import dev.cinch.bag.format.Floor;
import dev.cinch.bag.format.HorizonRecord;
import dev.cinch.bag.format.HorizonRecord.ClosedBucket;
import dev.cinch.bag.format.SegmentBlock;
import dev.cinch.bag.format.SegmentBucket;
import dev.cinch.bag.layout.Bucket;
import dev.cinch.bag.store.LogContext;
import java.io.IOException;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * Counts the settled messages before a time, by the ends of segments and by locks. Not thread-safe.
 */
@CheckReturnValue
final class SequenceSearch {
  private final LogContext log;
  private final HorizonChain chain;
  private final Segments segments;
  private final BucketCounts counts;

  SequenceSearch(LogContext log, HorizonChain chain) {
    this.log = log;
    this.chain = chain;
    this.segments = new Segments(log);
    this.counts = new BucketCounts(log);
  }

  /**
   * How many there were before a boundary of buckets, those included that no lease permits and
   * those that expired: all that did count, as nothing before them is read.
   */
  long before(long boundary) throws IOException {
    while (true) {
      OptionalLong last = segments.lastAsPermitted();
      Floor floor = new Floors(log).last();
      try {
        return count(boundary, floor, last.orElse(0));
      } catch (IOException e) {
        if (segments.lastAsPermitted().equals(last) && new Floors(log).last().equals(floor)) {
          throw e;
        }
        // Retired or expired meanwhile.
      }
    }
  }

  private long count(long boundary, Floor floor, long segments) throws IOException {
    long count = floor.messages();
    long record = floor.record();
    Optional<Checkpoint> checkpoint = chain.checkpoint();
    var marks = new SegmentMarks(log, checkpoint);
    for (long number = floor.segment() + 1; number <= segments; number++) {
      try (SegmentReader segment = SegmentReader.open(log, number, marks)) {
        if (segment.header().to() > boundary) {
          return count + within(segment, boundary);
        }
        count += segment.trailer().messages();
        record = segment.header().lastRecord();
      }
    }
    Optional<Link> tip = chain.permittedTip();
    long last = tip.map(t -> t.record().number()).orElse(0L);
    while (record < last) {
      record++;
      HorizonRecord next =
          record == last ? tip.orElseThrow().record() : chain.read(record).record();
      if (next.from() >= boundary) {
        break;
      }
      for (ClosedBucket closed : next.buckets()) {
        if (closed.start() < boundary) {
          count += counts.messages(new Bucket(closed.start(), log.bucketWidth()));
        }
      }
    }
    return count;
  }

  private static long within(SegmentReader segment, long boundary) throws IOException {
    long count = 0;
    for (int i = 0; i < segment.index().size() && segment.index().time(i) < boundary; i++) {
      if (segment.index().kind(i) == SegmentBlock.BUCKET) {
        SegmentBucket bucket = segment.bucketAt(i);
        count += bucket.messages();
      }
    }
    return count;
  }
}
