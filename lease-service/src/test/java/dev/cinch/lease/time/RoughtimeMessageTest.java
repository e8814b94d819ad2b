package dev.cinch.lease.time;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.cinch.lease.time.RoughtimeMessage.Invalid;
import java.util.HexFormat;
import org.junit.jupiter.api.Test;

/** The bytes of messages (section 4 of the draft), written out. */
class RoughtimeMessageTest {
  private static byte[] hex(String digits) {
    return HexFormat.of().parseHex(digits.replace(" ", ""));
  }

  @Test
  void tagsAscendAsNumbersAndOffsetsLeaveOutTheFirst() throws Invalid {
    byte[] bytes =
        hex(
            "03000000" // three tags
                + "04000000 0c000000" // where the second and the third value begin
                + "56455200 4e4f4e43 54595045" // VER, NONC, TYPE
                + "0c000080 1111111122222222 01000000");
    RoughtimeMessage message =
        new RoughtimeMessage()
            .putInt(RoughtimeMessage.TYPE, 1)
            .put(RoughtimeMessage.NONC, hex("1111111122222222"))
            .putInt(RoughtimeMessage.VER, 0x8000000c);
    assertArrayEquals(bytes, message.encode());
    RoughtimeMessage decoded = RoughtimeMessage.decode(bytes);
    assertEquals(1, decoded.getInt(RoughtimeMessage.TYPE));
    assertArrayEquals(new int[] {0x8000000c}, decoded.getVersions(RoughtimeMessage.VER));
    assertArrayEquals(hex("1111111122222222"), decoded.get(RoughtimeMessage.NONC));
    byte[] packet = message.packet();
    assertArrayEquals(hex("524f55474854494d" + "28000000"), java.util.Arrays.copyOf(packet, 12));
    assertArrayEquals(bytes, RoughtimeMessage.ofPacket(packet).encode());
  }

  @Test
  void valuesMayBeEmpty() throws Invalid {
    byte[] one = hex("01000000 50415448"); // PATH
    assertArrayEquals(one, new RoughtimeMessage().put(RoughtimeMessage.PATH, new byte[0]).encode());
    assertEquals(0, RoughtimeMessage.decode(one).get(RoughtimeMessage.PATH).length);
  }

  @Test
  void whatIsNoMessageIsRefusedInWords() {
    refused("a message of 0 bytes with 0 tags", "");
    refused("a message of 4 bytes with 0 tags", "00000000");
    refused("a message of 4 bytes with 4294967295 tags", "ffffffff");
    refused("a message of 8 bytes with 2 tags", "02000000 00000000");
    refused("tag VER is not above the one before", "02000000 00000000 56455200 56455200");
    refused("tag 0x00000001 is not above the one before", "02000000 00000000 56455200 01000000");
    refused("the value of VER is from 0 to 8 of 4", "02000000 08000000 56455200 4e4f4e43 00000000");
    refused(
        "the value of NONC is from 2 to 4 of 4", "02000000 02000000 56455200 4e4f4e43 00000000");
    refused(
        "the value of NONC is from 8 to 4 of 8",
        "03000000 08000000 04000000 56455200 4e4f4e43 54595045 0000000000000000");
    refused("the value of VER is from 0 to -4 of 0", "02000000 fcffffff 56455200 4e4f4e43");
  }

  private static void refused(String why, String digits) {
    var e = assertThrows(Invalid.class, () -> RoughtimeMessage.decode(hex(digits)));
    assertEquals(why, e.getMessage());
  }

  @Test
  void packetsHoldOneMessageAndNothingElse() {
    for (String digits :
        new String[] {
          "",
          "524f55474854494d",
          "524f55474854494e 08000000 01000000 50415448",
          "524f55474854494d 07000000 01000000 50415448",
          "524f55474854494d ffffffff 01000000 50415448",
        }) {
      assertThrows(Invalid.class, () -> RoughtimeMessage.ofPacket(hex(digits)), digits);
    }
  }
}
