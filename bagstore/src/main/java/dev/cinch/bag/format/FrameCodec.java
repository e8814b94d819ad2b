package dev.cinch.bag.format;

import dev.cinch.bag.model.DataFileName;
import dev.cinch.lease.Id;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.zip.CRC32;
import org.jspecify.annotations.Nullable;

/**
 * Writes and checks heads and trailers of one data file; see {@link Frame}. Not thread-safe: it
 * keeps scratch space so that nothing is allocated per batch.
 */
public final class FrameCodec {
  private final CRC32 crc = new CRC32();
  private final ByteBuffer seed = ByteBuffer.allocate(Id.BYTES + 8).order(ByteOrder.LITTLE_ENDIAN);
  private final ByteBuffer four = ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN);

  /** For the frames of one data file. */
  public FrameCodec(DataFileName name) {
    this(name.incarnation());
  }

  /**
   * @param incarnation of the file
   */
  FrameCodec(Id incarnation) {
    incarnation.write(seed);
  }

  /** Puts a head at the position of a little-endian buffer. */
  public void putHead(ByteBuffer out, FrameHead head, long frameOffset) {
    int at = out.position();
    out.putInt(Frame.HEAD_MAGIC)
        .putInt(head.bodyLength())
        .putInt(head.messages())
        .putInt(head.digestBefore());
    out.putInt(seeded(frameOffset, out, at, 16));
  }

  /**
   * Reads a head at an index of a little-endian buffer; null if there is no valid one for that
   * offset of the file.
   */
  public @Nullable FrameHead head(ByteBuffer in, int at, long frameOffset) {
    if (in.limit() - at < Frame.HEAD
        || in.getInt(at) != Frame.HEAD_MAGIC
        || in.getInt(at + 16) != seeded(frameOffset, in, at, 16)) {
      return null;
    }
    var head = new FrameHead(in.getInt(at + 4), in.getInt(at + 8), in.getInt(at + 12));
    return head.bodyLength() > 0 && head.bodyLength() <= Frame.MAX_BODY && head.messages() > 0
        ? head
        : null;
  }

  /** Puts a trailer at the position of a little-endian buffer. */
  public void putTrailer(ByteBuffer out, Trailer trailer, long trailerOffset) {
    int at = out.position();
    out.putInt(Frame.TRAILER_MAGIC).putInt(0);
    out.putLong(trailer.frameOffset())
        .putInt(trailer.digest())
        .putInt(0)
        .putLong(trailer.messages())
        .putLong(trailer.first())
        .putLong(trailer.last());
    out.putInt(at + 4, seeded(trailerOffset, out, at + 8, Frame.TRAILER - 8));
  }

  /**
   * Reads a trailer at an index of a little-endian buffer; null if there is no valid one for that
   * offset of the file.
   */
  public @Nullable Trailer trailer(ByteBuffer in, int at, long trailerOffset) {
    if (in.limit() - at < Frame.TRAILER
        || in.getInt(at) != Frame.TRAILER_MAGIC
        || in.getInt(at + 4) != seeded(trailerOffset, in, at + 8, Frame.TRAILER - 8)
        || in.getInt(at + 20) != 0) {
      return null;
    }
    var trailer =
        new Trailer(
            in.getLong(at + 8),
            in.getInt(at + 16),
            in.getLong(at + 24),
            in.getLong(at + 32),
            in.getLong(at + 40));
    return isPossible(trailer.messages(), trailerOffset) && trailer.first() <= trailer.last()
        ? trailer
        : null;
  }

  /** Whether there can be so many messages, at least one, in so many bytes of a data file. */
  static boolean isPossible(long messages, long bytes) {
    return messages >= 1 && messages <= bytes / Frame.MESSAGE_OVERHEAD;
  }

  /**
   * Begins the digest of a frame: of what went before, and of the head's first 16 bytes at an index
   * of a buffer.
   */
  public FrameCodec beginDigest(int before, ByteBuffer head, int at) {
    crc.reset();
    four.putInt(0, before);
    crc.update(four.array(), 0, 4);
    update(head, at, 16);
    return this;
  }

  /** Goes on with bytes of the body. */
  public FrameCodec digestBody(ByteBuffer body, int at, int length) {
    update(body, at, length);
    return this;
  }

  /** Ends what {@link #beginDigest} began. */
  public int digest() {
    return (int) crc.getValue();
  }

  /** The digest of a frame whose head is at an index of a buffer, and its body behind that. */
  public int digest(FrameHead head, ByteBuffer in, int at) {
    return beginDigest(head.digestBefore(), in, at)
        .digestBody(in, at + Frame.HEAD, head.bodyLength())
        .digest();
  }

  private int seeded(long offset, ByteBuffer bytes, int at, int length) {
    crc.reset();
    seed.putLong(Id.BYTES, offset);
    crc.update(seed.array(), 0, seed.capacity());
    update(bytes, at, length);
    return (int) crc.getValue();
  }

  private void update(ByteBuffer bytes, int at, int length) {
    if (bytes.hasArray()) {
      crc.update(bytes.array(), bytes.arrayOffset() + at, length);
      return;
    }
    int position = bytes.position();
    int limit = bytes.limit();
    bytes.limit(at + length).position(at);
    crc.update(bytes);
    bytes.limit(limit).position(position);
  }
}
