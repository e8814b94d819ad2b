package dev.cinch.lease.time.roughtime;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.TimeBound;
import dev.cinch.lease.TimeBound.Kind;
import dev.cinch.lease.time.ManualTime;
import dev.cinch.lease.witness.PublicKey;
import dev.cinch.lease.witness.Signatures;
import dev.cinch.lease.witness.SigningKey;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Requests, responses, and what a client has to check (sections 5.1 to 5.4 of the draft). */
class RoughtimeReplyTest {
  private static final long SECOND = 1_000_000_000L;
  private static final SigningKey KEY = SigningKey.ofSeed(new byte[32]);
  private static final PublicKey PUBLIC = KEY.publicKey();
  private static final TimeBound NOW =
      TimeBound.around(ManualTime.START + SECOND / 2, SECOND, Kind.MEASURED);

  private static RoughtimeRequest request(int number) {
    var nonce = new byte[32];
    nonce[0] = (byte) number;
    return RoughtimeRequest.of(PUBLIC, nonce);
  }

  private static RoughtimeRequest received(RoughtimeRequest sent) throws RoughtimeException {
    return RoughtimeRequest.read(sent.packet(), PUBLIC);
  }

  private static byte[] answer(RoughtimeRequest request) throws RoughtimeException {
    return new Responder(KEY).answer(List.of(received(request)), NOW).get(0);
  }

  private static void refused(String why, byte[] response, RoughtimeRequest to) {
    var e =
        assertThrows(
            RoughtimeException.class, () -> RoughtimeReply.verify(response, to, PUBLIC), why);
    assertEquals(why, e.getMessage());
  }

  @Test
  void aRequestHasThe1024BytesThatTheDraftAsksFor() throws RoughtimeException {
    byte[] packet = request(1).packet();
    assertEquals(12 + 1_024, packet.length);
    assertEquals("ROUGHTIM", new String(packet, 0, 8, StandardCharsets.US_ASCII));
    Message message = Message.ofPacket(packet);
    assertArrayEquals(new int[] {1, 0x8000000c}, message.getVersions(Tag.VER));
    assertEquals(0, message.getInt(Tag.TYPE));
    assertArrayEquals(Hashes.hash(new byte[] {-1}, PUBLIC.bytes()), message.get(Tag.SRV));
  }

  @Test
  void aResponseSaysTheTimeAndHowFarItMayBeOff() throws RoughtimeException {
    RoughtimeRequest request = request(1);
    byte[] response = answer(request);
    RoughtimeReply reply = RoughtimeReply.verify(response, request, PUBLIC);
    assertEquals(ManualTime.START / SECOND, reply.midpointSeconds());
    assertEquals(3, reply.radiusSeconds());
    assertEquals(1, reply.version());
    assertArrayEquals(response, reply.packet());
    assertTrue(reply.bound().earliest() <= NOW.earliest(), "" + reply.bound());
    assertTrue(reply.bound().latest() >= NOW.latest(), "" + reply.bound());
    assertTrue(response.length < request.packet().length, "" + response.length);
  }

  @ParameterizedTest
  @ValueSource(longs = {0, 1, 999_999_999, 1_000_000_000, 1_500_000_000, 59_000_000_001L})
  void theRadiusCoversTheRoundingOfTheMidpoint(long radius) throws RoughtimeException {
    for (long fraction : new long[] {0, 1, 999_999_999}) {
      TimeBound now = TimeBound.around(ManualTime.START + fraction, radius, Kind.MEASURED);
      RoughtimeRequest request = request(1);
      byte[] response = new Responder(KEY).answer(List.of(received(request)), now).get(0);
      TimeBound said = RoughtimeReply.verify(response, request, PUBLIC).bound();
      // The ends are not within: the true time is strictly inside (MIDP - RADI, MIDP + RADI).
      assertTrue(said.earliest() < now.earliest() && now.latest() < said.latest(), "" + now);
    }
  }

