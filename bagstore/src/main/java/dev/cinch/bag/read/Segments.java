package dev.cinch.bag.read;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.close.HorizonChain;
import dev.cinch.bag.close.View;
import dev.cinch.bag.file.SegmentMarks;
import dev.cinch.bag.file.SegmentReader;
import dev.cinch.bag.format.Checkpoint;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.Floor;
import dev.cinch.bag.format.SegmentBucket;
import dev.cinch.bag.format.SegmentHeader;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Numbered;
import dev.cinch.bag.storage.Freshness;
import dev.cinch.bag.store.LogContext;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.SortedSet;
import java.util.TreeSet;

/**
 * A log's segments: immutable, numbered from 1 without gaps, each going on where the one before
 * ends. Thread-safe.
 */
@CheckReturnValue
public final class Segments {
  private final LogContext log;
  private final HorizonChain chain;

  public Segments(LogContext log) {
    this.log = log;
    this.chain = new HorizonChain(log);
  }

  /**
   * The number of the last one; empty if there is none.
   *
   * @param fresh whether to look past every cache, which takes the right to create files there
   */
  public OptionalLong last(boolean fresh) throws IOException {
    return number(names(log, fresh ? Freshness.CERTAIN : Freshness.CACHED));
  }

  private static List<String> names(LogContext log, Freshness freshness) throws IOException {
    return log.storage().list(log.layout().segments(), freshness);
  }

  /** The numbers of all of them, as {@link #lastAsPermitted}. */
  SortedSet<Long> listed() throws IOException {
    var numbers = new TreeSet<Long>();
    for (String name : names(log, Freshness.PERMITTED)) {
      Numbered.parse(name).ifPresent(numbers::add);
    }
    return numbers;
  }

  /** As {@link #last} past every cache where this user may create files; else it may be old. */
  public OptionalLong lastAsPermitted() throws IOException {
    return number(names(log, Freshness.PERMITTED));
  }

  /** The last one that is listed, or that a checkpoint names: that one was published, too. */
  private OptionalLong number(List<String> names) throws IOException {
    long listed =
        names.stream().map(Numbered::parse).flatMapToLong(OptionalLong::stream).max().orElse(0);
    long last = Math.max(listed, line());
    return last == 0 ? OptionalLong.empty() : OptionalLong.of(last);
  }

  /**
   * The header of the last one; empty if there is none.
   *
   * @param fresh as for {@link #last}; false: as fresh as this user may look
   */
  public Optional<SegmentHeader> lastHeader(boolean fresh) throws IOException {
    return View.read(
        chain::line,
        view -> {
          OptionalLong last = fresh ? last(true) : lastAsPermitted();
          return last.isEmpty() ? Optional.empty() : Optional.of(header(last.getAsLong()));
        });
  }

  public SegmentHeader header(long number) throws IOException {
    return header(number, SegmentMarks.none(log));
  }

  private SegmentHeader header(long number, SegmentMarks marks) throws IOException {
    return SegmentReader.header(log, number, marks);
  }

  /** Tells where a segment's range ends. */
  private interface End {
    long of(long number) throws IOException;
  }

