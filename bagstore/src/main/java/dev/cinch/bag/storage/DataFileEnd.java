package dev.cinch.bag.storage;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.format.FileHeader;
import dev.cinch.bag.format.Frame;
import dev.cinch.bag.format.FrameCodec;
import dev.cinch.bag.format.FrameHead;
import dev.cinch.bag.format.LockedFile;
import dev.cinch.bag.format.Trailer;
import dev.cinch.bag.model.DataFileName;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.jspecify.annotations.Nullable;

/**
 * Finds the last whole and valid batch of a data file: close, step 3. Reads its end and its header;
 * only a file whose end is torn is walked from its start, from head to head (rules C3, C4). Not
 * thread-safe: it keeps its buffer for the next file.
 */
@CheckReturnValue
public final class DataFileEnd {
  private final ByteBuffer tail =
      ByteBuffer.allocateDirect(Frame.ONE_STEP_LIMIT).order(ByteOrder.LITTLE_ENDIAN);
  private final ByteBuffer small =
      ByteBuffer.allocateDirect(FileHeader.MAX_BYTES).order(ByteOrder.LITTLE_ENDIAN);

  /**
   * Measures one file.
   *
   * @param in open for reading
   * @param size as its attributes said after the open
   * @param expected the header that it must have
   */
  public LockedFile measure(ByteSource in, long size, FileHeader expected) throws IOException {
    long tailStart = Math.max(0, size - tail.capacity());
    tail.clear().limit((int) (size - tailStart)); // no more, or a short file costs a second read
    in.read(tail, tailStart);
    tail.flip();
    ByteBuffer head = tail;
    if (tailStart > 0) {
      small.clear();
      in.read(small, 0);
      head = small.flip();
    }
    if (!isHeader(head, expected)) {
      return empty(expected.name());
    }
    int headerDigest = FileHeader.digest(head);
    var codec = new FrameCodec(expected.name());
    long end = tailStart + tail.limit();
    LockedFile atEnd = endingAt(codec, tailStart, end, expected);
    return atEnd != null ? atEnd : walk(in, codec, end, expected, headerDigest);
  }

  private static LockedFile empty(DataFileName name) {
    return new LockedFile(name, 0, 0, 0, 0, 0, new byte[0]);
  }

  /**
   * The file as it is if a valid batch ends at {@code end}, which the tail must reach; else null.
   */
  private @Nullable LockedFile endingAt(
      FrameCodec codec, long tailStart, long end, FileHeader header) {
    long trailerOffset = end - Frame.TRAILER;
    if (trailerOffset < Math.max(tailStart, header.length())) {
      return null;
    }
    Trailer t = codec.trailer(tail, (int) (trailerOffset - tailStart), trailerOffset);
    if (t == null || t.frameOffset() < header.length() || t.frameOffset() > trailerOffset) {
      return null;
    }
    if (t.twoStep()) {
      return locked(header, t, end, trailerOffset, tailStart); // the rest was forced before it
    }
    if (t.frameOffset() < tailStart) {
      return null; // its trailer was changed since: one step never writes so much
    }
    int at = (int) (t.frameOffset() - tailStart);
    FrameHead h = codec.head(tail, at, t.frameOffset());
    if (h == null
        || t.frameOffset() + h.frameLength() != end
        || codec.digest(h, tail, at) != t.digest()) {
      return null;
    }
    boolean first = t.frameOffset() == header.length();
    if (first && !isHeader(tail, header)) {
      return null; // the copy has the header too, and this read may not be the one that was checked
    }
    return locked(header, t, end, first ? 0 : t.frameOffset(), tailStart);
  }

  private static boolean isHeader(ByteBuffer bytes, FileHeader expected) {
    return FileHeader.decode(bytes).filter(expected::equals).isPresent();
  }

  private LockedFile locked(FileHeader header, Trailer t, long end, long copyFrom, long tailStart) {
    var copy = new byte[(int) (end - Math.max(copyFrom, tailStart))];
    tail.get((int) (end - copy.length - tailStart), copy);
    return new LockedFile(header.name(), end, t.messages(), t.first(), t.last(), t.digest(), copy);
  }

  /**
   * Goes from frame to frame as long as head, trailer and running digest agree, and falls back
   * where the last one is not whole.
   */
  private LockedFile walk(
      ByteSource in, FrameCodec codec, long size, FileHeader header, int headerDigest)
      throws IOException {
    long offset = header.length();
    int digest = headerDigest;
    LockedFile best = empty(header.name());
    while (true) {
      small.clear().limit(Frame.HEAD);
      in.read(small, offset);
      FrameHead h = codec.head(small.flip(), 0, offset);
      if (h == null || h.digestBefore() != digest || offset + h.frameLength() > size) {
        return best;
      }
      long end = offset + h.frameLength();
      small.clear().limit(Frame.TRAILER);
      in.read(small, end - Frame.TRAILER);
      Trailer t = codec.trailer(small.flip(), 0, end - Frame.TRAILER);
      if (t == null || t.frameOffset() != offset) {
        return best;
      }
      LockedFile here = at(in, codec, end, header);
      if (here == null) {
        return best;
      }
      best = here;
      offset = end;
      digest = t.digest();
    }
  }

  private @Nullable LockedFile at(ByteSource in, FrameCodec codec, long end, FileHeader header)
      throws IOException {
    long start = Math.max(0, end - tail.capacity());
    tail.clear().limit((int) (end - start));
    in.read(tail, start);
    tail.flip();
    return start + tail.limit() == end ? endingAt(codec, start, end, header) : null;
  }
}
