package dev.cinch.lease.time;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.cinch.fuzz.Edits;
import dev.cinch.fuzz.Hostile;
import dev.cinch.lease.TimeBound;
import dev.cinch.lease.time.RoughtimeMessage.Invalid;
import dev.cinch.lease.witness.SigningKey;
import java.util.List;

/** Datagrams from anywhere. */
final class RoughtimeFuzzTest {
  private static final SigningKey KEY = SigningKey.ofSeed(new byte[32]);
  private static final RoughtimeRequest REQUEST =
      new RoughtimeRequest(KEY.publicKey(), new byte[32]);
  private static final TimeBound NOW =
      TimeBound.around(ManualTime.START, 0, TimeBound.Kind.ASSUMED);
  private static final byte[] RESPONSE = response();

  private static byte[] response() {
    try {
      return RoughtimeServer.answer(KEY, List.of(REQUEST.packet()), NOW).get(0);
    } catch (Invalid e) {
      throw new IllegalStateException(e);
    }
  }

  /** There is one encoding of a message. */
  @FuzzTest
  void message(byte[] data) {
    Hostile.parse(data.length, () -> RoughtimeMessage.decode(data), Invalid.class)
        .ifPresent(message -> assertArrayEquals(data, message.encode()));
  }

  /** Of all bytes that the fuzzer can find, those that are believed say what was signed. */
  @FuzzTest
  void response(byte[] data) {
    byte[] altered = new Edits(data).of(RESPONSE);
    Hostile.parse(altered.length, () -> REQUEST.verify(altered), Invalid.class)
        .ifPresent(bound -> assertEquals(NOW.midpoint(), bound.midpoint()));
  }
}
