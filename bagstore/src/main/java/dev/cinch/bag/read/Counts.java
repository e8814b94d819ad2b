package dev.cinch.bag.read;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.close.ChainWalk;
import dev.cinch.bag.close.HorizonChain;
import dev.cinch.bag.close.HorizonChain.Link;
import dev.cinch.bag.close.Locks;
import dev.cinch.bag.close.View;
import dev.cinch.bag.file.SegmentMarks;
import dev.cinch.bag.file.SegmentReader;
import dev.cinch.bag.format.HorizonRecord;
import dev.cinch.bag.format.HorizonRecord.ClosedBucket;
import dev.cinch.bag.format.HorizonRecord.Sums;
import dev.cinch.bag.read.LogReader.Parts;
import dev.cinch.bag.store.LogContext;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.TreeSet;

/**
 * Measures settled messages from the end: counts them, or adds up the bytes that they take. Goes by
 * the ends of settled files, which the checkpoint and records name by digest, and by blocks where a
 * file is to be divided. Those that no lease permits are in. Readers that go on from what it finds
 * check what they read. Used once, by one thread.
 */
@CheckReturnValue
final class Counts {
  private final LogContext log;
  private final HorizonChain chain;
  private final View view;
  private final long from;
  private final long to;

  /** Where so much has come together that a part begins there. */
  private final TreeSet<Long> starts = new TreeSet<>();

  private long wanted;
  private long left;
  private boolean bytes;
  private long messages;

  /**
   * @param view one with a tip
   * @param from of the range, nanoseconds since the Unix epoch
   * @param to its end
   */
  Counts(LogContext log, HorizonChain chain, View view, long from, long to) {
    this.log = log;
    this.chain = chain;
    this.view = view;
    this.from = from;
    this.to = to;
  }

  /**
   * A time from which on there are so many messages before the end of the range, or some more;
   * {@link Long#MIN_VALUE} if the log has fewer.
   */
  long start(long count) throws IOException {
    walk(count, false);
    return starts.isEmpty() ? Long.MIN_VALUE : starts.last();
  }

  /**
   * Divides the range into parts of so many bytes each, or some more; the first has what is left.
   */
  Parts parts(long size) throws IOException {
    walk(size, true);
    if (left == wanted) {
      starts.pollFirst(); // nothing lies before it
    }
    starts.removeIf(time -> time <= from);
    starts.add(to);
    return new Parts(List.copyOf(starts), messages, starts.size() * wanted - left);
  }

  private void walk(long each, boolean ofBytes) throws IOException {
    wanted = each;
    left = each;
    bytes = ofBytes;
    var marks = new SegmentMarks(log, view.checkpoint());
    new Segments(log).check(view, marks);
    var locks = new Locks(log);
    long line = view.checkpoint().isPresent() ? view.firstRecord() : 0;
    Link link = view.tip().orElseThrow();
    while (link.record().number() > line) {
      HorizonRecord record = link.record();
      if (record.to() <= from) {
        return;
      }
      Optional<Link> below =
          record.number() == 1 ? Optional.empty() : Optional.of(ChainWalk.below(chain, link));
      if (!isTaken(record, below.map(l -> l.record().sums()).orElse(Sums.NONE))) {
        List<ClosedBucket> buckets = record.buckets();
        for (int i = buckets.size() - 1; i >= 0 && !isOver(); i--) {
          long start = buckets.get(i).start();
          if (start < to && start + log.bucketWidth() > from) {
            long unused = take(locks.open(buckets.get(i)));
          }
        }
      }
      if (isOver() || below.isEmpty()) {
        return;
      }
      link = below.get();
    }
    for (long number = view.lastSegment(); number > view.floor().segment() && !isOver(); number--) {
      if (take(SegmentReader.open(log, number, marks)) <= from) {
        return;
      }
    }
  }

  /** Whether only one start was wanted, and is found. */
  private boolean isOver() {
    return !bytes && !starts.isEmpty();
  }

  /** Whether the files of a record are not to be divided, so that its sums do. */
  private boolean isTaken(HorizonRecord record, Sums before) {
    long size = record.sums().bytes() - before.bytes();
    return bytes
        && record.from() >= from
        && record.to() <= to
        && isTaken(size, record.sums().messages() - before.messages());
  }

  private boolean isTaken(long size, long count) {
    boolean fits = size < left;
    if (fits) {
      left -= size;
      messages += count;
    }
    return fits;
  }

  /** Measures a file, and tells the time that it begins with. */
  private long take(SegmentReader file) throws IOException {
    try (file) {
      long begin = file.header().from();
      long all = file.trailer().messages();
      boolean whole = begin >= from && file.header().to() <= to;
      if (!(bytes ? whole : file.header().to() <= to) || !isTaken(bytes ? file.size() : all, all)) {
        double inside = divide(file);
        messages += whole ? all : (long) Math.ceil(all * inside);
      }
      return begin;
    }
  }

  /** Returns which part of its bytes lies in the range, more or less. */
  private double divide(SegmentReader file) throws IOException {
    long inside = 0;
    for (int i = file.index().size() - 1; i >= 0 && !isOver(); i--) {
      long time = file.index().time(i);
      if (!file.index().isMessages(i) || time >= to) {
        continue;
      }
      left -= bytes ? file.index().length(i) : file.messages(i, to);
      inside += file.index().length(i);
      if (left <= 0) {
        starts.add(time);
        left = wanted;
      }
      if (time <= from) {
        break;
      }
    }
    return (double) inside / file.size();
  }
}
