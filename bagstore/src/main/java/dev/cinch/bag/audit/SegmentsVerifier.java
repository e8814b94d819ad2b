package dev.cinch.bag.audit;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.close.HorizonChain;
import dev.cinch.bag.format.Checkpoint;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.SegmentBucket;
import dev.cinch.bag.format.SegmentHeader;
import dev.cinch.bag.layout.LogLayout;
import dev.cinch.bag.layout.Numbered;
import dev.cinch.bag.read.SegmentReader;
import dev.cinch.bag.read.SegmentVerifier;
import dev.cinch.bag.store.LogContext;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.OptionalLong;

/**
 * Checks a log's segments and checkpoints (section 10): each by itself, and that the segments
 * follow one another from the first on. Not thread-safe.
 */
@CheckReturnValue
final class SegmentsVerifier {
  private final LogContext log;
  private final Tally tally;
  private long segments;
  private long covered = Long.MIN_VALUE;
  private long lastRecord;
  private long retired = Long.MIN_VALUE;
  private long firstKept = 1;

  SegmentsVerifier(LogContext log, Tally tally) {
    this.log = log;
    this.tally = tally;
  }

  /** The lowest number that a record must still have; 1 if none was retired. */
  long firstKept() {
    return firstKept;
  }

  /**
   * Whether a bucket that ends then is behind the last checkpoint: what is left of it means
   * nothing, the segments count.
   */
  boolean retired(long bucketEnd) {
    return bucketEnd <= retired;
  }

  void verify() throws IOException {
    for (String name : list(log.layout().segments())) {
      OptionalLong n = Numbered.parse(name);
      if (n.isPresent()) {
        segment(n.getAsLong());
      } else if (!LogLayout.isTemporary(name)) {
        tally.found(Finding.foreign(log.layout().segments().resolve(name)));
      }
    }
    for (String name : list(log.layout().checkpoints())) {
      OptionalLong n = Numbered.parse(name);
      if (n.isPresent()) {
        checkpoint(n.getAsLong());
      }
    }
  }

  private Iterable<String> list(Path directory) throws IOException {
    try {
      return log.store().fs().list(directory).stream().sorted().toList();
    } catch (NoSuchFileException e) {
      return java.util.List.of(); // a copy of a store may lack its empty directories
    }
  }

  private void segment(long number) {
    Path path = log.layout().segment(number);
    try (SegmentReader reader = SegmentReader.open(log, number)) {
      SegmentHeader h = reader.header();
      if (number != segments + 1 || h.from() != covered || h.firstRecord() != lastRecord + 1) {
        bad(
            path,
            "segment %d from %d, record %d".formatted(segments + 1, covered, lastRecord + 1),
            "%d from %d, record %d".formatted(number, h.from(), h.firstRecord()));
      }
      segments = number;
      covered = h.to();
      lastRecord = h.lastRecord();
      new SegmentVerifier(reader).verify(SegmentsVerifier::ignore);
      tally.read(path, reader.size());
    } catch (DamagedException e) {
      tally.found(Finding.of(e));
    } catch (IOException e) {
      bad(path, "a readable segment", e.toString());
    }
  }

  private static void ignore(SegmentBucket bucket) {}

  private void checkpoint(long number) {
    Path path = log.layout().checkpoint(number);
    try {
      Checkpoint c = new HorizonChain(log).readCheckpoint(number);
      tally.read(path, log.store().fs().status(path).size());
      if (c.segment() > segments || c.to() > covered) {
        bad(path, "segments up to " + c.segment() + " (rule R1)", segments + " segments");
      }
      firstKept = number;
      retired = c.to();
    } catch (DamagedException e) {
      tally.found(Finding.of(e));
    } catch (IOException e) {
      bad(path, "a readable checkpoint", e.toString());
    }
  }

  private void bad(Path path, String expected, String actual) {
    tally.found(Finding.damage(path, 0, expected, actual));
  }
}
