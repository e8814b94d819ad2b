package dev.cinch.bag.read;

import static java.util.Objects.requireNonNull;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.close.ChainWalk;
import dev.cinch.bag.close.HorizonChain;
import dev.cinch.bag.close.HorizonChain.Link;
import dev.cinch.bag.close.Locks;
import dev.cinch.bag.close.View;
import dev.cinch.bag.file.Evidence;
import dev.cinch.bag.file.OpenFiles;
import dev.cinch.bag.file.SegmentCursor;
import dev.cinch.bag.file.SegmentMarks;
import dev.cinch.bag.file.SegmentReader;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.HorizonRecord;
import dev.cinch.bag.format.HorizonRecord.ClosedBucket;
import dev.cinch.bag.format.SegmentHeader;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.storage.Patience;
import dev.cinch.bag.store.CountingKeys;
import dev.cinch.bag.store.LogContext;
import dev.cinch.lease.witness.WitnessVerifier;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.SortedSet;
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
  private final Evidence.@Nullable Sink audit;

  private final Patience wait;

  /** What lies before was in files that were given. */
  private long at;

  /** The segment that ends there; below 0: not known. */
  private long segment = -1;

  /** The record that begins there; 0: not known. */
  private long number;

  /** Whether nobody knows where the file before ended, which is damaged. */
  private boolean unknown;

  private @Nullable ChainWalk walk;
  private final ArrayDeque<HorizonRecord> records = new ArrayDeque<>();

  /** Of the record that is first of those. */
  private int bucket;

  private @Nullable WitnessVerifier recordKeys;

  /** Its buckets that are there, once one was not; null: all. */
  private @Nullable Set<Bucket> there;

  private @Nullable SegmentCursor given;

  /** Where the record begins that the file is of that was given last; a segment says it itself. */
  private @Nullable Long settledBefore;

  /**
   * @param view one with a tip
   * @param at where to begin
   * @param audit told of damage that needs no second look; null where {@link #skip} is not called
   */
  SettledFiles(
      LogContext log, HorizonChain chain, View view, long at, Evidence.@Nullable Sink audit) {
    this.log = log;
    this.chain = chain;
    this.segments = new Segments(log);
    this.locks = new Locks(log);
    this.marks = new SegmentMarks(log, view.checkpoint());
    this.view = view;
    this.tip = view.tip().orElseThrow();
    this.keys = new CountingKeys(log.store(), view.tip().map(Link::record));
    this.at = at;
    this.number = at == Long.MIN_VALUE && view.checkpoint().isEmpty() ? 1 : 0;
    this.audit = audit;
    this.wait = locks.patience();
  }

  /** The same by a later view, for what was settled since all of these were given. */
  SettledFiles goOn(View now) {
    var next = new SettledFiles(log, chain, now, at, audit);
    next.number = now.checkpoint().equals(view.checkpoint()) ? number : 0;
    return next;
  }

  /** All before this time is in files that were given. */
  long at() {
    return at;
  }

  /** Where that is now, but not before the floor, where nothing is kept (rule R4). */
  long kept() throws IOException {
    if (at < view.retired() && segment < 0) {
      segments.check(view, marks);
      at = Math.max(at, view.floor().to());
      segment = at == view.floor().to() ? view.floor().segment() : -1;
    }
    return at;
  }

  /** Goes on behind what could not be opened, or was not what it must be. */
  void skip() throws IOException {
    if (at < view.retired()) {
      unknown = true;
      if (segment < 0) {
        at = Math.max(at, view.floor().to());
        segment = view.floor().segment();
        return; // where to begin is what could not be found: from the first on then
      }
      SortedSet<Long> left = segments.listed().tailSet(segment + 1);
      boolean missing = !left.contains(segment + 1); // told once, with all up to the next
      segment = missing && !left.isEmpty() ? left.first() - 1 : segment + 1;
      if (missing && left.isEmpty() || segment >= view.lastSegment()) {
        at = view.retired();
        number = view.firstRecord() + 1;
      }
    } else if (records.isEmpty()) {
      unknown = true;
      if (number == 0 || number > tip.record().number()) {
        at = view.settled();
      } else {
        Optional<Link> unused = requireNonNull(walk).skip();
        number = walk.number();
      }
    } else {
      HorizonRecord record = records.element();
      if (!record.settles(at)) {
        unknown = true;
        passed(at, record);
      } else if (there == null) {
        there = new HashSet<>(log.buckets().permitted(record.from(), record.to()));
      }
    }
  }

  /** How far the log was settled before what is read of the file that was given last. */
  long settledBefore() {
    return settledBefore == null ? requireNonNull(given).bucket().settledBefore() : settledBefore;
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
    given = next;
    if (next != null && shared != null) {
      next.share(shared);
    }
    return next;
  }

  private SegmentCursor segment(long end) throws IOException {
    long last = view.lastSegment();
    if (segment == last) {
      Name path = log.layout().segment(last);
      throw new DamagedException(path, 72, "a range up to " + view.retired(), "" + at);
    }
    SegmentReader in =
        segment < 0
            ? segments.covering(at, view.floor().segment() + 1, last, marks)
            : SegmentReader.open(log, segment + 1, marks);
    try {
      SegmentHeader h = in.header();
      if (!unknown && (segment >= 0 && h.from() != at || h.from() > at)) {
        throw new DamagedException(in.path(), 72, "a range from " + at, "" + h.from());
      }
      unknown = false;
      settledBefore = null;
      SegmentCursor cursor = in.messages(at, Math.min(end, view.retired()), keys);
      at = Math.max(at, h.to());
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
    at = unknown ? Math.max(at, record.from()) : at;
    unknown = false;
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
      if (isLost(listed)) {
        continue;
      }
      settledBefore = record.from();
      SegmentReader lock = locks.open(listed, wait);
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

  /**
   * Whether it was looked at with others that are not there: a forged record may list thousands.
   */
  private boolean isLost(ClosedBucket listed) {
    var bucket = new Bucket(listed.start(), log.bucketWidth());
    if (audit == null || there == null || there.contains(bucket)) {
      return false;
    }
    audit.damaged(locks.missing(bucket));
    return true;
  }

  private void passed(long time, HorizonRecord record) {
    at = time;
    if (at >= record.to()) {
      number = record.number() + 1;
      bucket = 0;
      recordKeys = null;
      there = null;
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
    ChainWalk upwards = walk;
    if (upwards == null) {
      upwards =
          audit == null ? new ChainWalk(chain, tip, number) : ChainWalk.goingOn(chain, tip, number);
      walk = upwards;
    }
    var ahead = new ArrayList<HorizonRecord>();
    int buckets = 0;
    while (ahead.size() < READ_AHEAD_RECORDS && buckets < READ_AHEAD_BUCKETS) {
      Link link;
      try {
        link = upwards.next().orElse(null);
      } catch (IOException e) {
        if (ahead.isEmpty()) {
          throw e;
        }
        break; // it fails again behind these
      }
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
