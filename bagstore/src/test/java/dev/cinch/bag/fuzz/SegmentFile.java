package dev.cinch.bag.fuzz;

import dev.cinch.bag.format.SegmentBlock;
import dev.cinch.bag.format.SegmentBucket;
import dev.cinch.bag.format.SegmentEncoder;
import dev.cinch.bag.format.SegmentHeader;
import dev.cinch.bag.format.SegmentTrailer;
import dev.cinch.bag.model.DataFileName;
import dev.cinch.bag.model.MachineName;
import dev.cinch.bag.store.LogContext;
import dev.cinch.lease.Id;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.zip.CRC32;

/** A small segment, and others with the same header and right checksums. */
public final class SegmentFile {
  /** Start of the first bucket. */
  public static final long START = 1_767_225_600_000_000_000L;

  private static final int INDEX_ENTRY = 28;
  private static final int[] KINDS = {
    SegmentBlock.BUCKET, SegmentBlock.LEASES, SegmentBlock.MESSAGES, SegmentBlock.INDEX
  };

  private SegmentFile() {}

  private static SegmentHeader header(LogContext log) {
    return new SegmentHeader(
        log.store().identity().id(),
        log.id(),
        1,
        1,
        2,
        Long.MIN_VALUE,
        START + 10 * log.bucketWidth(),
        "00".repeat(32),
        log.bucketWidth());
  }

  /** Two buckets with three messages each, under a lease and without, and an empty one. */
  public static byte[] sample(LogContext log) throws IOException {
    var bytes = new ByteArrayOutputStream();
    var out =
        new SegmentEncoder(
            header(log),
            b -> {
              while (b.hasRemaining()) {
                bytes.write(b.get());
              }
            });
    for (int i = 0; i < 3; i++) {
      long start = START + i * log.bucketWidth();
      int messages = i < 2 ? 3 : 0;
      var file = new DataFileName(new MachineName("m1"), new Id(0, i));
      out.bucket(
          new SegmentBucket(
              start,
              5,
              0,
              List.of(new SegmentBucket.DataFile(file, messages == 0 ? 0 : 500, messages)),
              List.of()));
      for (int m = 0; m < messages; m++) {
        byte[] text = ("message " + i + m).getBytes(StandardCharsets.UTF_8);
        int set = m == 1 ? out.leaseSet(List.of(new byte[] {1, 2, 3})) : 0;
        out.message(0, m, set, start + m, text, 0, text.length);
      }
    }
    out.end();
    return bytes.toByteArray();
  }

  /**
   * A segment whose every checksum is right and whose blocks are anything.
   *
   * @param blocks each its kind (1 byte), by how much its time is above the last one's (1), its
   *     length (2), its body
   */
  public static byte[] forged(LogContext log, byte[] blocks) {
    ByteBuffer in = ByteBuffer.wrap(blocks).order(ByteOrder.LITTLE_ENDIAN);
    ByteBuffer out = ByteBuffer.allocate(1_024 + 16 * blocks.length).order(ByteOrder.LITTLE_ENDIAN);
    ByteBuffer header = header(log).encode();
    int seed = SegmentHeader.checksumOf(header);
    out.put(header);
    ByteBuffer index =
        ByteBuffer.allocate(INDEX_ENTRY * (blocks.length / 4 + 1)).order(ByteOrder.LITTLE_ENDIAN);
    long time = START;
    int buckets = 0;
    while (in.remaining() >= 4) {
      int kind = KINDS[in.get() & 3];
      time += in.get() & 0xff;
      int length = Math.min(in.getShort() & 0xffff, in.remaining());
      index.putInt(kind).putInt(SegmentBlock.HEAD + length).putLong(out.position()).putLong(time);
      index.putInt(block(out, seed, kind, in.slice().limit(length)));
      in.position(in.position() + length);
      buckets += kind == SegmentBlock.BUCKET ? 1 : 0;
    }
    int at = out.position();
    int unused = block(out, seed, SegmentBlock.INDEX, index.flip());
    int end = out.position();
    out.put("CINCHEND".getBytes(StandardCharsets.US_ASCII));
    out.putLong(at).putLong(end - at).putLong(1).putLong(buckets);
    var crc = new CRC32();
    crc.update(ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN).putInt(0, seed));
    crc.update(out.array(), end, SegmentTrailer.BYTES - 4);
    out.putInt((int) crc.getValue());
    return java.util.Arrays.copyOf(out.array(), out.position());
  }

  /** Puts a block, and gives its checksum. Two bytes before a body that is packed say so. */
  private static int block(ByteBuffer out, int seed, int kind, ByteBuffer body) {
    int at = out.position();
    boolean packed =
        kind != SegmentBlock.INDEX && body.remaining() > 2 && body.get(body.position()) == 'z';
    int unpacked = packed ? body.getShort(body.position() + 1) & 0xffff : body.remaining();
    ByteBuffer stands = packed ? body.slice(body.position() + 3, body.remaining() - 3) : body;
    int length = SegmentBlock.HEAD + stands.remaining();
    out.putInt(kind).putInt(stands.remaining());
    out.putInt(packed ? 1 << 28 | unpacked : unpacked).putInt(0).put(stands);
    int checksum = SegmentBlock.checksum(seed, at, out.array(), at, length);
    out.putInt(at + 12, checksum);
    return checksum;
  }
}
