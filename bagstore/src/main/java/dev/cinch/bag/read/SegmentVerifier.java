package dev.cinch.bag.read;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.SegmentBlock;
import dev.cinch.bag.format.SegmentBucket;
import dev.cinch.bag.format.SegmentDigests;
import java.io.IOException;

/**
 * Reads all of a segment: every checksum, the total order, and that each data file's messages are
 * there, from the first to the last. Done before anything is deleted that only the segment keeps
 * then (rule R1). Not thread-safe.
 */
@CheckReturnValue
public final class SegmentVerifier {
  private final SegmentReader segment;
  private final SegmentCursor cursor;
  private boolean started;
  private boolean more;
  private long messages;
  private long buckets;

  public SegmentVerifier(SegmentReader segment) throws IOException {
    this.segment = segment;
    this.cursor = segment.messages(Long.MIN_VALUE, Long.MAX_VALUE);
    segment.beginDigest();
  }

  /** Takes what a segment keeps of a bucket. */
  @FunctionalInterface
  public interface Buckets {
    void bucket(SegmentBucket bucket) throws IOException;
  }

  /**
   * Checks everything that the segment says of itself.
   *
   * @param each told of every bucket, in order, once its messages were found whole
   * @return the digests of what was checked
   * @throws DamagedException if anything is wrong
   */
  @CanIgnoreReturnValue
  public SegmentDigests verify(Buckets each) throws IOException {
    long before = Long.MIN_VALUE;
    for (int i = 0; i < segment.index().size(); i++) {
      if (segment.index().kind(i) == SegmentBlock.BUCKET) {
        SegmentBucket b = segment.bucketAt(i);
        if (buckets > 0 && b.start() <= before) {
          throw wrong("buckets in ascending order, found " + b.start() + " after " + before);
        }
        before = b.start();
        verifyBucket(b);
        each.bucket(b);
        buckets++;
      }
    }
    if (advance() || messages != segment.trailer().messages()) {
      throw wrong(segment.trailer().messages() + " messages, found " + messages);
    }
    if (buckets != segment.trailer().buckets()) {
      throw wrong(segment.trailer().buckets() + " buckets, found " + buckets);
    }
    return segment.digests();
  }

  /** Whether there is a current message; reads one if there is none yet. */
  private boolean advance() throws IOException {
    if (!started) {
      started = true;
      more = cursor.next();
    }
    return more;
  }

  private void verifyBucket(SegmentBucket b) throws IOException {
    var seen = new long[b.files().size()];
    long timestamp = b.start();
    int file = -1;
    while (advance() && cursor.bucket().start() == b.start()) {
      int f = cursor.fileIndex();
      boolean inOrder =
          cursor.timestamp() > timestamp || cursor.timestamp() == timestamp && f >= file;
      boolean inBucket = cursor.timestamp() < b.start() + segment.header().width();
      if (!inOrder || !inBucket || cursor.position() != seen[f]) {
        throw wrong(
            "the total order at timestamp " + cursor.timestamp() + " of bucket " + b.start());
      }
      timestamp = cursor.timestamp();
      file = f;
      seen[f]++;
      messages++;
      more = cursor.next();
    }
    for (int f = 0; f < seen.length; f++) {
      if (seen[f] != b.files().get(f).messages()) {
        throw wrong(
            b.files().get(f).messages()
                + " messages of "
                + b.files().get(f).name()
                + ", found "
                + seen[f]);
      }
    }
  }

  private DamagedException wrong(String expected) {
    return new DamagedException(segment.path(), 0, expected, "otherwise");
  }
}
