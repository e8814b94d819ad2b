package dev.cinch.bag.format;

import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.DataFileName;
import dev.cinch.bag.model.MachineName;
import dev.cinch.lease.Id;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.zip.CRC32;

/**
 * What a data file begins with (rule A4): whose it is and where it belongs, so that a file copied
 * elsewhere is not taken for data.
 *
 * <pre>
 *  0  8  magic "CINCHBAG"
 *  8  2  format version, 1
 * 10  2  length of the header, a multiple of 8
 * 12  4  CRC-32 of all other bytes of the header
 * 16 16  store id
 * 32 16  log id
 * 48 16  incarnation
 * 64  8  start of the bucket, nanoseconds
 * 72  8  width of the bucket, nanoseconds
 * 80  1  length of the machine name
 * 81  n  machine name, ASCII; then zeros up to the length
 * </pre>
 *
 * All numbers are little-endian; ids are 16 bytes as they are written in hexadecimal.
 */
public record FileHeader(Id store, Id log, Bucket bucket, DataFileName name) {
  /** The longest header there can be. */
  public static final int MAX_BYTES = 144;

  private static final long MAGIC =
      ByteBuffer.wrap("CINCHBAG".getBytes(StandardCharsets.US_ASCII))
          .order(ByteOrder.LITTLE_ENDIAN)
          .getLong();
  private static final short VERSION = 1;
  private static final int CRC_AT = 12;
  private static final int NAME_AT = 81;

  /** Bytes that {@link #encode} gives. */
  public int length() {
    return length(name);
  }

  /** The length of the header of a file of that name, bytes. */
  public static int length(DataFileName name) {
    return (NAME_AT + name.machine().value().length() + 7) & ~7;
  }

  /** The header, ready to be written. */
  public ByteBuffer encode() {
    ByteBuffer out = ByteBuffer.allocate(length()).order(ByteOrder.LITTLE_ENDIAN);
    out.putLong(MAGIC).putShort(VERSION).putShort((short) length()).putInt(0);
    store.write(out);
    log.write(out);
    name.incarnation().write(out);
    out.putLong(bucket.start()).putLong(bucket.width());
    byte[] machine = name.machine().value().getBytes(StandardCharsets.US_ASCII);
    out.put((byte) machine.length).put(machine);
    out.putInt(CRC_AT, checksum(out));
    return out.clear();
  }

  /**
   * The checksum of an encoded header, which is also the digest that its first frame goes on from.
   */
  public static int digest(ByteBuffer header) {
    return header.getInt(CRC_AT);
  }

  /**
   * Reads a header at the start of {@code bytes} (from index 0 to the limit, little-endian); empty
   * if there is no valid one.
   */
  public static Optional<FileHeader> decode(ByteBuffer bytes) {
    ByteBuffer in = bytes.duplicate().order(ByteOrder.LITTLE_ENDIAN).rewind();
    if (in.remaining() < NAME_AT || in.getLong(0) != MAGIC || in.getShort(8) != VERSION) {
      return Optional.empty();
    }
    int length = in.getShort(10);
    if (length < NAME_AT || length > MAX_BYTES || length > in.limit()) {
      return Optional.empty();
    }
    in.limit(length);
    if (checksum(in) != in.getInt(CRC_AT)) {
      return Optional.empty();
    }
    in.position(16);
    Id store = Id.read(in);
    Id log = Id.read(in);
    Id incarnation = Id.read(in);
    long start = in.getLong();
    long width = in.getLong();
    var machine = new byte[Math.min(in.get() & 0xff, in.remaining())];
    in.get(machine);
    try {
      var name = new MachineName(new String(machine, StandardCharsets.US_ASCII));
      var header =
          new FileHeader(store, log, new Bucket(start, width), new DataFileName(name, incarnation));
      return header.encode().equals(in.rewind()) ? Optional.of(header) : Optional.empty();
    } catch (IllegalArgumentException e) {
      return Optional.empty();
    }
  }

  private static int checksum(ByteBuffer header) {
    int end = header.getShort(10);
    var crc = new CRC32();
    crc.update(header.duplicate().limit(CRC_AT).position(0));
    crc.update(header.duplicate().limit(end).position(CRC_AT + 4));
    return (int) crc.getValue();
  }
}
