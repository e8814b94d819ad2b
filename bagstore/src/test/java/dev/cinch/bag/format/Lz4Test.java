package dev.cinch.bag.format;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** What is packed is unpacked as it was, and what is not packed does no harm. */
class Lz4Test {
  private static final Random RANDOM = new Random(7);
  private final Lz4 packer = new Lz4();

  /** Bytes of which each repeats an earlier piece with some probability. */
  private static byte[] bytes(int length, int percent) {
    var bytes = new byte[length];
    for (int at = 0; at < length; ) {
      int n = Math.min(1 + RANDOM.nextInt(40), length - at);
      if (at > 0 && RANDOM.nextInt(100) < percent) {
        int back = 1 + RANDOM.nextInt(at);
        for (int i = 0; i < n; i++) {
          bytes[at + i] = bytes[at + i - back];
        }
      } else {
        for (int i = 0; i < n; i++) {
          bytes[at + i] = (byte) RANDOM.nextInt();
        }
      }
      at += n;
    }
    return bytes;
  }

  private byte[] pack(byte[] in) {
    var out = new byte[in.length + in.length / 255 + 16];
    int end = packer.pack(in, 0, in.length, out, 0, out.length);
    assertTrue(end > 0);
    return Arrays.copyOf(out, end);
  }

  private static byte[] unpack(byte[] packed, int length) {
    var out = new byte[length];
    assertTrue(Lz4.unpack(packed, 0, packed.length, out));
    return out;
  }

  @Test
  void whatIsPackedIsUnpackedAsItWas() {
    for (int i = 0; i < 4_000; i++) {
      int length = i < 400 ? i : RANDOM.nextInt(i % 40 == 0 ? 300_000 : 2_000);
      byte[] in = bytes(length, RANDOM.nextInt(101));
      assertArrayEquals(in, unpack(pack(in), length), "" + i);
    }
    byte[] same = new byte[1 << 20];
    byte[] packed = pack(same);
    assertTrue(packed.length < 4_200, "" + packed.length);
    assertTrue(Lz4.isPossible(packed.length, same.length));
    assertArrayEquals(same, unpack(packed, same.length));
  }

  @Test
  void whatIsInTheMiddleOfOthersIsPackedAlone() {
    byte[] in = bytes(3_000, 80);
    byte[] alone = pack(Arrays.copyOfRange(in, 100, 2_900));
    var out = new byte[4_000];
    int end = packer.pack(in, 100, 2_900, out, 50, out.length);
    assertArrayEquals(alone, Arrays.copyOfRange(out, 50, end));
  }

  @Test
  void whereThereIsNoRoomItSaysSoAndWritesNothingBehind() {
    for (int i = 0; i < 300; i++) {
      byte[] in = bytes(1 + RANDOM.nextInt(500), i % 101);
      int whole = pack(in).length;
      for (int limit = 0; limit < whole + 8; limit++) {
        var out = new byte[whole + 16];
        Arrays.fill(out, limit, out.length, (byte) 77);
        int end = packer.pack(in, 0, in.length, out, 0, limit);
        assertTrue(end <= limit, "within its room");
        for (int b = limit; b < out.length; b++) {
          assertEquals(77, out[b]);
        }
        if (end >= 0) {
          assertArrayEquals(in, unpack(Arrays.copyOf(out, end), in.length));
        }
      }
    }
  }

  /** As the command {@code lz4} made it, without its frame. */
  @Test
  void aBlockOfAnotherPackerIsUnpacked() {
    byte[] packed = HexFormat.of().parseHex(OTHER);
    byte[] text = TEXT.getBytes(StandardCharsets.UTF_8);
    assertArrayEquals(text, unpack(packed, text.length));
  }

  @Test
  void whatIsNoBlockIsRefused() {
    for (int i = 0; i < 300; i++) {
      byte[] in = bytes(1 + RANDOM.nextInt(300), i % 101);
      byte[] packed = pack(in);
      for (int wrong : new int[] {0, in.length - 1, in.length + 1}) {
        assertFalse(Lz4.unpack(packed, 0, packed.length, new byte[wrong]));
      }
      for (int cut = 0; cut < packed.length; cut++) {
        assertFalse(Lz4.unpack(packed, 0, cut, new byte[in.length]), "cut at " + cut);
      }
      for (int flip = 0; flip < 30; flip++) { // no other exception, and no end within the bytes
        byte[] bad = packed.clone();
        bad[RANDOM.nextInt(bad.length)] ^= (byte) (1 << RANDOM.nextInt(8));
        boolean unused = Lz4.unpack(bad, 0, bad.length, new byte[in.length]);
      }
    }
    assertFalse(Lz4.unpack(new byte[0], 0, 0, new byte[0]));
  }

  private static final String OTHER =
      "f5267b2273657276696365223a226f7264657273222c226c6576656c223a22696e666f222c226e75"
          + "6d626572223a302c226d65737361672d00ef2030207761732070616964227d0a4c00191e314c002f"
          + "31374d00251e324d002f33344d00251e334d002f35314d00251e344d002f36384d00251e354d002f"
          + "38354d00251f368101002f30324e00251f374e00002f31394e00251f384e00002f33364e00251f39"
          + "4e00002f3533b902261f30ba02010f0803270f09030114380a03506964227d0a";

  private static final String TEXT =
      java.util.stream.IntStream.range(0, 12)
          .mapToObj(
              i ->
                  "{\"service\":\"orders\",\"level\":\"info\",\"number\":%d,\"message\":\"order %d was paid\"}\n"
                      .formatted(i, 17 * i))
          .collect(java.util.stream.Collectors.joining());
}
