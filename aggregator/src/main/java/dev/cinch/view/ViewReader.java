package dev.cinch.view;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.Log;
import dev.cinch.bag.format.SegmentHeader;
import dev.cinch.bag.read.LogReader;
import dev.cinch.bag.read.MessageSink;
import dev.cinch.bag.read.Segments;
import java.io.IOException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads a log's settled messages from segments as far as they go, which is one file instead of many
 * directories, then the rest from buckets. The same messages in the same order as {@link
 * LogReader#settled}. Thread-safe. For a user who may only read, how far that is may be old.
 */
@CheckReturnValue
public final class ViewReader {
  private static final Logger LOG = LoggerFactory.getLogger(ViewReader.class);

  private final Log log;
  private final Segments segments;

  public ViewReader(Log log) {
    this.log = log;
    this.segments = new Segments(log.context());
  }

  /**
   * Reads settled messages with timestamps in {@code [from, to)}, in order. A message that no valid
   * witness permits does not exist (rule F3); it is logged.
   *
   * @return the time through which the log is settled, {@link Long#MIN_VALUE} if nothing is
   */
  @CanIgnoreReturnValue
  public long read(long from, long to, MessageSink sink) throws IOException {
    return read(
        from,
        to,
        sink,
        (m, file, why) ->
            LOG.warn("{}: the message at {} does not exist: {}", file, m.timestamp(), why));
  }

  /** As {@link #read(long, long, MessageSink)}, and tells of messages that do not exist. */
  @CanIgnoreReturnValue
  public long read(long from, long to, MessageSink sink, LogReader.Objection objection)
      throws IOException {
    return log.reader().fromSegments(from, to, sink, objection);
  }

  /** The time through which segments cover the log, {@link Long#MIN_VALUE} if there is none. */
  public long covered() throws IOException {
    return segments.lastHeader(false).map(SegmentHeader::to).orElse(Long.MIN_VALUE);
  }
}
