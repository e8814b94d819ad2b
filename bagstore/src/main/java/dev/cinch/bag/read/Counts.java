package dev.cinch.bag.read;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.close.ChainWalk;
import dev.cinch.bag.close.HorizonChain;
import dev.cinch.bag.close.HorizonChain.Link;
import dev.cinch.bag.close.Locks;
import dev.cinch.bag.close.View;
import dev.cinch.bag.file.SegmentMarks;
import dev.cinch.bag.file.SegmentReader;
import dev.cinch.bag.format.HorizonRecord.ClosedBucket;
import dev.cinch.bag.store.LogContext;
import java.io.IOException;
import java.util.List;

/**
 * Counts settled messages from the end, by the ends of settled files, which the checkpoint and
 * records name by digest, and in the last one by blocks. Counts those that no lease permits.
 * Whoever reads on from what it finds checks what it reads. Used once, by one thread.
 */
@CheckReturnValue
final class Counts {
  private final LogContext log;
  private final HorizonChain chain;
  private final View view;
  private final long to;
  private long left;
  private long start;

  /**
   * @param view one with a tip
   * @param to the end of the range, nanoseconds since the Unix epoch
   * @param wanted how many there are to be, above 0
   */
  Counts(LogContext log, HorizonChain chain, View view, long to, long wanted) {
    this.log = log;
    this.chain = chain;
    this.view = view;
    this.to = to;
    this.left = wanted;
  }

  /**
   * A time from which on there are as many before the end of the range, or some more; {@link
   * Long#MIN_VALUE} if the log has fewer.
   */
  long start() throws IOException {
    var marks = new SegmentMarks(log, view.checkpoint());
    new Segments(log).check(view, marks);
    var locks = new Locks(log);
    long line = view.checkpoint().isPresent() ? view.firstRecord() : 0;
    Link link = view.tip().orElseThrow();
    while (link.record().number() > line) {
      List<ClosedBucket> buckets = link.record().buckets();
      for (int i = buckets.size() - 1; i >= 0; i--) {
        if (buckets.get(i).start() < to && isIn(locks.open(buckets.get(i)))) {
          return start;
        }
      }
      if (link.record().number() == 1) {
        return Long.MIN_VALUE;
      }
      link = ChainWalk.below(chain, link);
    }
    for (long number = view.lastSegment(); number > view.floor().segment(); number--) {
      if (isIn(SegmentReader.open(log, number, marks))) {
        return start;
      }
    }
    return Long.MIN_VALUE;
  }

  /** Whether a file has the first of those that are left; else it has some. */
  private boolean isIn(SegmentReader file) throws IOException {
    try (file) {
      long messages = file.trailer().messages();
      if (file.header().to() <= to && messages < left) {
        left -= messages;
        return false;
      }
      for (int i = file.index().size() - 1; i >= 0 && left > 0; i--) {
        left -= file.messages(i, to);
        start = file.index().time(i);
      }
      return left <= 0;
    }
  }
}
