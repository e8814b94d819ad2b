package dev.cinch.bag.file;

import dev.cinch.bag.model.Stored;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** A sliding window over the valid bytes of a data file. Not thread-safe. */
final class Window {
  private static final int CHUNK = 1 << 18;

  private final Stored in;
  private final long limit;
  private byte[] bytes;
  private ByteBuffer view;
  private long start;
  private int filled;

  /**
   * @param limit bytes past it do not exist (rule C2)
   */
  public Window(Stored in, long limit) {
    this(in, limit, CHUNK);
  }

  /**
   * @param chunk how much is read at once, at most; less than a load asks for if that is more
   */
  public Window(Stored in, long limit, int chunk) {
    this.in = in;
    this.limit = limit;
    this.bytes = new byte[(int) Math.min(Math.min(chunk, CHUNK), Math.max(64, limit))];
    this.view = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }

  /**
   * Makes {@code length} bytes from {@code offset} on available; false if the file ends before.
   * Offsets only grow.
   */
  public boolean load(long offset, int length) throws IOException {
    if (offset + length > limit) {
      return false;
    }
    if (offset >= start && offset + length <= start + filled) {
      return true;
    }
    int keep = offset >= start && offset < start + filled ? (int) (start + filled - offset) : 0;
    byte[] target = length > bytes.length ? new byte[Math.max(length, 2 * bytes.length)] : bytes;
    System.arraycopy(bytes, (int) (keep == 0 ? 0 : offset - start), target, 0, keep);
    if (target != bytes) {
      bytes = target;
      view = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    }
    start = offset;
    int want = (int) Math.min(bytes.length, limit - offset);
    ByteBuffer into = ByteBuffer.wrap(bytes, keep, want - keep);
    filled = keep + in.read(into, offset + keep);
    return filled >= length;
  }

  /** Where in {@link #bytes} an available offset is. */
  public int at(long offset) {
    return (int) (offset - start);
  }

  public byte[] bytes() {
    return bytes;
  }

  public ByteBuffer view() {
    return view;
  }
}
