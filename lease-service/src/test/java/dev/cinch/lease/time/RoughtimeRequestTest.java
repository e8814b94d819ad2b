package dev.cinch.lease.time;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.TimeBound;
import dev.cinch.lease.TimeBound.Kind;
import dev.cinch.lease.time.RoughtimeMessage.Invalid;
import dev.cinch.lease.witness.PublicKey;
import dev.cinch.lease.witness.SigningKey;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Requests, responses, and what a client has to check (sections 5.1 to 5.4 of the draft). */
class RoughtimeRequestTest {
  private static final long SECOND = 1_000_000_000L;
  private static final SigningKey KEY = SigningKey.ofSeed(new byte[32]);
  private static final PublicKey PUBLIC = KEY.publicKey();
  private static final TimeBound NOW =
      TimeBound.around(ManualTime.START + SECOND / 2, SECOND, Kind.MEASURED);

  private static RoughtimeRequest request(int number) {
    return request(number, PUBLIC);
  }

  private static RoughtimeRequest request(int number, PublicKey server) {
    var nonce = new byte[32];
    nonce[0] = (byte) number;
    return new RoughtimeRequest(server, nonce);
  }

  private static byte[] answer(RoughtimeRequest request) throws Invalid {
    return RoughtimeServer.answer(KEY, List.of(request.packet()), NOW).get(0);
  }

  private static void refused(String why, byte[] response, RoughtimeRequest to) {
    var e = assertThrows(Invalid.class, () -> to.verify(response).midpoint(), why);
    assertEquals(why, e.getMessage());
  }

  @Test
  void aRequestHasThe1024BytesThatTheDraftAsksFor() throws Exception {
    byte[] packet = request(1).packet();
    assertEquals(12 + 1_024, packet.length);
    assertEquals("ROUGHTIM", new String(packet, 0, 8, StandardCharsets.US_ASCII));
    RoughtimeMessage message = RoughtimeMessage.ofPacket(packet);
    assertArrayEquals(new int[] {1, 0x8000000c}, message.getVersions(RoughtimeMessage.VER));
    assertEquals(0, message.getInt(RoughtimeMessage.TYPE));
    MessageDigest sha512 = MessageDigest.getInstance("SHA-512");
    sha512.update((byte) 0xff);
    byte[] server = Arrays.copyOf(sha512.digest(PUBLIC.bytes()), 32);
    assertArrayEquals(server, message.get(RoughtimeMessage.SRV));
  }

  @Test
  void aResponseSaysTheTimeAndHowFarItMayBeOff() throws Invalid {
    RoughtimeRequest request = request(1);
    assertEquals(
        TimeBound.around(ManualTime.START, 3 * SECOND, Kind.MEASURED),
        request.verify(answer(request)));
  }

  @Test
  void oneSignatureAnswersManyRequests() throws Invalid {
    for (int count : new int[] {1, 2, 3, 4, 5, 7, 8, 33, 64}) {
      var sent = new ArrayList<RoughtimeRequest>();
      for (int i = 0; i < count; i++) {
        sent.add(request(i));
      }
      List<byte[]> packets = sent.stream().map(RoughtimeRequest::packet).toList();
      List<byte[]> responses = RoughtimeServer.answer(KEY, packets, NOW);
      for (int i = 0; i < count; i++) {
        byte[] response = responses.get(i);
        assertTrue(sent.get(i).verify(response).contains(NOW.midpoint()), "" + count);
        if (count > 1) {
          RoughtimeRequest other = sent.get((i + 1) % count);
          assertThrows(Invalid.class, () -> other.verify(response).midpoint());
        }
      }
    }
  }

  @Test
  void everyAlteredByteIsRefused() throws Invalid {
    RoughtimeRequest request = request(1);
    List<byte[]> both = List.of(request.packet(), request(2).packet());
    byte[] response = RoughtimeServer.answer(KEY, both, NOW).get(0);
    for (int i = 0; i < response.length; i++) {
      byte[] altered = response.clone();
      altered[i] ^= 0x40;
      assertThrows(Invalid.class, () -> request.verify(altered).midpoint(), "byte " + i);
    }
  }

  @Test
  void theKeysOfOthersAreRefused() throws Invalid {
    PublicKey other = SigningKey.generate().publicKey();
    RoughtimeRequest request = request(1, other);
    refused("the certificate is not signed by key " + other, answer(request), request);
  }

