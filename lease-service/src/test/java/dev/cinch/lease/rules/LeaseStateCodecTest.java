package dev.cinch.lease.rules;

import static dev.cinch.lease.rules.States.NOW;
import static dev.cinch.lease.rules.States.at;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.Ending;
import dev.cinch.lease.Fence;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Share;
import dev.cinch.lease.rules.LeaseStateCodec.MalformedLeaseStateException;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A state has one encoding, and nothing else is read as one. */
final class LeaseStateCodecTest {
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4})
  void whatIsEncodedIsDecoded(long seed) throws Exception {
    var random = new Random(seed);
    for (int i = 0; i < 5_000; i++) {
      LeaseState state = States.any(random);
      byte[] bytes = LeaseStateCodec.encode(state);
      LeaseState back = LeaseStateCodec.decode(bytes);
      assertEquals(States.elsewhere(state), back);
      assertArrayEquals(bytes, LeaseStateCodec.encode(back));
    }
  }

  @ParameterizedTest
  @Tag("share")
  @ValueSource(longs = {5, 6})
  void everyTruncationIsRefused(long seed) {
    var random = new Random(seed);
    for (int i = 0; i < 100; i++) {
      byte[] bytes = LeaseStateCodec.encode(States.any(random));
      // What is last has no length of its own: a shorter holder is another state.
      int holder = holderBytes(bytes);
      for (int length = Share.first(7); length < bytes.length; length += Share.step(7)) {
        byte[] some = Arrays.copyOf(bytes, length);
        if (length < bytes.length - holder) {
          refused(some);
        } else {
          refusedOrTheOneEncoding(some);
        }
      }
    }
  }

  @ParameterizedTest
  @Tag("share")
  @ValueSource(longs = {7, 8})
  void aFlippedBitIsRefusedOrSaysSomethingElse(long seed) throws Exception {
    var random = new Random(seed);
    for (int i = 0; i < 30; i++) {
      byte[] bytes = LeaseStateCodec.encode(States.any(random));
      for (int bit = Share.first(7); bit < 8 * bytes.length; bit += Share.step(7)) {
        byte[] other = bytes.clone();
        other[bit / 8] ^= (byte) (1 << bit % 8);
        refusedOrTheOneEncoding(other);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {9, 10})
  void anyBytesAtAllAreRefusedOrTheOneEncoding(long seed) {
    var random = new Random(seed);
    for (int i = 0; i < 5_000; i++) {
      byte[] bytes = LeaseStateCodec.encode(States.any(random));
      for (int n = 1 + random.nextInt(4); n > 0; n--) {
        // The top of a length or a count, mostly.
        bytes[random.nextInt(bytes.length)] = (byte) (random.nextBoolean() ? -1 : random.nextInt());
      }
      refusedOrTheOneEncoding(bytes);
    }
  }

  /** Bytes that are kept somewhere are read by later versions too. */
  @Test
  void theBytesStayWhatTheyAre() throws Exception {
    byte[] bytes = LeaseStateCodec.encode(held("a/b", "host-1", LogSet.of(List.of(new Id(8, 9)))));
    assertEquals(
        "03" // version
            + "00000000000000010000000000000002" // id
            + "18e9f9ce089fcf00" // expiry
            + "0032" // full, the lease before unknown
            + "03612f62" // name
            + "000000000000004d" // correlation
            + "ff8fdfc04a" // granted
            + "14" // ten seconds
            + "01" // generation
            + "020100000000000000080000000000000009" // logs
            + "686f73742d31", // holder
        HexFormat.of().formatHex(bytes));
    assertEquals(
        States.elsewhere(held("a/b", "host-1", LogSet.of(List.of(new Id(8, 9))))),
        LeaseStateCodec.decode(bytes));
  }

  @Test
  void otherVersionsAreRefused() {
    byte[] bytes = LeaseStateCodec.encode(held("a", "h", LogSet.ALL));
    for (int version = 0; version < 256; version++) {
      if (version != 3) {
        bytes[0] = (byte) version;
        assertTrue(refused(bytes).contains("version " + version), refused(bytes));
      }
    }
    assertTrue(refused(new byte[0]).contains("no bytes"));
  }

  @Test
  void whatNoWitnessCanSayIsNotEncoded() {
    unencodable(States.unknown("a"));
    unencodable(held("a", "ä".repeat(128), LogSet.ALL));
    unencodable(held("a", "half \uD800", LogSet.ALL));
    unencodable(
        held(
            "a",
            "h",
            LogSet.of(IntStream.rangeClosed(0, 1_000).mapToObj(i -> new Id(0, i)).toList())));
  }

  private static LeaseState held(String name, String holder, LogSet logs) {
    var request =
        new Operation.Acquire(
            new Id(1, 2), List.of(new LeaseName("any")), holder, 10_000, logs, false);
    return States.grant(
        States.unknown(name),
        request,
        Inheritance.origin(Ending.UNKNOWN, Fence.NONE),
        at(NOW),
        NOW + 10_000_000_000L,
        new Id(NOW, 77));
  }

  private static int holderBytes(byte[] bytes) {
    try {
      return LeaseStateCodec.decode(bytes)
          .holder()
          .getBytes(java.nio.charset.StandardCharsets.UTF_8)
          .length;
    } catch (MalformedLeaseStateException e) {
      throw new AssertionError(e);
    }
  }

  private static void unencodable(LeaseState state) {
    assertThrows(IllegalArgumentException.class, () -> LeaseStateCodec.encode(state));
  }

  private static String refused(byte[] bytes) {
    String message =
        String.valueOf(
            assertThrows(
                    MalformedLeaseStateException.class,
                    () -> LeaseStateCodec.decode(bytes),
                    () -> HexFormat.of().formatHex(bytes))
                .getMessage());
    assertEquals(1, message.lines().count(), message);
    return message;
  }

  private static void refusedOrTheOneEncoding(byte[] bytes) {
    LeaseState state;
    try {
      state = LeaseStateCodec.decode(bytes);
    } catch (MalformedLeaseStateException e) {
      return;
    }
    assertArrayEquals(bytes, LeaseStateCodec.encode(state));
  }
}
