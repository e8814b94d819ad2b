package dev.cinch.bag.status;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.close.ChainWalk;
import dev.cinch.bag.close.HorizonChain;
import dev.cinch.bag.close.HorizonChain.Link;
import dev.cinch.bag.close.Intents;
import dev.cinch.bag.close.Locks;
import dev.cinch.bag.close.UnrecordedLocks;
import dev.cinch.bag.close.View;
import dev.cinch.bag.file.DataFiles;
import dev.cinch.bag.file.SegmentCursor;
import dev.cinch.bag.file.SegmentMarks;
import dev.cinch.bag.file.SegmentReader;
import dev.cinch.bag.format.Floor;
import dev.cinch.bag.format.HorizonRecord.ClosedBucket;
import dev.cinch.bag.format.SegmentIndex;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.DataFileName;
import dev.cinch.bag.read.Segments;
import dev.cinch.bag.status.LogStatus.LeftIntent;
import dev.cinch.bag.storage.LogStorage.Freshness;
import dev.cinch.bag.store.LogContext;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Looks how a log is doing: by the ends of segments, by records and locks, and by the ends of data
 * files. Reads no messages and judges no leases, takes the word of segments that no checkpoint
 * names yet, and may be a moment old; {@code verify} is for who wants to be sure. A later look
 * reads only what is new. Not thread-safe.
 */
@CheckReturnValue
public final class LogSurvey {
  /** Of a bucket with one data file: the directory, that file, its prelock and its lock. */
  private static final int ENTRIES_OF_BUCKET = 4;

  private final LogContext log;
  private final HorizonChain chain;
  private final Locks locks;
  private final Totals segments;
  private long countedSegments;
  private long countedRecords;
  private long messagesBehind;
  private long bytesBehind;
  private long entriesBehind;
  private @Nullable ClosedBucket lastBehind;
  private long newestBehind = Long.MIN_VALUE;

  public LogSurvey(LogContext log) {
    this.log = log;
    this.chain = new HorizonChain(log);
    this.locks = new Locks(log);
    this.segments = new Totals();
  }

  /** Told how many buckets were counted so far. */
  @FunctionalInterface
  public interface Progress {
    void counted(long buckets);
  }

  /**
   * Looks.
   *
   * @throws dev.cinch.bag.format.DamagedException if what it has to read is damaged or missing
   */
  public LogStatus look(Progress progress) throws IOException {
    return View.read(
        () -> chain.view(Freshness.PERMITTED),
        view -> {
          if (view.tip().isEmpty()) {
            new UnrecordedLocks(log).refuseAny();
          }
          count(view, progress);
          return status(view.tip());
        });
  }

  /**
   * Where the settled part ends, and what is behind it; counts nothing.
   *
   * @param settledThrough as in {@link LogStatus}
   * @param newestOpen timestamp of the newest message that is not settled; {@link Long#MIN_VALUE}
   *     if there is none
   */
  public record Edge(long settledThrough, long newestOpen) {}

  /** Looks at the end of the log only. */
  public Edge edge() throws IOException {
    long settled = chain.permittedTip().map(t -> t.record().to()).orElse(Long.MIN_VALUE);
    return new Edge(settled, newestOf(open(settled)));
  }

  private List<Bucket> open(long settled) throws IOException {
    return log.buckets().permitted(settled, Long.MAX_VALUE);
  }

  private LogStatus status(Optional<Link> tip) throws IOException {
    long settled = tip.map(t -> t.record().to()).orElse(Long.MIN_VALUE);
    List<Bucket> open = open(settled);
    long newestOpen = newestOf(open);
    long record = tip.map(t -> t.record().number()).orElse(0L);
    long entries =
        (long) (ENTRIES_OF_BUCKET - 1) * open.size()
            + entriesBehind
            + ENTRIES_OF_BUCKET * segments.standing()
            + (record - segments.retired);
    long newestSettled = Math.max(newestBehind, segments.newest);
    return new LogStatus(
        settled,
        record,
        open,
        segments.messages + messagesBehind,
        segments.bytes + bytesBehind,
        entries,
        Math.max(newestOpen, newestSettled),
        newestOpen <= newestSettled,
        segments.counted - segments.expired.segment(),
        segments.to,
        segments.expired.to(),
        intent(settled));
  }

