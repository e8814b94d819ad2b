package dev.cinch.bag.read;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.close.HorizonChain;
import dev.cinch.bag.close.HorizonChain.Link;
import dev.cinch.bag.close.Locks;
import dev.cinch.bag.file.SegmentMarks;
import dev.cinch.bag.file.SegmentReader;
import dev.cinch.bag.format.ChainPlace;
import dev.cinch.bag.format.Checkpoint;
import dev.cinch.bag.format.Floor;
import dev.cinch.bag.format.HorizonRecord.ClosedBucket;
import dev.cinch.bag.format.SegmentBlock;
import dev.cinch.bag.format.SegmentBucket;
import dev.cinch.bag.store.LogContext;
import java.io.IOException;
import java.util.List;
import java.util.Optional;

/**
 * Counts settled messages without reading any: behind the checkpoint by the ends of segments, which
 * it names by digest, and after it by locks, which records name so. Counts those that no lease
 * permits. Whoever reads on from what it finds checks what it reads. Thread-safe.
 */
@CheckReturnValue
final class Counts {
  private final LogContext log;
  private final HorizonChain chain;
  private final Locks locks;

  Counts(LogContext log, HorizonChain chain) {
    this.log = log;
    this.chain = chain;
    this.locks = new Locks(log);
  }

  /**
   * The start of a bucket from which on there are as many before the end of a range; {@link
   * Long#MIN_VALUE} if the log has fewer. Counts once more where something was retired meanwhile,
   * so that segments have it; or expired.
   */
  long startOfLast(long wanted, long to, Link tip) throws IOException {
    while (true) {
      Optional<Checkpoint> checkpoint = chain.checkpoint();
      Floor floor = chain.floor();
      try {
        return startOfLast(wanted, to, tip, checkpoint);
      } catch (IOException e) {
        if (chain.checkpoint().equals(checkpoint) && chain.floor().equals(floor)) {
          throw e;
        }
      }
    }
  }

  private long startOfLast(long wanted, long to, Link tip, Optional<Checkpoint> checkpoint)
      throws IOException {
    Floor floor = new Segments(log).floor(checkpoint);
    long line = checkpoint.map(Checkpoint::number).orElse(0L);
    long found = 0;
    Link above = tip;
    for (long number = tip.record().number(); number > line; number--) {
      Link link = number == tip.record().number() ? tip : chain.read(number);
      if (link != tip) { // each names the one below it (rule H2)
        ChainPlace.of(link.record(), link.digest())
            .precedes(above.record(), chain.path(number + 1), chain.path(number));
      }
      above = link;
      List<ClosedBucket> buckets = link.record().buckets();
      for (int i = buckets.size() - 1; i >= 0; i--) {
        if (buckets.get(i).start() + log.bucketWidth() <= to) {
          found += locks.readListed(buckets.get(i)).messages();
          if (found >= wanted) {
            return buckets.get(i).start();
          }
        }
      }
    }
    var marks = new SegmentMarks(log, checkpoint);
    long last = checkpoint.map(Checkpoint::segment).orElse(0L);
    for (long number = last; number > floor.segment(); number--) {
      try (SegmentReader segment = SegmentReader.open(log, number, marks)) {
        long messages = segment.trailer().messages();
        if (segment.header().to() <= to && found + messages < wanted) {
          found += messages;
          continue;
        }
        for (int i = segment.index().size() - 1; i >= 0; i--) {
          if (segment.index().kind(i) == SegmentBlock.BUCKET) {
            SegmentBucket bucket = segment.bucketAt(i);
            if (bucket.start() + log.bucketWidth() <= to) {
              found += bucket.messages();
              if (found >= wanted) {
                return bucket.start();
              }
            }
          }
        }
      }
    }
    return Long.MIN_VALUE;
  }
}
