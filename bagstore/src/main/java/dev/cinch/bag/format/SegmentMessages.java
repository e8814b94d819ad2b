package dev.cinch.bag.format;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.model.Name;
import java.nio.ByteBuffer;

/**
 * Walks the messages in the body of a messages block; see {@link SegmentBlock}. Not thread-safe.
 */
@CheckReturnValue
public final class SegmentMessages {
  private final ByteBuffer body;
  private final Name path;
  private final long offset;
  private int file;
  private int leaseSet;
  private long timestamp;
  private long position;
  private int payload;
  private int length;

  /**
   * @param body little-endian, from position to limit; array-backed from index 0
   * @param path for error messages
   * @param offset of the block, for error messages
   * @throws DamagedException if there is no message
   */
  public SegmentMessages(ByteBuffer body, Name path, long offset) throws DamagedException {
    this.body = body;
    this.path = path;
    this.offset = offset;
    if (body.remaining() <= Long.BYTES) {
      throw damaged();
    }
    timestamp = body.getLong();
  }

  /**
   * Goes to the next message; false at the end.
   *
   * @throws DamagedException if something else stands there
   */
  public boolean next() throws DamagedException {
    if (!body.hasRemaining()) {
      return false;
    }
    length = number();
    file = number();
    leaseSet = number();
    long time = timestamp + varint();
    position = varint();
    if (time < timestamp || position < 0 || length > body.remaining()) {
      throw damaged();
    }
    timestamp = time;
    payload = body.position();
    body.position(payload + length);
    return true;
  }

  private int number() throws DamagedException {
    long n = varint();
    if (n < 0 || n > Integer.MAX_VALUE) {
      throw damaged();
    }
    return (int) n;
  }

  private long varint() throws DamagedException {
    long n = 0;
    for (int shift = 0; shift < Long.SIZE && body.hasRemaining(); shift += 7) {
      byte b = body.get();
      n |= (b & 0x7fL) << shift;
      if (b >= 0) {
        return n;
      }
    }
    throw damaged();
  }

  private DamagedException damaged() {
    return new DamagedException(path, offset, "messages within their block", "something else");
  }

  /** Bytes that {@link #put} takes for a number. */
  static int length(long n) {
    return (Long.SIZE + 6 - Long.numberOfLeadingZeros(n | 1)) / 7;
  }

  /** Puts a number, seven bits a byte, the lowest first; all but the last byte are negative. */
  static void put(ByteBuffer out, long n) {
    long left = n;
    while ((left & ~0x7fL) != 0) {
      out.put((byte) (left | 0x80));
      left >>>= 7;
    }
    out.put((byte) left);
  }

  /** What holds the payload. */
  public byte[] bytes() {
    return body.array();
  }

  /** Where the payload begins in {@link #bytes()}. */
  public int payload() {
    return payload;
  }

  /** Bytes of the payload. */
  public int length() {
    return length;
  }

  /** Place of the data file in the bucket's file table, from 0. */
  public int file() {
    return file;
  }

  /** Number of the lease set; 0 for none. */
  public int leaseSet() {
    return leaseSet;
  }

  /** Nanoseconds since the Unix epoch; before the first {@link #next} that of the first message. */
  public long timestamp() {
    return timestamp;
  }

  /** In the data file, from 0. */
  public long position() {
    return position;
  }
}
