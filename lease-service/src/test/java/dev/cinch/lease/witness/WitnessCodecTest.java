package dev.cinch.lease.witness;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.Ending;
import dev.cinch.lease.Fence;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.TimeBound;
import dev.cinch.lease.Watermark;
import dev.cinch.lease.Witness;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Optional;
import java.util.Random;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

final class WitnessCodecTest {
  static Witness random(Random random) {
    boolean fence = random.nextBoolean();
    return new Witness(
        new LeaseName("n".repeat(1 + random.nextInt(255))),
        "é".repeat(random.nextInt(128)),
        1 + random.nextInt(5),
        1 + random.nextInt(5),
        random.nextBoolean(),
        logs(random),
        random.nextLong(),
        random.nextLong(),
        Id.random(random),
        random.nextBoolean() ? Optional.of(Id.random(random)) : Optional.empty(),
        Ending.ofCode(random.nextInt(4)),
        random.nextLong(),
        random.nextBoolean()
            ? Watermark.NONE
            : new Watermark(
                random.nextLong(),
                random.nextLong(),
                random.nextBoolean() ? random.nextLong() : Long.MIN_VALUE),
        fence ? new Fence(random.nextLong(), logs(random)) : Fence.NONE,
        random.nextBoolean(),
        bound(random));
  }

  private static TimeBound bound(Random random) {
    long a = random.nextLong();
    long b = random.nextLong();
    return new TimeBound(
        Math.min(a, b), Math.max(a, b), TimeBound.Kind.values()[random.nextInt(2)]);
  }

  private static LogSet logs(Random random) {
    if (random.nextInt(4) == 0) {
      return LogSet.ALL;
    }
    var ids = new TreeSet<Id>();
    for (int i = random.nextInt(5); i > 0; i--) {
      ids.add(Id.random(random));
    }
    return LogSet.of(ids);
  }

  static Witness example() {
    return example(1_767_225_610_000_000_000L);
  }

  static Witness example(long expiry) {
    return new Witness(
        new LeaseName("tenant/7"),
        "web-1",
        2,
        3,
        false,
        LogSet.of(java.util.List.of(new Id(0x0123456789abcdefL, 0x0011223344556677L))),
        expiry,
        1_767_225_600_000_000_000L,
        new Id(1, 2),
        Optional.of(new Id(3, 4)),
        Ending.BROKEN,
        1_767_225_599_000_000_000L,
        new Watermark(
            1_767_225_590_000_000_000L, 1_767_225_590_500_000_000L, 1_767_225_590_600_000_000L),
        new Fence(1_767_225_598_000_000_000L, LogSet.ALL),
        false,
        new TimeBound(
            1_767_225_599_990_000_000L, 1_767_225_600_020_000_000L, TimeBound.Kind.MEASURED));
  }

  @Test
  void theExampleHasTheseBytes() {
    assertEquals(
        "a7000000" // 167 bytes
            + "434c5703" // "CLW", version 3
            + "00" // full
            + "02" // broken
            + "01" // the one before is known
            + "02" // measured
            + "0200000000000000"
            + "0300000000000000"
            + le(1_767_225_610_000_000_000L)
            + le(1_767_225_600_000_000_000L)
            + "00000000000000010000000000000002"
            + "00000000000000030000000000000004"
            + le(1_767_225_599_000_000_000L)
            + le(1_767_225_590_000_000_000L)
            + le(1_767_225_590_500_000_000L)
            + le(1_767_225_598_000_000_000L)
            + le(1_767_225_599_990_000_000L)
            + le(1_767_225_600_020_000_000L)
            + le(1_767_225_590_600_000_000L)
            + "0100"
            + "0123456789abcdef0011223344556677"
            + "ffff"
            + "08"
            + "74656e616e742f37"
            + "05"
            + "7765622d31",
        HexFormat.of().formatHex(WitnessCodec.encode(example())));
  }

  @Test
  void aBoundThatIsNoneIsRefused() {
    for (int kind : new int[] {0, 3}) {
      byte[] bytes = WitnessCodec.encode(example());
      bytes[11] = (byte) kind;
      assertTrue(refused(bytes).contains("a bound of time of kind " + kind));
    }
    byte[] over = WitnessCodec.encode(example());
    over[115]++;
    assertTrue(refused(over).contains("a bound of time that ends before it begins"));
  }

  private static String le(long value) {
    return HexFormat.of().toHexDigits(Long.reverseBytes(value));
  }

  @Test
  void whatIsEncodedIsDecoded() throws WitnessException {
    var random = new Random(1);
    for (int i = 0; i < 1_000; i++) {
      Witness w = random(random);
      assertEquals(w, WitnessCodec.decode(WitnessCodec.encode(w)));
    }
  }

  @Test
  void whateverIsDecodedIsTheOneEncodingOfIt() {
    var random = new Random(2);
    int decoded = 0;
    for (int i = 0; i < 50_000; i++) {
      byte[] bytes = WitnessCodec.encode(i % 2 == 0 ? example() : random(random));
      for (int flips = 1 + random.nextInt(2); flips > 0; flips--) {
        bytes[random.nextInt(bytes.length)] ^= (byte) (1 << random.nextInt(8));
      }
      try {
        assertArrayEquals(bytes, WitnessCodec.encode(WitnessCodec.decode(bytes)));
        decoded++;
      } catch (WitnessException e) {
        assertEquals(WitnessException.Reason.MALFORMED, e.reason());
        assertEquals(1, String.valueOf(e.getMessage()).lines().count());
      }
    }
    assertTrue(decoded > 1_000 && decoded < 49_000, "" + decoded);
  }

  @Test
  void everyTruncationAndEveryExtensionIsRefused() {
    byte[] bytes = WitnessCodec.encode(example());
    for (int n = 0; n < bytes.length; n++) {
      refused(Arrays.copyOf(bytes, n));
    }
    refused(Arrays.copyOf(bytes, bytes.length + 1));
    byte[] longer = Arrays.copyOf(bytes, bytes.length + 1);
    longer[0]++;
    refused(longer);
  }

  @Test
  void codesThatMeanNothingAreRefused() {
    for (int offset : new int[] {8, 9, 10, 11}) {
      byte[] bytes = WitnessCodec.encode(example());
      bytes[offset] = 4;
      refused(bytes);
    }
    byte[] version = WitnessCodec.encode(example());
    for (int other : new int[] {0, 1, 2, 5}) {
      version[7] = (byte) other;
      assertTrue(refused(version).contains("version " + other + ", this software knows 3 and 4"));
    }
    byte[] many = WitnessCodec.encode(example());
    many[133] = (byte) 0xF0;
    refused(many);
    byte[] zero = WitnessCodec.encode(example());
    zero[12] = 0;
    refused(zero);
  }

  @Test
  void whatCanNotBeEncodedIsSaidSo() {
    assertThrows(IllegalArgumentException.class, () -> WitnessCodec.holderBytes("x".repeat(256)));
    assertThrows(IllegalArgumentException.class, () -> WitnessCodec.holderBytes("\udc00"));
    assertEquals(255, WitnessCodec.holderBytes("x".repeat(255)).length);
  }

  private static String refused(byte[] bytes) {
    return String.valueOf(
        assertThrows(WitnessException.class, () -> WitnessCodec.decode(bytes)).getMessage());
  }
}