  /** The number of the first segment of these that ends after a time; {@code last} if none does. */
  private static long search(long time, long first, long last, End end) throws IOException {
    long low = first;
    long high = last;
    while (low < high) {
      long middle = (low + high) >>> 1;
      if (time < end.of(middle)) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }

  /**
   * The number of the last segment that ended by a time.
   *
   * @param known one that did, or the one before all
   * @param last the last one there is
   * @param time nanoseconds since the Unix epoch
   */
  public long lastThrough(long known, long last, long time) throws IOException {
    return search(time, known + 1, last + 1, n -> header(n).to()) - 1;
  }

  /**
   * Opens the segment that covers a time, among the first {@code last} ones, or the last of them.
   * Which one that is their headers tell; where they lead astray, all that was asked is looked at
   * as it is opened, which tells whose is wrong.
   */
  SegmentReader covering(long time, long first, long last, SegmentMarks marks) throws IOException {
    long number = search(time, first, last, n -> header(n, marks).to());
    SegmentReader found = SegmentReader.open(log, number, marks);
    SegmentHeader h = found.header();
    if (h.from() <= time && (time < h.to() || number == last)) {
      return found;
    }
    found.close();
    long other =
        search(
            time,
            first,
            last,
            n -> {
              try (SegmentReader reader = SegmentReader.open(log, n, marks)) {
                return reader.header().to();
              }
            });
    if (other == number) {
      throw new DamagedException(
          found.path(), 72, "a range that has the time " + time, h.from() + " to " + h.to());
    }
    return SegmentReader.open(log, other, marks);
  }

  /**
   * What the lock of a retired bucket said.
   *
   * @return empty if the log settled without that bucket
   */
  public Optional<SegmentBucket> bucket(Bucket bucket) throws IOException {
    try (SegmentReader segment = covering(bucket)) {
      return segment.bucket(bucket.start());
    }
  }

  /** Opens the segment that covers a retired bucket, among those behind the checkpoint. */
  SegmentReader covering(Bucket bucket) throws IOException {
    return View.read(chain::line, view -> covering(bucket, view));
  }

  private SegmentReader covering(Bucket bucket, View view) throws IOException {
    var marks = new SegmentMarks(log, view.checkpoint());
    check(view, marks);
    Floor floor = view.floor();
    if (bucket.start() < floor.to()) {
      throw new DamagedException(
          log.layout().segment(floor.segment()),
          0,
          "a range that covers " + bucket,
          "none: what was written before " + floor.to() + " expired");
    }
    SegmentReader segment =
        covering(bucket.start(), floor.segment() + 1, view.lastSegment(), marks);
    SegmentHeader h = segment.header();
    if (bucket.start() < h.from() || bucket.end() > h.to()) {
      segment.close();
      throw new DamagedException(
          segment.path(), 72, "a range that covers " + bucket, h.from() + " to " + h.to());
    }
    return segment;
  }

  /**
   * The time before which nothing is kept, {@link Long#MIN_VALUE} if nothing expired. What is read
   * before it is not there, and that is no damage.
   */
  public long expired() throws IOException {
    return floor().to();
  }

  /** The floor, checked against the first segment that is kept. */
  public Floor floor() throws IOException {
    return View.read(
        chain::line,
        view -> {
          check(view, new SegmentMarks(log, view.checkpoint()));
          return view.floor();
        });
  }

  /**
   * Checks a view's floor against the first segment that is kept.
   *
   * @param marks those of its checkpoint
   */
  public void check(View view, SegmentMarks marks) throws IOException {
    Floor floor = view.floor();
    if (floor.isNone()) {
      return;
    }
    Name path = log.layout().floor(floor.segment());
    if (floor.segment() >= view.lastSegment()) {
      throw new DamagedException(
          path, 0, "a segment below " + view.lastSegment(), "" + floor.segment());
    }
    floor.precedes(header(floor.segment() + 1, marks), path);
    checkSum(marks.messagesThrough(floor.segment()), floor.messages(), "messages", path);
    checkSum(marks.bytesThrough(floor.segment()), floor.bytes(), "bytes", path);
  }

  /** The checkpoint says how much there was in what is gone. */
  private static void checkSum(OptionalLong counted, long sum, String what, Name path)
      throws DamagedException {
    if (counted.isPresent() && counted.getAsLong() != sum) {
      throw new DamagedException(
          path, 0, counted.getAsLong() + " " + what + ", as the checkpoint says", "" + sum);
    }
  }

  /** The last segment that a checkpoint covers, as of now. */
  private long line() throws IOException {
    return chain.checkpoint().map(Checkpoint::segment).orElse(0L);
  }
}
