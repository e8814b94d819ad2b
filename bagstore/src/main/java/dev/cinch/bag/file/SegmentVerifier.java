package dev.cinch.bag.file;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.SegmentBucket;
import dev.cinch.bag.format.SegmentBucket.Hole;
import dev.cinch.bag.model.DataFileName;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Reads all of a segment or lock: every checksum, the total order, and that each data file's
 * messages are there, from the first to the last but for what its holes miss. Done before anything
 * is deleted that only the segment keeps then (rule R1). Not thread-safe.
 */
@CheckReturnValue
public final class SegmentVerifier {
  private final SegmentReader segment;
  private final SegmentCursor cursor;
  private boolean started;
  private boolean more;
  private long messages;
  private long buckets;
  private long newest = Long.MIN_VALUE;

  public SegmentVerifier(SegmentReader segment) throws IOException {
    this.segment = segment;
    this.cursor = segment.messages(Long.MIN_VALUE, Long.MAX_VALUE);
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
   * @throws DamagedException if anything is wrong
   */
  public void verify(Buckets each) throws IOException {
    long before = Long.MIN_VALUE;
    for (int i : segment.index().buckets()) {
      SegmentBucket b = segment.bucketAt(i);
      if (buckets > 0 && b.start() <= before) {
        throw wrong("buckets in ascending order, found " + b.start() + " after " + before);
      }
      before = b.start();
      verifyBucket(b);
      each.bucket(b);
      buckets++;
    }
    if (advance() || messages != segment.trailer().messages()) {
      throw wrong(segment.trailer().messages() + " messages, found " + messages);
    }
    if (buckets != segment.trailer().buckets()) {
      throw wrong(segment.trailer().buckets() + " buckets, found " + buckets);
    }
    if (newest != segment.trailer().newest()) {
      throw wrong("a newest message of " + segment.trailer().newest() + ", found " + newest);
    }
  }

  /** What the buckets had lost when they were closed (rule C4); asked once all was verified. */
  public List<DamagedException> lost() {
    return cursor.lost();
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
    var next = new long[b.files().size()];
    var seen = new long[b.files().size()];
    Map<DataFileName, Deque<Hole>> holes = holes(b);
    long timestamp = b.start();
    int file = -1;
    while (advance() && cursor.bucket().start() == b.start()) {
      int f = cursor.fileIndex();
      boolean inOrder =
          cursor.timestamp() > timestamp || cursor.timestamp() == timestamp && f >= file;
      boolean inBucket = cursor.timestamp() < b.start() + segment.header().width();
      Deque<Hole> left = holes.get(b.files().get(f).name());
      while (cursor.position() > next[f] && left != null && !left.isEmpty()) {
        next[f] += Math.max(0, left.remove().messages());
      }
      if (!inOrder || !inBucket || cursor.position() != next[f]) {
        throw wrong(
            "the total order at timestamp " + cursor.timestamp() + " of bucket " + b.start());
      }
      timestamp = cursor.timestamp();
      newest = timestamp;
      file = f;
      next[f]++;
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

  /** The holes of each file that has one, in order. */
  private static Map<DataFileName, Deque<Hole>> holes(SegmentBucket b) {
    var holes = new HashMap<DataFileName, Deque<Hole>>();
    for (Hole h : b.holes()) {
      holes.computeIfAbsent(h.file(), name -> new ArrayDeque<>()).add(h);
    }
    return holes;
  }

  private DamagedException wrong(String expected) {
    return new DamagedException(segment.path(), 0, expected, "otherwise");
  }
}
