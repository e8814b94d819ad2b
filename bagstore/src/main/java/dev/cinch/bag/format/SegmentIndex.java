package dev.cinch.bag.format;

import dev.cinch.bag.model.Name;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.OptionalInt;
import java.util.stream.IntStream;

/**
 * The body of a segment's index block: every other block, in the order of the file.
 *
 * <pre>
 * each  0  4  kind of the block, see {@link SegmentBlock}
 *       4  4  length of the block with its head
 *       8  8  offset of the block
 *      16  8  messages: timestamp of the first one; leases: that of the messages block which follows;
 *             bucket: its start
 *      24  4  checksum of the block, the one in its head
 * </pre>
 *
 * Numbers are little-endian; times never decrease. So a digest of the index covers every byte of
 * the blocks. Takes 28 bytes for each 64 KiB of messages. Not thread-safe while it grows.
 */
public final class SegmentIndex {
  private static final int ENTRY = 28;

  private ByteBuffer entries;
  private int size;

  SegmentIndex() {
    entries = ByteBuffer.allocate(64 * ENTRY).order(ByteOrder.LITTLE_ENDIAN);
  }

  private SegmentIndex(ByteBuffer entries) {
    this.entries = entries;
    this.size = entries.limit() / ENTRY;
  }

  void add(int kind, int length, long offset, long time, int checksum) {
    if (entries.remaining() < ENTRY) {
      int capacity = Math.multiplyExact(entries.capacity(), 2);
      entries = ByteBuffer.allocate(capacity).order(ByteOrder.LITTLE_ENDIAN).put(entries.flip());
    }
    entries.putInt(kind).putInt(length).putLong(offset).putLong(time).putInt(checksum);
    size++;
  }

  ByteBuffer body() {
    return entries.duplicate().flip();
  }

  /** Number of blocks. */
  public int size() {
    return size;
  }

  public int kind(int i) {
    return entries.getInt(i * ENTRY);
  }

  /** Bytes of head and body. */
  public int length(int i) {
    return entries.getInt(i * ENTRY + 4);
  }

  public long offset(int i) {
    return entries.getLong(i * ENTRY + 8);
  }

  /** Nanoseconds; see above. */
  public long time(int i) {
    return entries.getLong(i * ENTRY + 16);
  }

  /** The checksum that block {@code i} must have. */
  public int checksum(int i) {
    return entries.getInt(i * ENTRY + 24);
  }

  /** The number of blocks whose time is below {@code time}; they come first. */
  public int before(long time) {
    int low = 0;
    int high = size;
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (time(middle) < time) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  /** The places of the bucket blocks, in order. */
  public int[] buckets() {
    return IntStream.range(0, size).filter(i -> kind(i) == SegmentBlock.BUCKET).toArray();
  }

  /** The place of the block of the bucket that begins then; empty if there is none (rule H1). */
  public OptionalInt bucket(long start) {
    int i = before(start);
    return i < size && time(i) == start && kind(i) == SegmentBlock.BUCKET
        ? OptionalInt.of(i)
        : OptionalInt.empty();
  }

  public boolean isMessages(int i) {
    return kind(i) == SegmentBlock.MESSAGES;
  }

  /** The bucket block that stands before or at block {@code i}. */
  public int bucketOf(int i) {
    int at = i;
    while (kind(at) != SegmentBlock.BUCKET) {
      at--;
    }
    return at;
  }

  /**
   * Whether a block may stand where it does: a bucket's first, later than the one before; leases
   * right before messages, and of their time.
   */
  private boolean fits(int i) {
    if (length(i) < SegmentBlock.HEAD || i > 0 && time(i) < time(i - 1)) {
      return false;
    }
    return switch (kind(i)) {
      case SegmentBlock.BUCKET -> i == 0 || time(i) > time(bucketOf(i - 1));
      case SegmentBlock.LEASES ->
          i > 0
              && kind(i - 1) != SegmentBlock.LEASES
              && i + 1 < size
              && kind(i + 1) == SegmentBlock.MESSAGES
              && time(i + 1) == time(i);
      case SegmentBlock.MESSAGES -> i > 0;
      default -> false;
    };
  }

  /**
   * @param body of the index block
   * @param end where the index block begins, and so all blocks end
   * @param path for error messages
   * @throws DamagedException if the blocks that it names do not fill the file between header and
   *     index
   */
  public static SegmentIndex decode(byte[] body, long end, Name path) throws DamagedException {
    if (body.length % ENTRY != 0) {
      throw new DamagedException(path, end, "index entries", body.length + " bytes");
    }
    var index = new SegmentIndex(ByteBuffer.wrap(body).order(ByteOrder.LITTLE_ENDIAN));
    long next = SegmentHeader.BYTES;
    for (int i = 0; i < index.size; i++) {
      if (!index.fits(i) || index.offset(i) != next) {
        throw new DamagedException(path, end, "an index of blocks in order", "entry " + i);
      }
      next += index.length(i);
    }
    if (next != end) {
      throw new DamagedException(path, end, "blocks up to the index", "up to " + next);
    }
    return index;
  }
}
