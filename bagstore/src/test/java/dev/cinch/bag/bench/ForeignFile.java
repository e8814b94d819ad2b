package dev.cinch.bag.bench;

import dev.cinch.bag.format.FileHeader;
import dev.cinch.bag.format.Frame;
import dev.cinch.bag.format.FrameCodec;
import dev.cinch.bag.format.FrameHead;
import dev.cinch.bag.format.Trailer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;

/** A data file as another program might write it: every checksum is right. */
public final class ForeignFile {
  private final FrameCodec codec;
  private final ByteBuffer out;
  private final long start;
  private int digest;
  private int messages;

  /**
   * @param start timestamp of the first message; each further one is a nanosecond later
   */
  public ForeignFile(FileHeader header, long start) {
    this.codec = new FrameCodec(header.name());
    this.out = ByteBuffer.allocate(1 << 20).order(ByteOrder.LITTLE_ENDIAN);
    this.start = start;
    ByteBuffer encoded = header.encode();
    this.digest = FileHeader.digest(encoded);
    out.put(encoded);
  }

  /** Bytes so far. */
  public int length() {
    return out.position();
  }

  /**
   * Adds a batch of one message.
   *
   * @param frame length of the frame in bytes, at least 84
   */
  public ForeignFile batch(int frame) {
    return batch(frame, messages + 1L);
  }

  /** As {@link #batch(int)}, with another count of the file's messages in the trailer. */
  public ForeignFile batch(int frame, long count) {
    int at = out.position();
    int body = frame - Frame.HEAD - Frame.TRAILER;
    var payload = new byte[body - Frame.MESSAGE_OVERHEAD];
    Arrays.fill(payload, (byte) ('a' + messages % 26));
    codec.putHead(out, new FrameHead(body, 1, digest), at);
    long timestamp = start + messages++;
    out.putInt(Frame.entry(Frame.KIND_MESSAGE, payload.length)).putInt(0).putLong(timestamp);
    out.put(payload);
    digest = codec.beginDigest(digest, out, at).digestBody(out, at + Frame.HEAD, body).digest();
    var trailer = new Trailer(at, digest, count, start, timestamp);
    codec.putTrailer(out, trailer, out.position());
    return this;
  }

  public byte[] bytes() {
    return Arrays.copyOf(out.array(), out.position());
  }
}