  @Test
  void oneSignatureAnswersManyRequests() throws RoughtimeException {
    for (int count : new int[] {1, 2, 3, 4, 5, 7, 8, 33, Responder.BATCH}) {
      var sent = new ArrayList<RoughtimeRequest>();
      var received = new ArrayList<RoughtimeRequest>();
      for (int i = 0; i < count; i++) {
        sent.add(request(i));
        received.add(received(sent.get(i)));
      }
      List<byte[]> responses = new Responder(KEY).answer(received, NOW);
      byte[] signature = Message.ofPacket(responses.get(0)).get(Tag.SIG);
      for (int i = 0; i < count; i++) {
        byte[] response = responses.get(i);
        RoughtimeReply.verify(response, sent.get(i), PUBLIC);
        assertArrayEquals(signature, Message.ofPacket(response).get(Tag.SIG));
        assertTrue(response.length <= sent.get(i).packet().length, "" + count);
        if (count > 1) {
          RoughtimeRequest other = sent.get((i + 1) % count);
          assertThrows(
              RoughtimeException.class, () -> RoughtimeReply.verify(response, other, PUBLIC));
        }
      }
    }
  }

  @Test
  void everyAlteredByteIsRefused() throws RoughtimeException {
    RoughtimeRequest request = request(1);
    List<RoughtimeRequest> both = List.of(received(request), received(request(2)));
    byte[] response = new Responder(KEY).answer(both, NOW).get(0);
    for (int i = 0; i < response.length; i++) {
      byte[] altered = response.clone();
      altered[i] ^= 0x40;
      assertThrows(
          RoughtimeException.class,
          () -> RoughtimeReply.verify(altered, request, PUBLIC),
          "byte " + i);
    }
  }

  @Test
  void theKeysOfOthersAreRefused() throws RoughtimeException {
    PublicKey other = SigningKey.generate().publicKey();
    RoughtimeRequest request = request(1);
    byte[] response = answer(request);
    var e =
        assertThrows(
            RoughtimeException.class, () -> RoughtimeReply.verify(response, request, other));
    assertEquals("the certificate is not signed by key " + other, e.getMessage());
    e =
        assertThrows(
            RoughtimeException.class, () -> RoughtimeRequest.read(request.packet(), other));
    assertEquals("meant for a server with another key", e.getMessage());
  }

  /** What a server with the key could sign and a client still refuses. */
  @Test
  void whatTheServerItselfGotWrongIsRefused() throws RoughtimeException {
    RoughtimeRequest request = request(1);
    refused("the radius is 0", forged(request, 100, 0, 1, 50, 150), request);
    refused(
        "the key of the certificate may not sign 151, only 50 to 150",
        forged(request, 151, 3, 1, 50, 150),
        request);
    refused(
        "the key of the certificate may not sign 49, only 50 to 150",
        forged(request, 49, 3, 1, 50, 150),
        request);
    refused(
        "the response is of version 0x8000000b",
        forged(request, 100, 3, 0x8000000b, 50, 150),
        request);
    refused("the midpoint is 18446744073709551615 s", forged(request, -1, 3, 1, 0, -1), request);
    for (long edge : new long[] {50, 150}) {
      RoughtimeReply.verify(forged(request, edge, 3, 1, 50, 150), request, PUBLIC);
    }
  }

  private static byte[] forged(
      RoughtimeRequest request, long midpoint, int radius, int version, long from, long to)
      throws RoughtimeException {
    byte[] signed =
        new Message()
            .putInt(Tag.VER, version)
            .putInt(Tag.RADI, radius)
            .putLong(Tag.MIDP, midpoint)
            .putInt(Tag.VERS, version)
            .put(Tag.ROOT, Hashes.leaf(request.packet()))
            .encode();
    SigningKey online = SigningKey.generate();
    return Message.ofPacket(answer(request))
        .put(Tag.SREP, signed)
        .put(Tag.SIG, Signatures.sign(online, RoughtimeReply.CONTEXT, signed))
        .put(Tag.CERT, Delegation.sign(KEY, online.publicKey(), from, to))
        .packet();
  }

