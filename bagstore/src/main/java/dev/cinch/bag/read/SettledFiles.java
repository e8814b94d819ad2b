package dev.cinch.bag.read;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.close.ChainWalk;
import dev.cinch.bag.close.HorizonChain;
import dev.cinch.bag.close.HorizonChain.Link;
import dev.cinch.bag.close.Locks;
import dev.cinch.bag.close.View;
import dev.cinch.bag.file.OpenFiles;
import dev.cinch.bag.file.SegmentCursor;
import dev.cinch.bag.file.SegmentMarks;
import dev.cinch.bag.file.SegmentReader;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.HorizonRecord;
import dev.cinch.bag.format.HorizonRecord.ClosedBucket;
import dev.cinch.bag.format.SegmentHeader;
import dev.cinch.bag.store.CountingKeys;
import dev.cinch.bag.store.LogContext;
import dev.cinch.lease.witness.WitnessVerifier;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The settled files of a log in order, as a view has them: segments behind its checkpoint, then the
 * locks that records list. Fails where that is not so any more; what a later view has instead gives
 * the same messages. Not thread-safe.
 */
@CheckReturnValue
final class SettledFiles {
  /**
   * How many records are read before one look at the checkpoints, and how many of their buckets.
   */
  private static final int READ_AHEAD_RECORDS = 64;

  private static final int READ_AHEAD_BUCKETS = 2_000;

  private final LogContext log;
  private final HorizonChain chain;
  private final Segments segments;
  private final Locks locks;
  private final SegmentMarks marks;
  private final View view;
  private final Link tip;
  private final CountingKeys keys;

  /** What lies before was in files that were given. */
  private long at;

  /** The segment that ends there, and the record that begins there; 0: not known. */
  private long segment;

  private long number;

  private @Nullable ChainWalk walk;
  private final ArrayDeque<HorizonRecord> records = new ArrayDeque<>();

  /** Of the record that is first of those. */
  private int bucket;

  private @Nullable WitnessVerifier recordKeys;

  /**
   * @param view one with a tip
   * @param at where to begin
   */
  SettledFiles(LogContext log, HorizonChain chain, View view, long at) {
    this.log = log;
    this.chain = chain;
    this.segments = new Segments(log);
    this.locks = new Locks(log);
    this.marks = new SegmentMarks(log, view.checkpoint());
    this.view = view;
    this.tip = view.tip().orElseThrow();
    this.keys = new CountingKeys(log.store(), view.tip().map(Link::record));
    this.at = at;
    this.number = at == Long.MIN_VALUE ? 1 : 0;
  }

  /** The same by a later view, for what was settled since all of these were given. */
  SettledFiles goOn(View now) {
    var next = new SettledFiles(log, chain, now, at);
    next.number = now.checkpoint().equals(view.checkpoint()) ? number : 0;
    return next;
  }

  /** All before this time is in files that were given. */
  long at() {
    return at;
  }

  /** Where that is now, but not before the floor, where nothing is kept (rule R4). */
  long kept() throws IOException {
    if (at < view.retired() && segment == 0) {
      segments.check(view, marks);
      at = Math.max(at, view.floor().to());
      segment = at == view.floor().to() ? view.floor().segment() : 0;
    }
    return at;
  }

  /**
   * Opens the next file with something before a time; null if there is none. Its cursor begins
   * where the last one ended, and ends with its file, or at that time. To be called behind {@link
   * #kept}.
   *
   * @param end no later than the view is settled
   * @param shared keeps it open only while others are not read; null: for itself
   */
  @Nullable SegmentCursor next(long end, @Nullable OpenFiles shared) throws IOException {
    SegmentCursor next = null;
    while (next == null && at < end) {
      next = at < view.retired() ? segment(end) : lock(end);
    }
    if (next != null && shared != null) {
      next.share(shared);
    }
    return next;
  }

  private SegmentCursor segment(long end) throws IOException {
    long last = view.lastSegment();
    if (segment == last) {
      Path path = log.layout().segment(last);
      throw new DamagedException(path, 72, "a range up to " + view.retired(), "" + at);
    }
    SegmentReader in =
        segment == 0
            ? segments.covering(at, view.floor().segment() + 1, last, marks)
            : SegmentReader.open(log, segment + 1, marks);
    try {
      SegmentHeader h = in.header();
      if (segment > 0 && h.from() != at || h.from() > at) {
        throw new DamagedException(in.path(), 72, "a range from " + at, "" + h.from());
      }
      SegmentCursor cursor = in.messages(at, Math.min(end, view.retired()), keys);
      at = h.to();
      segment = h.number();
      number = segment == last ? view.firstRecord() + 1 : 0;
      return cursor;
    } catch (IOException | RuntimeException e) {
      in.close();
      throw e;
    }
  }

  /** The next lock of the record that settles what follows; null if it has no further one. */
  private @Nullable SegmentCursor lock(long end) throws IOException {
    if (records.isEmpty()) {
      readAhead(end);
    }
    HorizonRecord record = records.element();
    if (!record.settles(at)) {
      throw chain.noneSettles(at);
    }
    List<ClosedBucket> buckets = record.buckets();
    while (bucket < buckets.size()) {
      ClosedBucket listed = buckets.get(bucket++);
      if (listed.start() + log.bucketWidth() <= at || listed.start() >= end) {
        continue;
      }
      WitnessVerifier judge = recordKeys;
      if (judge == null) {
        judge = new WitnessVerifier(keys.counted(record, chain.path(record.number())));
        recordKeys = judge;
      }
      SegmentReader lock = locks.open(listed);
      try {
        SegmentCursor cursor = lock.messages(at, end, judge, true);
        passed(listed.start() + log.bucketWidth(), record);
        return cursor;
      } catch (IOException | RuntimeException e) {
        lock.close();
        throw e;
      }
    }
    passed(record.to(), record);
    return null;
  }

  private void passed(long time, HorizonRecord record) {
    at = time;
    if (at >= record.to()) {
      number = record.number() + 1;
      bucket = 0;
      recordKeys = null;
      records.remove();
    }
  }

  /**
   * Reads the next records, each checked against those beside it. One look at the checkpoints after
   * that serves all, also the one before the first of them (rule R2).
   */
  private void readAhead(long end) throws IOException {
    if (number == 0) {
      number = chain.search(at, tip, view.firstRecord()).record().number();
    }
    ChainWalk upwards = walk == null ? new ChainWalk(chain, tip, number) : walk;
    walk = upwards;
    var ahead = new ArrayList<HorizonRecord>();
    int buckets = 0;
    while (ahead.size() < READ_AHEAD_RECORDS && buckets < READ_AHEAD_BUCKETS) {
      Link link = upwards.next().orElse(null);
      if (link == null) {
        break;
      }
      ahead.add(link.record());
      buckets += link.record().buckets().size();
      if (link.record().to() >= end) {
        break;
      }
    }
    chain.refuseRetired(number - 1);
    if (ahead.isEmpty()) {
      throw chain.noneSettles(at);
    }
    records.addAll(ahead);
  }
}
