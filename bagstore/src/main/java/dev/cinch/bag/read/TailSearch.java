package dev.cinch.bag.read;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.close.BucketCloser;
import dev.cinch.bag.close.HorizonChain;
import dev.cinch.bag.close.HorizonChain.Link;
import dev.cinch.bag.format.ChainPlace;
import dev.cinch.bag.format.Checkpoint;
import dev.cinch.bag.format.Floor;
import dev.cinch.bag.format.HorizonRecord.ClosedBucket;
import dev.cinch.bag.format.SegmentBlock;
import dev.cinch.bag.format.SegmentBucket;
import dev.cinch.bag.layout.Bucket;
import dev.cinch.bag.store.LogContext;
import java.io.IOException;
import java.util.List;
import java.util.Optional;

/**
 * Finds where the last messages of a log begin, by the counts in locks and segments. Whoever reads
 * on from there checks what it reads. Not thread-safe.
 */
@CheckReturnValue
final class TailSearch {
  private final LogContext log;
  private final HorizonChain chain;
  private final BucketCloser locks;
  private final long to;
  private final long wanted;
  private long found;

  /**
   * @param to the end of the range
   * @param wanted how many messages before that
   */
  TailSearch(LogContext log, HorizonChain chain, long to, long wanted) {
    this.log = log;
    this.chain = chain;
    this.locks = new BucketCloser(log);
    this.to = to;
    this.wanted = wanted;
  }

  /**
   * The start of a bucket from which on there are as many settled messages, those included that no
   * lease permits; {@link Long#MIN_VALUE} if the log has fewer.
   */
  long start(Link tip) throws IOException {
    while (true) {
      Optional<Checkpoint> checkpoint = chain.checkpoint();
      Floor floor = new Floors(log).last();
      found = 0;
      try {
        Floor unused = new Segments(log).floor(checkpoint);
        Optional<Long> start = inRecords(tip, checkpoint.map(Checkpoint::number).orElse(0L));
        if (start.isEmpty() && checkpoint.isPresent()) {
          start = inSegments(checkpoint.get(), floor);
        }
        return start.orElse(Long.MIN_VALUE);
      } catch (IOException e) {
        if (chain.checkpoint().equals(checkpoint) && new Floors(log).last().equals(floor)) {
          throw e;
        }
        // Retired meanwhile, so that segments have it; or expired.
      }
    }
  }

  private Optional<Long> inRecords(Link tip, long line) throws IOException {
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
        var bucket = new Bucket(buckets.get(i).start(), log.bucketWidth());
        if (bucket.end() <= to && enough(locks.readListed(buckets.get(i)).lock().messages())) {
          return Optional.of(bucket.start());
        }
      }
    }
    return Optional.empty();
  }

  private Optional<Long> inSegments(Checkpoint checkpoint, Floor floor) throws IOException {
    var marks = new SegmentMarks(log, Optional.of(checkpoint));
    long first = floor.segment() + 1;
    for (long number = checkpoint.segment(); number >= first; number--) {
      try (SegmentReader segment = SegmentReader.open(log, number, marks)) {
        long messages = segment.trailer().messages();
        if (segment.header().to() <= to && found + messages < wanted) {
          found += messages;
          continue;
        }
        Optional<Long> start = inSegment(segment);
        if (start.isPresent()) {
          return start;
        }
      }
    }
    return Optional.empty();
  }

  private Optional<Long> inSegment(SegmentReader segment) throws IOException {
    for (int i = segment.index().size() - 1; i >= 0; i--) {
      if (segment.index().kind(i) == SegmentBlock.BUCKET) {
        SegmentBucket bucket = segment.bucketAt(i);
        boolean whole = bucket.start() + log.bucketWidth() <= to;
        if (whole && enough(bucket.messages())) {
          return Optional.of(bucket.start());
        }
      }
    }
    return Optional.empty();
  }

  private boolean enough(long more) {
    found += more;
    return found >= wanted;
  }
}
