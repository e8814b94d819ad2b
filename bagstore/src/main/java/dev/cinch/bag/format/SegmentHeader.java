package dev.cinch.bag.format;

import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Numbered;
import dev.cinch.lease.Id;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.zip.CRC32;

/**
 * What a settled file begins with: whose it is, and what it covers (section 10). It is a segment of
 * some records, or the lock of one bucket.
 *
 * <pre>
 *   0  8  magic "CINCHSEG"
 *   8  2  format version, 3
 *  10  2  length of the header, 128
 *  12  4  CRC-32 of all other bytes of the header
 *  16 16  store id
 *  32 16  log id
 *  48  8  number of the segment, from 1; 0 in a lock, as the next two
 *  56  8  number of the first record covered
 *  64  8  number of the last record covered
 *  72  8  from: where the first record's range begins, nanoseconds; in a lock: the bucket
 *  80  8  to: where the last record's range ends, nanoseconds; in a lock: the bucket
 *  88 32  SHA-256 of the last record; zeros in a lock
 * 120  8  width of a bucket, nanoseconds
 * </pre>
 *
 * All numbers are little-endian; ids are 16 bytes as they are written in hexadecimal. There is no
 * time of writing and no name of a writer: whoever builds the segment of the same records gets the
 * same content, see {@link SegmentContent}.
 *
 * @param store the store's id
 * @param log the log's id
 * @param number of the segment
 * @param firstRecord first record covered; follows the last one of the segment before
 * @param lastRecord last record covered
 * @param from nanoseconds since the Unix epoch, inclusive; {@link Long#MIN_VALUE} in the first
 * @param to nanoseconds since the Unix epoch, exclusive
 * @param lastDigest SHA-256 of the last record in hexadecimal
 * @param width of every bucket, nanoseconds
 */
public record SegmentHeader(
    Id store,
    Id log,
    long number,
    long firstRecord,
    long lastRecord,
    long from,
    long to,
    String lastDigest,
    long width) {
  /** Bytes of a header. */
  public static final int BYTES = 128;

  private static final long MAGIC =
      ByteBuffer.wrap("CINCHSEG".getBytes(StandardCharsets.US_ASCII))
          .order(ByteOrder.LITTLE_ENDIAN)
          .getLong();
  private static final short VERSION = 3;
  private static final int CRC_AT = 12;
  private static final String NO_DIGEST = "0".repeat(64);

  /** What the lock of a bucket begins with. */
  public static SegmentHeader ofBucket(Id store, Id log, Bucket bucket) {
    return new SegmentHeader(
        store, log, 0, 0, 0, bucket.start(), bucket.end(), NO_DIGEST, bucket.width());
  }

  /** Whether it is of the lock of a bucket, and not of a segment. */
  public boolean isOfBucket() {
    return number == 0;
  }

  /** The header, ready to be written. */
  public ByteBuffer encode() {
    ByteBuffer out = ByteBuffer.allocate(BYTES).order(ByteOrder.LITTLE_ENDIAN);
    out.putLong(MAGIC).putShort(VERSION).putShort((short) BYTES).putInt(0);
    store.write(out);
    log.write(out);
    out.putLong(number).putLong(firstRecord).putLong(lastRecord).putLong(from).putLong(to);
    out.put(HexFormat.of().parseHex(lastDigest)).putLong(width);
    out.putInt(CRC_AT, checksum(out));
    return out.flip();
  }

  /** The checksum of an encoded header, which seeds that of every block. */
  public static int checksumOf(ByteBuffer header) {
    return header.getInt(CRC_AT);
  }

  /**
   * Reads the header at the start of {@code in} (little-endian, from index 0).
   *
   * @param path for error messages
   * @throws DamagedException if there is no valid one
   */
  public static SegmentHeader decode(ByteBuffer in, Name path) throws DamagedException {
    if (in.limit() < BYTES || in.getLong(0) != MAGIC) {
      throw new DamagedException(path, 0, "a segment's header", "something else");
    }
    if (in.getShort(8) != VERSION) {
      throw new DamagedException(
          path, 8, "format version " + VERSION, in.getShort(8) + "; a newer Cinch may read it");
    }
    if (in.getInt(CRC_AT) != checksum(in) || in.getShort(10) != BYTES) {
      throw new DamagedException(path, CRC_AT, "the header's checksum", "another");
    }
    ByteBuffer b = in.duplicate().order(ByteOrder.LITTLE_ENDIAN).position(16);
    Id store = Id.read(b);
    Id log = Id.read(b);
    var digest = new byte[32];
    b.get(88, digest);
    var header =
        new SegmentHeader(
            store,
            log,
            b.getLong(48),
            b.getLong(56),
            b.getLong(64),
            b.getLong(72),
            b.getLong(80),
            HexFormat.of().formatHex(digest),
            b.getLong(120));
    if (!header.isSound()) {
      throw new DamagedException(path, 48, "ranges that are not empty", header.toString());
    }
    return header;
  }

  private boolean isSound() {
    if (to <= from || width < 1) {
      return false;
    }
    return isOfBucket()
        ? firstRecord == 0
            && lastRecord == 0
            && lastDigest.equals(NO_DIGEST)
            && Math.floorMod(from, width) == 0
            && to == from + width
        : firstRecord >= 1 && lastRecord >= firstRecord && lastRecord <= Numbered.MAX;
  }

  private static int checksum(ByteBuffer header) {
    var crc = new CRC32();
    crc.update(header.duplicate().limit(CRC_AT).position(0));
    crc.update(header.duplicate().limit(BYTES).position(CRC_AT + 4));
    return (int) crc.getValue();
  }
}