  /** What a server with the key could sign and a client still refuses. */
  @Test
  void whatTheServerItselfGotWrongIsRefused() throws Invalid {
    RoughtimeRequest request = request(1);
    refused("the radius is 0", forged(request, 100, 0, 1, 50, 150, 1), request);
    refused(
        "the key of the certificate may not sign 151, only 50 to 150",
        forged(request, 151, 3, 1, 50, 150, 1),
        request);
    refused(
        "the key of the certificate may not sign 49, only 50 to 150",
        forged(request, 49, 3, 1, 50, 150, 1),
        request);
    refused("the midpoint is 18446744073709551615 s", forged(request, -1, 3, 1, 0, -1, 1), request);
    for (long edge : new long[] {50, 150}) {
      TimeBound said = request.verify(forged(request, edge, 3, 1, 50, 150, 1));
      assertEquals(edge * SECOND, said.midpoint());
    }
  }

  /** Servers of drafts say 0x8000000c and no other. */
  @Test
  void aServerSpeaksAVersionThatWeSpeakToo() throws Invalid {
    RoughtimeRequest request = request(1);
    TimeBound said =
        request.verify(forged(request, 100, 3, 0x8000000c, 50, 150, 0x8000000b, 0x8000000c));
    assertEquals(100 * SECOND, said.midpoint());
    String older = "the response is of version 0x8000000b";
    refused(older, forged(request, 100, 3, 0x8000000b, 50, 150, 0x8000000b), request);
    String other = "the response is of version 0x1";
    refused(other, forged(request, 100, 3, 1, 50, 150, 0x8000000c), request);
    refused("VERS does not ascend", forged(request, 100, 3, 1, 50, 150, 0x8000000c, 1), request);
    refused("VERS has 132 bytes", forged(request, 100, 3, 1, 50, 150, new int[33]), request);
    refused("VERS has 0 bytes", forged(request, 100, 3, 1, 50, 150), request);
  }

  private static byte[] forged(
      RoughtimeRequest request,
      long midpoint,
      int radius,
      int version,
      long from,
      long to,
      int... versions)
      throws Invalid {
    byte[] signed =
        new RoughtimeMessage()
            .putInt(RoughtimeMessage.VER, version)
            .putInt(RoughtimeMessage.RADI, radius)
            .put(RoughtimeMessage.MIDP, RoughtimeServer.seconds(midpoint))
            .putInt(RoughtimeMessage.VERS, versions)
            .put(RoughtimeMessage.ROOT, RoughtimeRequest.leaf(request.packet()))
            .encode();
    SigningKey online = SigningKey.generate();
    return RoughtimeMessage.ofPacket(answer(request))
        .put(RoughtimeMessage.SREP, signed)
        .put(RoughtimeMessage.SIG, online.sign(RoughtimeRequest.RESPONSE, signed))
        .put(RoughtimeMessage.CERT, RoughtimeServer.certificate(KEY, online.publicKey(), from, to))
        .packet();
  }

  @Test
  void responsesThatLackSomethingAreRefused() throws Invalid {
    RoughtimeRequest request = request(1);
    int[] tags = {
      RoughtimeMessage.SIG,
      RoughtimeMessage.NONC,
      RoughtimeMessage.TYPE,
      RoughtimeMessage.PATH,
      RoughtimeMessage.SREP,
      RoughtimeMessage.CERT,
      RoughtimeMessage.INDX,
    };
    RoughtimeMessage whole = RoughtimeMessage.ofPacket(answer(request));
    for (int tag : tags) {
      var lacking = new RoughtimeMessage();
      for (int each : tags) {
        if (each != tag) {
          lacking.put(each, whole.get(each));
        }
      }
      refused(RoughtimeMessage.name(tag) + " is missing", lacking.packet(), request);
    }
    refused("not a response", whole.putInt(RoughtimeMessage.TYPE, 0).packet(), request);
    refused("the response is to another nonce", answer(request(2)), request);
  }

  @Test
  void unknownTagsAreIgnored() throws Invalid {
    RoughtimeRequest request = request(1);
    byte[] more = RoughtimeMessage.ofPacket(answer(request)).put(0x41414141, new byte[8]).packet();
    assertEquals(ManualTime.START, request.verify(more).midpoint());
  }

  @Test
  void pathsThatAreTooLongOrLeadElsewhereAreRefused() throws Invalid {
    RoughtimeRequest request = request(1);
    String elsewhere = "the response does not cover this request";
    RoughtimeMessage response = RoughtimeMessage.ofPacket(answer(request));
    refused(elsewhere, response.put(RoughtimeMessage.PATH, new byte[33 * 32]).packet(), request);
    refused(elsewhere, response.put(RoughtimeMessage.PATH, new byte[28]).packet(), request);
    // A bit of the index that no step of the path uses up.
    response = RoughtimeMessage.ofPacket(answer(request)).putInt(RoughtimeMessage.INDX, 1);
    refused(elsewhere, response.packet(), request);
    response =
        RoughtimeMessage.ofPacket(answer(request)).putInt(RoughtimeMessage.INDX, Integer.MIN_VALUE);
    refused(elsewhere, response.packet(), request);
  }
}
