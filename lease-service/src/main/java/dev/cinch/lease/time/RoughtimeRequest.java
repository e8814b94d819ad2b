package dev.cinch.lease.time;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.cinch.lease.TimeBound;
import dev.cinch.lease.time.RoughtimeMessage.Invalid;
import dev.cinch.lease.witness.PublicKey;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;

/**
 * A request for the time, and what makes an answer to it good: Roughtime as in
 * draft-ietf-ntp-roughtime-19 (RFC 10049), without sockets and clocks. Immutable.
 *
 * <p>A <b>request</b> has VER, SRV, NONC, TYPE 0, and ZZZZ up to 1,024 bytes. A <b>response</b> is
 *
 * <pre>
 *   SIG   Ed25519 signature of "RoughTime v1 response signature\0" and SREP, by PUBK
 *   NONC  the nonce of the request
 *   TYPE  1
 *   PATH  the siblings from the request to ROOT, 32 bytes each
 *   SREP  VER, RADI and MIDP in seconds, VERS, ROOT
 *   CERT  SIG of "RoughTime v1 delegation signature\0" and DELE, by the long-term key;
 *         DELE: PUBK, and MINT to MAXT, when it may sign
 *   INDX  the place of the request among the leaves; its bits say left or right
 * </pre>
 *
 * <p>H is the first 32 bytes of SHA-512; a leaf is H(0, request packet), a node H(1, left, right).
 * SRV is H(255, long-term key).
 */
final class RoughtimeRequest {
  static final byte[] RESPONSE = "RoughTime v1 response signature\0".getBytes(US_ASCII);
  static final byte[] DELEGATION = "RoughTime v1 delegation signature\0".getBytes(US_ASCII);

  /** Bytes of a hash, and of a nonce. */
  static final int HASH_BYTES = 32;

  /** Longest response that is looked at: that of a request and 32 hashes fits into it. */
  static final int MAX_RESPONSE = 2_048;

  /** TYPE of a response; a request has 0. */
  static final int ANSWERS = 1;

  /**
   * Versions that we speak, ascending as unsigned numbers: 1, and what implementations of drafts 12
   * to 19 say. Both have the same bytes, which are those of drafts 14 to 19.
   */
  private static final int[] VERSIONS = {1, 0x8000000c};

  /** Bytes of a request's message, at least; so no response is longer than its request. */
  private static final int MESSAGE_BYTES = 1_024;

  private static final byte[] LEAF = {0};
  private static final byte[] NODE = {1};
  private static final byte[] SERVER = {(byte) 0xff};

  private static final long SECOND = 1_000_000_000L;
  private static final long LAST_SECOND = Long.MAX_VALUE / SECOND;

  private final PublicKey server;
  private final byte[] nonce;
  private final byte[] packet;

  /**
   * A request that only the server with this key answers.
   *
   * @param server its long-term key
   * @param nonce 32 bytes from a secure source: who can guess them can sign an answer in advance
   */
  RoughtimeRequest(PublicKey server, byte[] nonce) {
    this.server = server;
    this.nonce = nonce.clone();
    RoughtimeMessage message =
        new RoughtimeMessage()
            .putInt(RoughtimeMessage.VER, VERSIONS)
            .put(RoughtimeMessage.SRV, hash(SERVER, server.bytes()))
            .put(RoughtimeMessage.NONC, this.nonce)
            .putInt(RoughtimeMessage.TYPE, 0)
            .put(RoughtimeMessage.ZZZZ, new byte[0]);
    byte[] padding = new byte[MESSAGE_BYTES - message.encode().length];
    this.packet = message.put(RoughtimeMessage.ZZZZ, padding).packet();
  }

  /** A copy of its bytes. */
  byte[] packet() {
    return packet.clone();
  }

