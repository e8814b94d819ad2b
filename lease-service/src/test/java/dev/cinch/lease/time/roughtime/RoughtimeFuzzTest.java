package dev.cinch.lease.time.roughtime;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.cinch.fuzz.Edits;
import dev.cinch.fuzz.Hostile;
import dev.cinch.lease.TimeBound;
import dev.cinch.lease.time.ManualTime;
import dev.cinch.lease.witness.SigningKey;
import java.util.List;

/** Datagrams and reports from anywhere. */
final class RoughtimeFuzzTest {
  private static final SigningKey KEY = SigningKey.ofSeed(new byte[32]);
  private static final RoughtimeRequest REQUEST =
      RoughtimeRequest.of(KEY.publicKey(), new byte[32]);
  private static final TimeBound NOW =
      TimeBound.around(ManualTime.START, 0, TimeBound.Kind.ASSUMED);
  private static final byte[] RESPONSE = new Responder(KEY).answer(List.of(REQUEST), NOW).get(0);
  private static final long SAID = ManualTime.START / 1_000_000_000L;

  /** There is one encoding of a message. */
  @FuzzTest
  void message(byte[] data) {
    Hostile.parse(data.length, () -> Message.decode(data), RoughtimeException.class)
        .ifPresent(message -> assertArrayEquals(data, message.encode()));
  }

  /** Whatever is answered can be answered, and the answer is good. */
  @FuzzTest
  void request(byte[] data) throws RoughtimeException {
    byte[] altered = new Edits(data).of(REQUEST.packet());
    var request =
        Hostile.parse(
            altered.length,
            () -> RoughtimeRequest.read(altered, KEY.publicKey()),
            RoughtimeException.class);
    if (request.isPresent()) {
      byte[] response = new Responder(KEY).answer(List.of(request.get()), NOW).get(0);
      RoughtimeReply.verify(response, request.get(), KEY.publicKey());
    }
  }

  /** Of all bytes that the fuzzer can find, those that are believed say what was signed. */
  @FuzzTest
  void response(byte[] data) {
    byte[] altered = new Edits(data).of(RESPONSE);
    Hostile.parse(
            altered.length,
            () -> RoughtimeReply.verify(altered, REQUEST, KEY.publicKey()),
            RoughtimeException.class)
        .ifPresent(reply -> assertEquals(SAID, reply.midpointSeconds()));
  }

  @FuzzTest
  void report(byte[] data) {
    Hostile.parse(data.length, () -> MalfeasanceReport.read(data), RoughtimeException.class);
  }
}