  /** What segments have, and then what the locks behind them say. */
  private void count(View view, Progress progress) throws IOException {
    Optional<Link> tip = view.tip();
    long last = new Segments(log).lastAsPermitted().orElse(0);
    segments.countThrough(last, view); // also where it is the same: messages may have expired
    if (last != countedSegments) {
      countedSegments = last;
      countedRecords = segments.lastRecord;
      messagesBehind = 0;
      bytesBehind = 0;
      entriesBehind = 0;
      lastBehind = null;
      newestBehind = Long.MIN_VALUE;
    }
    long buckets = 0;
    long end = tip.map(t -> t.record().number()).orElse(0L);
    if (countedRecords >= end) {
      return;
    }
    var walk = new ChainWalk(chain, tip.orElseThrow(), countedRecords + 1);
    for (Optional<Link> link = walk.next(); link.isPresent(); link = walk.next()) {
      for (ClosedBucket closed : link.get().record().buckets()) {
        count(closed);
        progress.counted(++buckets);
      }
      countedRecords++;
    }
    if (lastBehind != null) { // the last bucket with a message has the newest one
      try (SegmentReader lock = locks.open(lastBehind)) {
        newestBehind = newestIn(lock);
      }
    }
  }

  private void count(ClosedBucket listed) throws IOException {
    try (SegmentReader lock = locks.open(listed)) {
      entriesBehind += ENTRIES_OF_BUCKET - 1;
      messagesBehind += lock.trailer().messages();
      bytesBehind += lock.size();
      lastBehind = lock.trailer().messages() > 0 ? listed : lastBehind;
    }
  }

  /** The newest timestamp in the last of these buckets that has a message. */
  private long newestOf(List<Bucket> open) throws IOException {
    for (int i = open.size() - 1; i >= 0; i--) {
      Bucket bucket = open.get(i);
      long newest = Long.MIN_VALUE;
      try {
        for (DataFileName file : log.buckets().look(bucket, Freshness.CACHED).files()) {
          newest = Math.max(newest, last(bucket, file));
        }
      } catch (NoSuchFileException e) {
        continue; // retired since
      }
      if (newest > Long.MIN_VALUE) {
        return newest;
      }
    }
    return Long.MIN_VALUE;
  }

  private long last(Bucket bucket, DataFileName name) throws IOException {
    try {
      return new DataFiles(log, bucket, 1).last(name).orElse(Long.MIN_VALUE);
    } catch (NoSuchFileException e) {
      return Long.MIN_VALUE; // settled since
    }
  }

  private Optional<LeftIntent> intent(long settled) throws IOException {
    LeftIntent furthest = null;
    var intents = new Intents(log);
    for (Intents.Left intent : intents.left(Freshness.CACHED)) {
      if (intent.to() > settled && (furthest == null || intent.to() > furthest.reach())) {
        OptionalLong since = intents.madeAt(intent); // none: a record has reached it meanwhile
        if (since.isPresent() && Intents.canBeLeft(intent.to(), since.getAsLong())) {
          furthest = new LeftIntent(intent.to(), since.getAsLong());
        }
      }
    }
    return Optional.ofNullable(furthest);
  }

  /** What the segments hold, by their ends. They never change. */
  private final class Totals {
    private Floor expired = Floor.none(log.id());
    private long counted;
    private long lastRecord;

    /** Buckets of each segment behind the checkpoint: gc has not retired them. */
    private final TreeMap<Long, Long> buckets = new TreeMap<>();

    /** The records before this one are retired. */
    private long retired;

    private long messages;
    private long bytes;
    private long newest = Long.MIN_VALUE;
    private long to = Long.MIN_VALUE;

    /** Adds those up to a number that were not counted yet. */
    void countThrough(long number, View view) throws IOException {
      long line = view.lastSegment();
      if (view.checkpoint().isPresent() && view.firstRecord() != retired) {
        retired = view.firstRecord();
        buckets.headMap(line, true).clear();
      }
      var marks = new SegmentMarks(log, view.checkpoint());
      new Segments(log).check(view, marks);
      Floor floor = view.floor();
      if (!floor.equals(expired)) { // begin again with what is kept
        expired = floor;
        counted = floor.segment();
        buckets.clear();
        lastRecord = floor.record();
        messages = 0;
        bytes = 0;
        newest = Long.MIN_VALUE;
        to = floor.to();
      }
      while (counted < number) {
        try (SegmentReader segment = SegmentReader.open(log, counted + 1, marks)) {
          long last = newestIn(segment);
          newest = Math.max(newest, last);
          messages += segment.trailer().messages();
          bytes += segment.size();
          lastRecord = segment.header().lastRecord();
          to = segment.header().to();
          counted++;
          if (counted > line && segment.trailer().buckets() > 0) {
            buckets.put(counted, segment.trailer().buckets());
          }
        }
      }
    }

    long standing() {
      return buckets.values().stream().mapToLong(Long::longValue).sum();
    }
  }

  /** Reads the last block of messages; nothing else says when the last one was. */
  private static long newestIn(SegmentReader segment) throws IOException {
    SegmentIndex index = segment.index();
    for (int i = index.size() - 1; i >= 0; i--) {
      if (index.isMessages(i)) {
        long last = index.time(i);
        SegmentCursor cursor = segment.messages(last, Long.MAX_VALUE);
        while (cursor.next()) {
          last = cursor.timestamp();
        }
        return last;
      }
    }
    return Long.MIN_VALUE;
  }
}
