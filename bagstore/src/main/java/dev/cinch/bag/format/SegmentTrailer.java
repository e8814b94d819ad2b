package dev.cinch.bag.format;

import dev.cinch.bag.model.Name;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.zip.CRC32;

/**
 * The last bytes of a segment: where its index stands.
 *
 * <pre>
 *  0  8  magic "CINCHEND"
 *  8  8  offset of the index block
 * 16  8  length of the index block with its head
 * 24  8  messages in the segment
 * 32  8  buckets in the segment
 * 40  8  timestamp of the newest message, nanoseconds; -2^63 if there is none
 * 48  4  CRC-32 of: the header's checksum (4), bytes 0 to 47
 * </pre>
 *
 * Numbers are little-endian. The index block ends where the trailer begins.
 *
 * @param indexOffset bytes from the start of the file
 * @param indexLength bytes
 * @param messages in all buckets
 * @param buckets covered that exist
 * @param newest timestamp of the newest message, {@link Long#MIN_VALUE} if there is none
 */
public record SegmentTrailer(
    long indexOffset, long indexLength, long messages, long buckets, long newest) {
  /** Bytes of a trailer. */
  public static final int BYTES = 52;

  private static final long MAGIC =
      ByteBuffer.wrap("CINCHEND".getBytes(StandardCharsets.US_ASCII))
          .order(ByteOrder.LITTLE_ENDIAN)
          .getLong();
  private static final int CRC_AT = 48;

  ByteBuffer encode(int seed) {
    ByteBuffer out = ByteBuffer.allocate(BYTES).order(ByteOrder.LITTLE_ENDIAN);
    out.putLong(MAGIC).putLong(indexOffset).putLong(indexLength).putLong(messages);
    out.putLong(buckets).putLong(newest).putInt(checksum(seed, out.array()));
    return out.flip();
  }

  /**
   * @param in 52 bytes, little-endian, from index 0
   * @param seed the header's checksum
   * @param offset of the trailer
   * @param path for error messages
   * @throws DamagedException if it is none, or does not belong to this header
   */
  public static SegmentTrailer decode(ByteBuffer in, int seed, long offset, Name path)
      throws DamagedException {
    if (in.limit() < BYTES
        || in.getLong(0) != MAGIC
        || in.getInt(CRC_AT) != checksum(seed, in.array())) {
      throw new DamagedException(path, offset, "a segment's trailer", "none");
    }
    var trailer =
        new SegmentTrailer(
            in.getLong(8), in.getLong(16), in.getLong(24), in.getLong(32), in.getLong(40));
    if (trailer.indexOffset < SegmentHeader.BYTES
        || trailer.indexOffset + trailer.indexLength != offset
        || trailer.indexLength < SegmentBlock.HEAD
        || trailer.indexLength > Integer.MAX_VALUE - 8) {
      throw new DamagedException(path, offset, "the place of the index", "" + trailer);
    }
    return trailer;
  }

  /**
   * The header's checksum, worked out from the trailer's, which begins with it. CRC-32 is linear in
   * each bit, and exactly one seed gives the checksum that stands there; that it is a trailer is
   * for the caller to know.
   *
   * @param in 52 bytes, little-endian, from index 0
   */
  public static int seedOf(ByteBuffer in) {
    int none = checksum(0, in.array());
    var changes = new int[Integer.SIZE]; // by their highest bit
    var seeds = new int[Integer.SIZE]; // which make them
    for (int bit = 0; bit < Integer.SIZE; bit++) {
      int seed = 1 << bit;
      int change = checksum(seed, in.array()) ^ none;
      int highest = 31 - Integer.numberOfLeadingZeros(change);
      while (changes[highest] != 0) {
        change ^= changes[highest];
        seed ^= seeds[highest];
        highest = 31 - Integer.numberOfLeadingZeros(change);
      }
      changes[highest] = change;
      seeds[highest] = seed;
    }
    int seed = 0;
    for (int left = in.getInt(CRC_AT) ^ none; left != 0; ) {
      int highest = 31 - Integer.numberOfLeadingZeros(left);
      left ^= changes[highest];
      seed ^= seeds[highest];
    }
    return seed;
  }

  private static int checksum(int seed, byte[] bytes) {
    var crc = new CRC32();
    crc.update(ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN).putInt(seed).array(), 0, 4);
    crc.update(bytes, 0, CRC_AT);
    return (int) crc.getValue();
  }
}