  @Test
  void requestsThatLackSomethingAreNotAnswered() throws RoughtimeException {
    for (int tag : new int[] {Tag.VER, Tag.NONC, Tag.TYPE}) {
      var lacking = new Message();
      for (int each : new int[] {Tag.VER, Tag.NONC, Tag.TYPE, Tag.ZZZZ}) {
        if (each != tag) {
          lacking.put(each, Message.ofPacket(request(1).packet()).get(each));
        }
      }
      assertEquals(Tag.name(tag) + " is missing", unanswered(lacking));
    }
    assertEquals(
        "not a request", unanswered(Message.ofPacket(request(1).packet()).putInt(Tag.TYPE, 1)));
    assertEquals(
        "no version that we speak",
        unanswered(Message.ofPacket(request(1).packet()).putInt(Tag.VER, 2, 0x8000000b)));
    assertEquals(
        "VER does not ascend",
        unanswered(Message.ofPacket(request(1).packet()).putInt(Tag.VER, 0x8000000c, 1)));
    assertEquals(
        "VER has 132 bytes",
        unanswered(Message.ofPacket(request(1).packet()).putInt(Tag.VER, new int[33])));
    assertEquals(
        "NONC has 64 bytes, not 32",
        unanswered(Message.ofPacket(request(1).packet()).put(Tag.NONC, new byte[64])));
  }

  private static String unanswered(Message message) {
    var e =
        assertThrows(
            RoughtimeException.class, () -> RoughtimeRequest.read(message.packet(), PUBLIC));
    return String.valueOf(e.getMessage());
  }

  @Test
  void unknownTagsAreIgnored() throws RoughtimeException {
    int unknown = 0x41414141;
    Message more = Message.ofPacket(request(1).packet()).put(unknown, new byte[4]);
    RoughtimeRequest.read(more.packet(), PUBLIC);
    RoughtimeRequest request = request(1);
    Message response = Message.ofPacket(answer(request)).put(unknown, new byte[8]);
    RoughtimeReply.verify(response.packet(), request, PUBLIC);
  }

  /** Clients of drafts say 0x8000000c and no other. */
  @Test
  void aClientIsAnsweredInItsOwnVersion() throws RoughtimeException {
    Message draft = Message.ofPacket(request(1).packet()).putInt(Tag.VER, 0x8000000c);
    RoughtimeRequest old = RoughtimeRequest.read(draft.packet(), PUBLIC);
    RoughtimeRequest now = received(request(2));
    List<byte[]> responses = new Responder(KEY).answer(List.of(old, now), NOW);
    assertEquals(0x8000000c, RoughtimeReply.verify(responses.get(0), old, PUBLIC).version());
    assertEquals(1, RoughtimeReply.verify(responses.get(1), now, PUBLIC).version());
  }

  @Test
  void delegationsAreRenewedBeforeTheyEndAndWhenTheClockWasSetBack() throws RoughtimeException {
    var responder = new Responder(KEY);
    RoughtimeRequest request = request(1);
    byte[] before = new byte[0];
    for (long hours : new long[] {0, 13, 14, 40, 2, 26 * 365}) {
      TimeBound now = NOW.later(hours * 3_600 * SECOND);
      byte[] response = responder.answer(List.of(received(request)), now).get(0);
      RoughtimeReply.verify(response, request, PUBLIC);
      byte[] certificate = Message.ofPacket(response).get(Tag.CERT);
      assertEquals(hours == 14, Arrays.equals(before, certificate), "" + hours);
      before = certificate;
    }
    assertNotEquals(0, before.length);
  }

  @Test
  void pathsThatAreTooLongOrLeadElsewhereAreRefused() throws RoughtimeException {
    RoughtimeRequest request = request(1);
    String elsewhere = "the response does not cover this request";
    Message response = Message.ofPacket(answer(request));
    refused(elsewhere, response.put(Tag.PATH, new byte[33 * 32]).packet(), request);
    refused(elsewhere, response.put(Tag.PATH, new byte[28]).packet(), request);
    // A bit of the index that no step of the path uses up.
    response = Message.ofPacket(answer(request)).putInt(Tag.INDX, 1);
    refused(elsewhere, response.packet(), request);
    response = Message.ofPacket(answer(request)).putInt(Tag.INDX, Integer.MIN_VALUE);
    refused(elsewhere, response.packet(), request);
  }
}
