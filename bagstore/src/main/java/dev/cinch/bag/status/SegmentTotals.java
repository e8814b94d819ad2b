package dev.cinch.bag.status;

import dev.cinch.bag.close.HorizonChain;
import dev.cinch.bag.format.Checkpoint;
import dev.cinch.bag.format.Floor;
import dev.cinch.bag.format.SegmentBlock;
import dev.cinch.bag.format.SegmentIndex;
import dev.cinch.bag.read.SegmentCursor;
import dev.cinch.bag.read.SegmentMarks;
import dev.cinch.bag.read.SegmentReader;
import dev.cinch.bag.read.Segments;
import dev.cinch.bag.store.LogContext;
import java.io.IOException;
import java.util.Optional;

/** What a log's segments hold, by their ends. Segments never change. Not thread-safe. */
final class SegmentTotals {
  private final LogContext log;
  private Floor expired;
  private long counted;
  private long lastRecord;
  private long messages;
  private long bytes;
  private long newest = Long.MIN_VALUE;
  private long to = Long.MIN_VALUE;

  SegmentTotals(LogContext log) {
    this.log = log;
    this.expired = Floor.none(log.id());
  }

  /** The number of the last segment; 0 if there is none. */
  long last() throws IOException {
    return new Segments(log).lastAsPermitted().orElse(0);
  }

  /** Adds those up to a number that were not counted yet. */
  void countThrough(long number) throws IOException {
    Optional<Checkpoint> checkpoint = new HorizonChain(log).checkpoint();
    var marks = new SegmentMarks(log, checkpoint);
    Floor floor = new Segments(log).floor(checkpoint);
    if (!floor.equals(expired)) { // begin again with what is kept
      expired = floor;
      counted = floor.segment();
      lastRecord = floor.record();
      messages = 0;
      bytes = 0;
      newest = Long.MIN_VALUE;
      to = floor.to();
    }
    while (counted < number) {
      try (SegmentReader segment = SegmentReader.open(log, counted + 1, marks)) {
        long last = newestOf(segment);
        newest = Math.max(newest, last);
        messages += segment.trailer().messages();
        bytes += segment.size();
        lastRecord = segment.header().lastRecord();
        to = segment.header().to();
        counted++;
      }
    }
  }

  /** Reads the last block of messages; nothing else says when the last one was. */
  private static long newestOf(SegmentReader segment) throws IOException {
    SegmentIndex index = segment.index();
    for (int i = index.size() - 1; i >= 0; i--) {
      if (index.kind(i) == SegmentBlock.MESSAGES) {
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

  /** The time before which messages expired; {@link Long#MIN_VALUE} if none did. */
  long expiredBefore() {
    return expired.to();
  }

  /** How many segments there are. */
  long kept() {
    return counted - expired.segment();
  }

  long lastRecord() {
    return lastRecord;
  }

  long messages() {
    return messages;
  }

  long bytes() {
    return bytes;
  }

  /** Timestamp of the newest message in a segment; {@link Long#MIN_VALUE} if there is none. */
  long newest() {
    return newest;
  }

  /** The time through which segments cover the log; {@link Long#MIN_VALUE} if there is none. */
  long to() {
    return to;
  }
}
