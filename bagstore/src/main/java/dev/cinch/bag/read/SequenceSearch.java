package dev.cinch.bag.read;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.close.BucketCloser;
import dev.cinch.bag.close.ChainWalk;
import dev.cinch.bag.close.HorizonChain;
import dev.cinch.bag.close.HorizonChain.Link;
import dev.cinch.bag.format.Checkpoint;
import dev.cinch.bag.format.Floor;
import dev.cinch.bag.format.HorizonRecord.ClosedBucket;
import dev.cinch.bag.format.SegmentBlock;
import dev.cinch.bag.store.LogContext;
import java.io.IOException;
import java.util.Optional;

/**
 * Counts the settled messages before a time, by the ends of segments behind the checkpoint, which
 * names them by digest, and after it by locks, which records name so. Not thread-safe.
 */
@CheckReturnValue
final class SequenceSearch {
  private final LogContext log;
  private final HorizonChain chain;
  private final BucketCloser locks;

  SequenceSearch(LogContext log, HorizonChain chain) {
    this.log = log;
    this.chain = chain;
    this.locks = new BucketCloser(log);
  }

  /**
   * How many there were before a boundary of buckets, those included that no lease permits and
   * those that expired: all that did count, as nothing before them is read.
   */
  long before(long boundary) throws IOException {
    while (true) {
      Optional<Checkpoint> checkpoint = chain.checkpoint();
      Floor floor = new Floors(log).last();
      try {
        return count(boundary, checkpoint);
      } catch (IOException e) {
        if (chain.checkpoint().equals(checkpoint) && new Floors(log).last().equals(floor)) {
          throw e;
        }
        // Retired or expired meanwhile.
      }
    }
  }

  private long count(long boundary, Optional<Checkpoint> checkpoint) throws IOException {
    var marks = new SegmentMarks(log, checkpoint);
    Floor floor = new Segments(log).floor(checkpoint);
    long count = floor.messages();
    long line = checkpoint.map(Checkpoint::segment).orElse(0L);
    for (long number = floor.segment() + 1; number <= line; number++) {
      try (SegmentReader segment = SegmentReader.open(log, number, marks)) {
        if (segment.header().to() > boundary) {
          return count + within(segment, boundary);
        }
        count += segment.trailer().messages();
      }
    }
    Optional<Link> tip = chain.permittedTip();
    if (tip.isEmpty()) {
      return count;
    }
    var walk = new ChainWalk(chain, tip.get(), checkpoint.map(Checkpoint::number).orElse(0L) + 1);
    Optional<Link> next = walk.next();
    while (next.isPresent() && next.get().record().from() < boundary) {
      for (ClosedBucket closed : next.get().record().buckets()) {
        if (closed.start() < boundary) {
          count += locks.readListed(closed).lock().messages();
        }
      }
      next = walk.next();
    }
    return count;
  }

  private static long within(SegmentReader segment, long boundary) throws IOException {
    long count = 0;
    for (int i = 0; i < segment.index().size() && segment.index().time(i) < boundary; i++) {
      if (segment.index().kind(i) == SegmentBlock.BUCKET) {
        count += segment.bucketAt(i).messages();
      }
    }
    return count;
  }
}
