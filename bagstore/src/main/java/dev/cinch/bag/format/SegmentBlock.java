package dev.cinch.bag.format;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.zip.CRC32;

/**
 * The frame of every block of a segment. Blocks follow the header without a gap; all numbers are
 * little-endian.
 *
 * <pre>
 * head   0  4  kind: "SEGB" a bucket, "SEGL" leases, "SEGM" messages, "SEGI" the index
 *        4  4  length of the body
 *        8  4  CRC-32 of: the header's checksum (4), offset of the block (8), bytes 0 to 7, the body
 * body  12
 * </pre>
 *
 * <p>A bucket block ({@link SegmentBucket}) stands before everything of its bucket. The bodies of
 * the others:
 *
 * <pre>
 * leases    entries: 4 kind (upper 4 bits) and length n (lower 28 bits), then n bytes
 *   kind 2    a signed witness; gets the next number in the bucket, from 1
 *   kind 3    a lease set: n/4 witness numbers of 4 bytes each; gets the next number in the bucket, from 1
 * messages  in the total order of the log, each:
 *   0  4  length n of the payload
 *   4  4  data file: its place in the bucket's file table, from 0
 *   8  4  lease set, 0: none
 *  12  8  timestamp, nanoseconds
 *  20  8  position in the data file, from 0
 *  28  n  payload
 * </pre>
 *
 * <p>Witnesses and lease sets are numbered for each bucket anew and stand in it before the first
 * message that refers to them, so that a reader who begins in the middle of a bucket reads its
 * bucket block and its leases blocks, which the index names, and no other. A witness is kept as its
 * bytes were found, whether it is valid or not: rule F3 is applied by readers, with the number of
 * trusted keys that the bucket block states.
 */
public final class SegmentBlock {
  public static final int HEAD = 12;

  public static final int BUCKET = 0x42474553; // "SEGB"
  public static final int LEASES = 0x4c474553; // "SEGL"
  public static final int MESSAGES = 0x4d474553; // "SEGM"
  public static final int INDEX = 0x49474553; // "SEGI"

  /** A body of messages is ended before it would exceed so many bytes, unless it has only one. */
  public static final int TARGET = 1 << 16;

  /** Bytes before the payload of a message. */
  public static final int MESSAGE_OVERHEAD = 28;

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
    crc.update(block, at, 8);
    crc.update(block, at + HEAD, length - HEAD);
    return (int) crc.getValue();
  }

  /** Puts the head before the body of a block that begins at index 0 of an array-backed buffer. */
  static void seal(ByteBuffer block, int kind, int seed, long offset) {
    int length = block.position();
    block.putInt(0, kind).putInt(4, length - HEAD);
    block.putInt(8, checksum(seed, offset, block.array(), 0, length));
  }
}
