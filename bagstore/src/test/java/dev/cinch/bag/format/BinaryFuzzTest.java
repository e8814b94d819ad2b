package dev.cinch.bag.format;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.cinch.bag.model.Name;
import dev.cinch.fuzz.Hostile;
import dev.cinch.lease.Id;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.zip.CRC32;
import org.jspecify.annotations.Nullable;

/**
 * The parts of data files and segments from anywhere: what is taken has these bytes and no others.
 * The first byte says which part, and whether its checksum is put right first.
 */
final class BinaryFuzzTest {
  private static final Name FILE = new Name("file");
  private static final int SEED = 9;
  private static final int CRC_AT = 12;

  @FuzzTest
  void dataFile(byte[] data) {
    if (data.length == 0) {
      return;
    }
    ByteBuffer in = rest(data);
    boolean right = (data[0] & 1) != 0;
    var codec = new FrameCodec(new Id(5, 6));
    switch (data[0] >> 1 & 3) {
      case 0 -> {
        if (right && in.limit() > CRC_AT + 4) {
          int length = Math.max(CRC_AT + 4, Math.min(in.limit(), in.getShort(10)));
          in.putInt(CRC_AT, crc(in.array(), length));
        }
        Hostile.parse(data.length, () -> FileHeader.decode(in))
            .orElseThrow()
            .ifPresent(header -> same(header.encode(), in, header.length()));
      }
      case 1 -> {
        if (right && in.limit() >= Frame.HEAD) {
          ByteBuffer out = buffer(Frame.HEAD);
          codec.putHead(out, new FrameHead(in.getInt(4), in.getInt(8), in.getInt(12)), 88);
          in.putInt(16, out.getInt(16));
        }
        @Nullable FrameHead head = codec.head(in, 0, 88);
        if (head != null) {
          ByteBuffer out = buffer(Frame.HEAD);
          codec.putHead(out, head, 88);
          same(out, in, Frame.HEAD);
        }
      }
      default -> {
        if (right && in.limit() >= Frame.TRAILER) {
          var crc = new CRC32();
          ByteBuffer seed = ByteBuffer.allocate(Id.BYTES + 8).order(ByteOrder.LITTLE_ENDIAN);
          new Id(5, 6).write(seed);
          crc.update(seed.putLong(200).array());
          crc.update(in.array(), 8, Frame.TRAILER - 8);
          in.putInt(4, (int) crc.getValue());
        }
        @Nullable Trailer trailer = codec.trailer(in, 0, 200);
        if (trailer != null) {
          ByteBuffer out = buffer(Frame.TRAILER);
          codec.putTrailer(out, trailer, 200);
          same(out, in, Frame.TRAILER);
        }
      }
    }
  }

  @FuzzTest
  void segment(byte[] data) {
    if (data.length == 0) {
      return;
    }
    ByteBuffer in = rest(data);
    int n = data.length;
    boolean right = (data[0] & 1) != 0;
    switch (data[0] >> 1 & 3) {
      case 0 -> {
        if (right && n > SegmentHeader.BYTES) {
          in.putInt(CRC_AT, crc(in.array(), SegmentHeader.BYTES));
        }
        Hostile.parse(n, () -> SegmentHeader.decode(in, FILE), DamagedException.class)
            .ifPresent(header -> same(header.encode(), in, SegmentHeader.BYTES));
      }
      case 1 -> {
        if (right && n > SegmentTrailer.BYTES) {
          var crc = new CRC32();
          crc.update(buffer(4).putInt(SEED).array());
          crc.update(in.array(), 0, SegmentTrailer.BYTES - 4);
          in.putInt(SegmentTrailer.BYTES - 4, (int) crc.getValue());
        }
        long offset = in.limit() < 24 ? 0 : in.getLong(8) + in.getLong(16);
        Hostile.parse(
                n, () -> SegmentTrailer.decode(in, SEED, offset, FILE), DamagedException.class)
            .ifPresent(trailer -> same(trailer.encode(SEED), in, SegmentTrailer.BYTES));
      }
      case 2 -> {
        long end = in.limit() < 24 ? 0 : in.getInt(in.limit() - 20) + in.getLong(in.limit() - 16);
        Hostile.parse(n, () -> SegmentIndex.decode(in.array(), end, FILE), DamagedException.class)
            .ifPresent(
                index -> {
                  for (int i = 0; i < index.size(); i++) {
                    assertEquals(SegmentBlock.BUCKET, index.kind(index.bucketOf(i)));
                  }
                });
      }
      default ->
          Hostile.parse(
                  n,
                  () -> SegmentBucket.decode(in.duplicate().order(in.order()), FILE, 0),
                  DamagedException.class)
              .ifPresent(
                  bucket -> {
                    ByteBuffer out = buffer(bucket.bodyLength());
                    bucket.encode(out);
                    same(out, in, in.limit());
                  });
    }
  }

  private static ByteBuffer rest(byte[] data) {
    return ByteBuffer.wrap(Arrays.copyOfRange(data, 1, data.length)).order(ByteOrder.LITTLE_ENDIAN);
  }

  private static ByteBuffer buffer(int length) {
    return ByteBuffer.allocate(length).order(ByteOrder.LITTLE_ENDIAN);
  }

  /** Of a header's bytes but those of the checksum. */
  private static int crc(byte[] bytes, int length) {
    var crc = new CRC32();
    crc.update(bytes, 0, CRC_AT);
    crc.update(bytes, CRC_AT + 4, length - CRC_AT - 4);
    return (int) crc.getValue();
  }

  private static void same(ByteBuffer encoded, ByteBuffer in, int length) {
    assertEquals(ByteBuffer.wrap(in.array(), 0, length), ByteBuffer.wrap(encoded.array()));
  }
}
