package dev.cinch.view;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.close.HorizonChain;
import dev.cinch.bag.close.HorizonChain.Link;
import dev.cinch.bag.format.Checkpoint;
import dev.cinch.bag.format.Checkpoint.Covered;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.SegmentDigests;
import dev.cinch.bag.format.SegmentHeader;
import dev.cinch.bag.read.SegmentFeed;
import dev.cinch.bag.read.SegmentMarks;
import dev.cinch.bag.read.SegmentReader;
import dev.cinch.bag.read.SegmentVerifier;
import dev.cinch.bag.store.LogContext;
import java.io.IOException;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Checks whole segments against the records, locks and data files that they cover, before these are
 * retired: from then on the segments are all there is (rule R1). Of segments that were published
 * before this was made: listings are made once for all of them. Not thread-safe.
 */
@CheckReturnValue
final class SegmentAudit {
  private final HorizonChain chain;
  private final SegmentFeed feed;
  private final SegmentMarks marks;
  private final LogContext log;

  /** The end of the records, where a segment was checked against them; it ends behind all. */
  private @Nullable Link tip;

  /** The last record of the segment before. */
  private long before;

  /**
   * @param line the last checkpoint
   */
  SegmentAudit(LogContext log, Optional<Checkpoint> line) {
    this.log = log;
    this.chain = new HorizonChain(log);
    this.feed = new SegmentFeed(log);
    this.marks = new SegmentMarks(log, Optional.empty());
    this.before = line.map(Checkpoint::number).orElse(0L);
  }

  /**
   * Reads all of a segment, and makes it once more of what it was made of.
   *
   * @param number of the one after that which was checked before
   * @return what a checkpoint says of the segment
   * @throws DamagedException if the segment lacks anything that its records, locks and data files
   *     have, or has anything else
   */
  Covered check(long number) throws IOException {
    try (SegmentReader segment = SegmentReader.open(log, number, marks)) {
      SegmentHeader header = segment.header();
      if (header.firstRecord() != before + 1) {
        throw new DamagedException(
            segment.path(), 56, "record " + (before + 1) + " first", "" + header.firstRecord());
      }
      var found = new Covered(digests(segment), segment.trailer().messages());
      Covered expected = feed.expected(header, segment.path(), tip(segment));
      if (!found.equals(expected)) {
        throw new DamagedException(
            segment.path(),
            0,
            "SHA-256 " + expected.digests().sha256() + ", which its records and data files give",
            found.digests().sha256());
      }
      before = header.lastRecord();
      return found;
    }
  }

  private static SegmentDigests digests(SegmentReader segment) throws IOException {
    return new SegmentVerifier(segment).verify(bucket -> {});
  }

  private Link tip(SegmentReader segment) throws IOException {
    Link known = tip;
    if (known == null) {
      known =
          chain
              .freshTip()
              .orElseThrow(
                  () ->
                      new DamagedException(
                          segment.path(), 0, "the records that it covers", "none"));
      tip = known;
    }
    return known;
  }
}
