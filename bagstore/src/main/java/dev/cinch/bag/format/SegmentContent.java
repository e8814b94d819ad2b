package dev.cinch.bag.format;

import com.google.errorprone.annotations.CheckReturnValue;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.security.MessageDigest;
import java.util.HexFormat;

/**
 * A digest of what a segment holds, however it is packed: of every block's kind (4), length (4) and
 * body, unpacked, and of its time (8) in the index; then of the numbers of messages (8) and buckets
 * (8). Whoever builds a segment of the same records gets the same one. Not thread-safe.
 */
@CheckReturnValue
public final class SegmentContent {
  private final MessageDigest digest = Envelope.sha256();

  /**
   * Adds the next block.
   *
   * @param body unpacked
   */
  public void add(int kind, long time, ByteBuffer body) {
    digest.update(numbers().putInt(kind).putInt(body.remaining()).putLong(time).flip());
    digest.update(body.duplicate());
  }

  /** The digest once all blocks were added, 64 lower-case hexadecimal digits. */
  public String end(long messages, long buckets) {
    digest.update(numbers().putLong(messages).putLong(buckets).flip());
    return HexFormat.of().formatHex(digest.digest());
  }

  private static ByteBuffer numbers() {
    return ByteBuffer.allocate(16).order(ByteOrder.LITTLE_ENDIAN);
  }
}
