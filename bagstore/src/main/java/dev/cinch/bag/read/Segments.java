package dev.cinch.bag.read;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.SegmentBucket;
import dev.cinch.bag.format.SegmentHeader;
import dev.cinch.bag.layout.Bucket;
import dev.cinch.bag.layout.Numbered;
import dev.cinch.bag.store.LogContext;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * A log's segments: immutable, numbered from 1 without gaps, each going on where the one before
 * ends. Thread-safe.
 */
@CheckReturnValue
public final class Segments {
  private final LogContext log;

  public Segments(LogContext log) {
    this.log = log;
  }

  /**
   * The number of the last one; empty if there is none.
   *
   * @param fresh whether to look past every cache, which takes the right to create files there
   */
  public OptionalLong last(boolean fresh) throws IOException {
    List<String> names =
        fresh
            ? log.store().fresh().list(log.layout().segments())
            : log.store().fresh().listKnown(log.layout().segments());
    return number(names);
  }

  /** As {@link #last} past every cache where this user may create files; else it may be old. */
  public OptionalLong lastAsPermitted() throws IOException {
    return number(log.store().fresh().listAsPermitted(log.layout().segments()));
  }

  private static OptionalLong number(List<String> names) {
    return names.stream().map(Numbered::parse).flatMapToLong(OptionalLong::stream).max();
  }

  public SegmentReader open(long number) throws IOException {
    return SegmentReader.open(log, number);
  }

  public SegmentHeader header(long number) throws IOException {
    return SegmentReader.header(log, number);
  }

  /** The number of the segment that covers a time, among the first {@code last} ones. */
  private long covering(long time, long last) throws IOException {
    long low = 1;
    long high = last;
    while (low < high) {
      long middle = (low + high) >>> 1;
      if (time < header(middle).to()) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }

  /**
   * What the lock of a retired bucket said.
   *
   * @param last number of a segment that ends after the bucket, or of a later one
   * @return empty if the log settled without that bucket
   */
  public Optional<SegmentBucket> bucket(Bucket bucket, long last) throws IOException {
    try (SegmentReader segment = covering(bucket, last)) {
      return segment.bucket(bucket.start());
    }
  }

  /** Opens the segment that covers a bucket, among the first {@code last} ones. */
  SegmentReader covering(Bucket bucket, long last) throws IOException {
    SegmentReader segment = open(covering(bucket.start(), last));
    SegmentHeader h = segment.header();
    if (bucket.start() < h.from() || bucket.end() > h.to()) {
      segment.close();
      throw new DamagedException(
          segment.path(), 72, "a range that covers " + bucket, h.from() + " to " + h.to());
    }
    return segment;
  }

  /**
   * Reads what the first {@code last} segments have in {@code [from, to)}.
   *
   * @return false if the sink wants no more
   */
  boolean read(long from, long to, long last, Delivery delivery) throws IOException {
    long at = from;
    for (long n = covering(from, last); n <= last && at < to; n++) {
      try (SegmentReader segment = open(n)) {
        SegmentHeader h = segment.header();
        if (h.from() > at) {
          throw new DamagedException(segment.path(), 72, "a range from " + at, "" + h.from());
        }
        SegmentCursor m = segment.messages(at, to);
        while (m.next()) {
          if (!delivery.accept(m, m.leaseSet(), segment.path())) {
            return false;
          }
        }
        at = h.to();
      }
    }
    if (at < to) {
      Path path = log.layout().segment(last);
      throw new DamagedException(path, 72, "a range up to " + to, "" + at);
    }
    return true;
  }

  /**
   * Reads all messages in {@code [from, to)} that stand in segments, with rule F3 applied.
   *
   * @param last number of the last segment to read
   * @return false if the sink wants no more
   */
  public boolean read(
      long from, long to, long last, MessageSink sink, LogReader.Objection objection)
      throws IOException {
    return read(from, to, last, new Delivery(log, from, to, sink, objection));
  }
}
