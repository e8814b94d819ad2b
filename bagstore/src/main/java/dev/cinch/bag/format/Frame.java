package dev.cinch.bag.format;

/**
 * One batch as it stands in a data file: a head, a body of entries, a trailer. All numbers
 * little-endian.
 *
 * <pre>
 * head      0  4  magic "BTCH"
 *           4  4  length of the body
 *           8  4  messages in this batch, at least 1
 *          12  4  digest of the file before this batch
 *          16  4  CRC-32 of: incarnation (16), offset of the frame (8), bytes 0 to 15
 * body     20     entries
 * trailer   0  4  magic "ENDB"
 *           4  4  CRC-32 of: incarnation (16), offset of the trailer (8), bytes 8 to 47
 *           8  8  offset of the frame
 *          16  4  digest of the file up to and with this batch
 *          20  4  0
 *          24  8  messages in the file up to and with this batch
 *          32  8  timestamp of the first message in the file
 *          40  8  timestamp of the last message of this batch
 * entry     0  4  kind (upper 4 bits) and length n (lower 28 bits)
 *   kind 1        a message: 4 number of its lease set in this batch (0: none), 8 timestamp, then n bytes of payload
 *   kind 2        a signed witness of n bytes; gets the next number in the file, from 1
 *   kind 3        a lease set: n/4 witness numbers of 4 bytes each; gets the next number in the batch, from 1
 * </pre>
 *
 * The digest is the CRC-32 of: the digest before (4; the header's checksum for the first batch),
 * the head's first 16 bytes, the body. A checksum is seeded with incarnation and offset, so that a
 * frame copied into a payload or to another place is not taken for one (rule A4). The trailer
 * stands alone, so that the end of a file says how many messages there are.
 */
public final class Frame {
  public static final int HEAD = 20;
  public static final int TRAILER = 48;

  /** Bytes before the payload of a message. */
  public static final int MESSAGE_OVERHEAD = 16;

  /** The longest body that is read or written: the longest message, and room for its leases. */
  public static final int MAX_BODY = 1 << 26;

  public static final int KIND_MESSAGE = 1;
  public static final int KIND_WITNESS = 2;
  public static final int KIND_LEASE_SET = 3;

  static final int HEAD_MAGIC = 0x48435442; // "BTCH"
  static final int TRAILER_MAGIC = 0x42444e45; // "ENDB"

  private static final int LENGTH_BITS = 28;

  private Frame() {}

  /** An entry's first four bytes. */
  public static int entry(int kind, int length) {
    return kind << LENGTH_BITS | length;
  }

  public static int kind(int entry) {
    return entry >>> LENGTH_BITS;
  }

  public static int length(int entry) {
    return entry & (1 << LENGTH_BITS) - 1;
  }
}
