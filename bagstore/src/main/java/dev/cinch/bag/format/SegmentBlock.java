package dev.cinch.bag.format;

import dev.cinch.bag.model.Name;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.zip.CRC32;

/**
 * The frame of every block of a segment. Blocks follow the header without a gap; all numbers are
 * little-endian.
 *
 * <pre>
 * head   0  4  kind: "SEGB" a bucket, "SEGL" leases, "SEGM" messages, "SEGI" the index
 *        4  4  length of the body as it stands
 *        8  4  how it is packed (upper 4 bits) and its length unpacked (lower 28 bits)
 *       12  4  CRC-32 of: the header's checksum (4), offset of the block (8), bytes 0 to 11, the body as it stands
 * body  16
 *   how 0     as it is
 *   how 1     a block of LZ4
 * </pre>
 *
 * <p>A bucket block ({@link SegmentBucket}) stands before everything of its bucket. The bodies of
 * the others:
 *
 * <pre>
 * leases    entries: 4 kind (upper 4 bits) and length n (lower 28 bits), then n bytes
 *   kind 2    a signed witness; gets the next number in the bucket, from 1
 *   kind 3    a lease set: n/4 witness numbers of 4 bytes each; gets the next number in the bucket, from 1
 * messages  8 timestamp of the first, nanoseconds; then in the total order of the log, each:
 *   varint  length n of the payload
 *   varint  data file: its place in the bucket's file table, from 0
 *   varint  lease set, 0: none
 *   varint  nanoseconds since the message before; 0 for the first
 *   varint  position in the data file, from 0
 *   n       payload
 * </pre>
 *
 * <p>A varint has seven bits of a number in each byte, the lowest first, and the eighth bit in all
 * but the last. Bucket, leases and messages blocks are packed where that makes them smaller.
 *
 * <p>Witnesses and lease sets are numbered for each bucket anew and stand in it before the first
 * message that refers to them, so that a reader who begins in the middle of a bucket reads its
 * bucket block and its leases blocks, which the index names, and no other. A witness is kept as its
 * bytes were found, whether it is valid or not: rule F3 is applied by readers, with the number of
 * trusted keys that the bucket block states.
 */
public final class SegmentBlock {
  public static final int HEAD = 16;

  public static final int BUCKET = 0x42474553; // "SEGB"
  public static final int LEASES = 0x4c474553; // "SEGL"
  public static final int MESSAGES = 0x4d474553; // "SEGM"
  public static final int INDEX = 0x49474553; // "SEGI"

  /** A body of messages is ended before it would exceed so many bytes, unless it has only one. */
  public static final int TARGET = 1 << 16;

  static final int CRC_AT = 12;

  private static final int HOW_SHIFT = 28;
  private static final int LENGTH_MASK = (1 << HOW_SHIFT) - 1;
  private static final int PACKED = 1;

  private SegmentBlock() {}

  /**
   * The checksum of a block.
   *
   * @param seed the header's checksum
   * @param offset of the block in the file
   * @param block head and body
   * @param at where the block begins in {@code block}
   * @param length of head and body
   */
  public static int checksum(int seed, long offset, byte[] block, int at, int length) {
    var crc = new CRC32();
    ByteBuffer place = ByteBuffer.allocate(12).order(ByteOrder.LITTLE_ENDIAN);
    crc.update(place.putInt(seed).putLong(offset).array(), 0, 12);
    crc.update(block, at, CRC_AT);
    crc.update(block, at + HEAD, length - HEAD);
    return (int) crc.getValue();
  }

  /** The checksum that stands in a block's head; see {@link #checksum}. */
  public static int checksumOf(ByteBuffer block) {
    return block.getInt(CRC_AT);
  }

  /**
   * Puts the head before the body of a block that begins at index 0 of an array-backed buffer and
   * ends at its position.
   *
   * @param packed whether the body is
   * @param unpacked bytes of the body before
   * @return its checksum
   */
  static int seal(ByteBuffer block, int kind, boolean packed, int unpacked, int seed, long offset) {
    if (unpacked > LENGTH_MASK) {
      throw new IllegalArgumentException("a block of " + unpacked + " bytes");
    }
    int length = block.position();
    block.putInt(0, kind).putInt(4, length - HEAD);
    block.putInt(8, packed ? PACKED << HOW_SHIFT | unpacked : unpacked);
    int checksum = checksum(seed, offset, block.array(), 0, length);
    block.putInt(CRC_AT, checksum);
    return checksum;
  }

  /**
   * The body of a block whose checksum is right, unpacked.
   *
   * @param block head and body
   * @param path for error messages
   * @param offset of the block, for error messages
   * @return little-endian, from position to limit; array-backed from index 0
   * @throws DamagedException if it can't be unpacked
   */
  public static ByteBuffer body(byte[] block, Name path, long offset) throws DamagedException {
    int how = ByteBuffer.wrap(block).order(ByteOrder.LITTLE_ENDIAN).getInt(8);
    int unpacked = how & LENGTH_MASK;
    int stands = block.length - HEAD;
    ByteBuffer body = null;
    if (how >>> HOW_SHIFT == 0 && unpacked == stands) {
      body = ByteBuffer.wrap(block, HEAD, stands);
    } else if (how >>> HOW_SHIFT == PACKED && Lz4.isPossible(stands, unpacked)) {
      var bytes = new byte[unpacked];
      body = Lz4.unpack(block, HEAD, block.length, bytes) ? ByteBuffer.wrap(bytes) : null;
    }
    if (body == null) {
      throw new DamagedException(
          path,
          offset,
          "a body of %d bytes as it is, or packed with LZ4".formatted(unpacked),
          "%d bytes in way %d".formatted(stands, how >>> HOW_SHIFT));
    }
    return body.order(ByteOrder.LITTLE_ENDIAN);
  }
}