  /**
   * Checks a response as the protocol asks a client to. That says that the server vouches for the
   * time, not that the time is right.
   *
   * @return between which times the server says that it was when it answered
   * @throws Invalid if it is no valid response to this request by this server
   */
  TimeBound verify(byte[] response) throws Invalid {
    RoughtimeMessage message = RoughtimeMessage.ofPacket(response);
    if (message.getInt(RoughtimeMessage.TYPE) != ANSWERS) {
      throw new Invalid("not a response");
    }
    if (!Arrays.equals(message.get(RoughtimeMessage.NONC), nonce)) {
      throw new Invalid("the response is to another nonce");
    }
    RoughtimeMessage delegation =
        signed(
            RoughtimeMessage.decode(message.get(RoughtimeMessage.CERT)),
            RoughtimeMessage.DELE,
            server,
            DELEGATION,
            "the certificate is not signed by key " + server);
    RoughtimeMessage said =
        signed(
            message,
            RoughtimeMessage.SREP,
            new PublicKey(delegation.get(RoughtimeMessage.PUBK, PublicKey.BYTES)),
            RESPONSE,
            "the response is not signed by the key of its certificate");
    requireCovered(message, said.get(RoughtimeMessage.ROOT, HASH_BYTES));
    requireVersion(said);
    long midpoint = said.getLong(RoughtimeMessage.MIDP);
    requireAllowed(midpoint, delegation);
    int radius = said.getInt(RoughtimeMessage.RADI);
    if (radius == 0) {
      throw new Invalid("the radius is 0");
    }
    return TimeBound.around(
        midpoint * SECOND, Integer.toUnsignedLong(radius) * SECOND, TimeBound.Kind.MEASURED);
  }

  /** A message within another one that has a signature of it. */
  private static RoughtimeMessage signed(
      RoughtimeMessage in, int tag, PublicKey by, byte[] context, String otherwise) throws Invalid {
    byte[] bytes = in.get(tag);
    if (!by.hasSigned(in.get(RoughtimeMessage.SIG), context, bytes)) {
      throw new Invalid(otherwise);
    }
    return RoughtimeMessage.decode(bytes);
  }

  /** That the path leads from this request to the root. */
  private void requireCovered(RoughtimeMessage message, byte[] root) throws Invalid {
    byte[] path = message.get(RoughtimeMessage.PATH);
    // In 64 bits: a path of 32 uses up all of an index.
    long rest = Integer.toUnsignedLong(message.getInt(RoughtimeMessage.INDX));
    boolean covered = path.length % HASH_BYTES == 0 && path.length <= Integer.SIZE * HASH_BYTES;
    byte[] hash = leaf(packet);
    for (int at = 0; covered && at < path.length; at += HASH_BYTES, rest >>= 1) {
      byte[] sibling = Arrays.copyOfRange(path, at, at + HASH_BYTES);
      hash = (rest & 1) == 0 ? node(hash, sibling) : node(sibling, hash);
    }
    if (!covered || rest != 0 || !Arrays.equals(hash, root)) {
      throw new Invalid("the response does not cover this request");
    }
  }

  private static void requireVersion(RoughtimeMessage said) throws Invalid {
    int version = said.getInt(RoughtimeMessage.VER);
    int[] known = said.getVersions(RoughtimeMessage.VERS);
    if (!has(VERSIONS, version) || !has(known, version)) {
      throw new Invalid("the response is of version 0x%x".formatted(version));
    }
  }

  private static boolean has(int[] versions, int version) {
    return Arrays.stream(versions).anyMatch(v -> v == version);
  }

  /** That the key may sign that time, unsigned seconds, and that it can be one. */
  private static void requireAllowed(long midpoint, RoughtimeMessage delegation) throws Invalid {
    long from = delegation.getLong(RoughtimeMessage.MINT);
    long to = delegation.getLong(RoughtimeMessage.MAXT);
    if (Long.compareUnsigned(midpoint, from) < 0 || Long.compareUnsigned(midpoint, to) > 0) {
      throw new Invalid(
          "the key of the certificate may not sign %s, only %s to %s"
              .formatted(
                  Long.toUnsignedString(midpoint),
                  Long.toUnsignedString(from),
                  Long.toUnsignedString(to)));
    }
    if (midpoint < 0 || midpoint > LAST_SECOND) {
      throw new Invalid("the midpoint is " + Long.toUnsignedString(midpoint) + " s");
    }
  }

  static byte[] leaf(byte[] requestPacket) {
    return hash(LEAF, requestPacket);
  }

  static byte[] node(byte[] left, byte[] right) {
    return hash(NODE, left, right);
  }

  private static byte[] hash(byte[]... parts) {
    try {
      MessageDigest digest = MessageDigest.getInstance("SHA-512");
      for (byte[] part : parts) {
        digest.update(part);
      }
      return Arrays.copyOf(digest.digest(), HASH_BYTES);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java platform has SHA-512", e);
    }
  }
}
