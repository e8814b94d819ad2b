package dev.cinch.lease.cell.net;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import dev.cinch.lease.cell.Ballot;
import dev.cinch.lease.cell.Bytes;
import dev.cinch.lease.cell.Message;
import dev.cinch.lease.cell.Message.Memory;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

final class MessageCodecTest {
  @Test
  void everyKindIsAmongTheSamples() {
    assertEquals(
        Message.class.getPermittedSubclasses().length,
        Samples.MESSAGES.stream().map(Object::getClass).distinct().count());
  }

  @Test
  void whatIsReadIsWhatWasWritten() {
    for (Message message : Samples.MESSAGES) {
      ByteBuffer in = ByteBuffer.wrap(Samples.encoded(message));
      assertEquals(message, MessageCodec.decode(in));
      assertFalse(in.hasRemaining());
    }
  }

  @Test
  void bytesAreAsDrawn() {
    var accept =
        new Message.Accept(Bytes.of("ab"), new Ballot(0x11, 0x22, 0x33), 0x44, 0x55, Bytes.of("v"));
    assertEquals(
        "03 02 6162 0000000000000011 00000022 00000033 0000000000000044 0000000000000055 0001 76"
            .replace(" ", ""),
        HexFormat.of().formatHex(Samples.encoded(accept)));
    var told =
        new Message.Told(
            Bytes.of("ab"),
            new Memory(Memory.State.RELEASED, new Ballot(1, 2, 3), Bytes.EMPTY, 0x66));
    assertEquals(
        "09 02 6162 02 0000000000000066 0000000000000001 00000002 00000003 0000".replace(" ", ""),
        HexFormat.of().formatHex(Samples.encoded(told)));
  }

  @Test
  void aMessageThatIsCutIsNone() {
    for (Message message : Samples.MESSAGES) {
      byte[] bytes = Samples.encoded(message);
      for (int length = 0; length < Math.min(bytes.length, 400); length++) {
        assertNull(MessageCodec.decode(ByteBuffer.wrap(bytes, 0, length)), message.toString());
      }
    }
  }

  /** With any bit flipped it is none, or the one whose only encoding that is. */
  @Test
  void thereIsOneEncoding() {
    int others = 0;
    for (Message message : Samples.MESSAGES) {
      byte[] bytes = Samples.encoded(message);
      for (int bit = 0; bit < 8 * Math.min(bytes.length, 400); bit++) {
        byte[] flipped = bytes.clone();
        flipped[bit / 8] ^= (byte) (1 << (bit % 8));
        ByteBuffer in = ByteBuffer.wrap(flipped);
        Message read = MessageCodec.decode(in);
        if (read != null) {
          assertArrayEquals(Arrays.copyOf(flipped, in.position()), Samples.encoded(read));
          others++;
        }
      }
    }
    assertEquals(true, others > 1_000, others + " were messages");
  }

  @Test
  void whatIsOutOfRangeIsNone() {
    String ballot = "0000000000000001 00000002 00000003 ";
    String[] wrong = {
      "01 00 " + ballot, // no name
      "00 01 61 " + ballot, // no kind
      "0c 01 61 " + ballot,
      "0a 01 61 0000 " + "00".repeat(8) + "0000", // no names
      "0b 01 61 " + "00".repeat(8) + "ffffffff 00 0000", // before the first
      "0b 01 61 " + "00".repeat(8) + "00000000 03 0000", // no such end
      "0b 01 61 " + "00".repeat(8) + "00000000 00 0002 61", // names that end early
      "01 01 61 4000000000000001 00000002 00000003", // counter above 2^62
      "01 01 61 ffffffffffffffff 00000002 00000003",
      "01 01 61 0000000000000000 00000002 00000003", // zero of somebody
      "03 01 61 " + ballot + "00".repeat(8) + "ff".repeat(8) + "0000", // negative term
      "07 01 61 " + ballot + "ff".repeat(8) + "0000", // negative nanos
      "09 01 61 04 " + "00".repeat(8), // no state
      "09 01 61 00 " + "00".repeat(8) + "00".repeat(16) + "0000", // live, of nobody
    };
    for (String bytes : wrong) {
      ByteBuffer in = ByteBuffer.wrap(HexFormat.of().parseHex(bytes.replace(" ", "")));
      assertNull(MessageCodec.decode(in), bytes);
    }
    String good = "01 01 61 4000000000000000 00000002 00000003".replace(" ", "");
    assertNotNull(MessageCodec.decode(ByteBuffer.wrap(HexFormat.of().parseHex(good))));
  }

  @Test
  void noMessageIsLargerThanSaid() {
    Bytes name = Bytes.of("n".repeat(MessageCodec.LONGEST_NAME));
    var memory = new Memory(Memory.State.LIVE, new Ballot(1, 1, 1), Bytes.of("v"), 1);
    var ballot = new Ballot(1, 1, 1);
    assertEquals(
        MessageCodec.LARGEST_WITHOUT_VALUE + 1,
        Samples.encoded(new Message.Reject(name, ballot, ballot, memory)).length);
    assertEquals(
        Samples.MESSAGES.size(),
        Samples.MESSAGES.stream()
            .filter(m -> Samples.encoded(m).length <= MessageCodec.LARGEST_WITHOUT_VALUE + 65_535)
            .collect(Collectors.counting()));
  }
}
