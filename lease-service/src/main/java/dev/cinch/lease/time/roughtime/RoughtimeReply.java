package dev.cinch.lease.time.roughtime;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.cinch.lease.TimeBound;
import dev.cinch.lease.witness.PublicKey;
import dev.cinch.lease.witness.Signatures;
import java.util.Arrays;

/**
 * A response that was found to be signed for a request. Immutable; arrays are copied.
 *
 * <p>That says that the server vouches for the time, not that the time is right.
 */
public final class RoughtimeReply {
  static final byte[] CONTEXT = "RoughTime v1 response signature\0".getBytes(US_ASCII);
  static final int TYPE = 1;

  /** Longest packet that is looked at: that of a request and 32 hashes fits into it. */
  public static final int MAX_BYTES = 2_048;

  private static final long SECOND = 1_000_000_000L;
  private static final long LAST_SECOND = Long.MAX_VALUE / SECOND;

  private final byte[] packet;
  private final int version;
  private final long midpoint;
  private final long radius;

  private RoughtimeReply(byte[] packet, int version, long midpoint, long radius) {
    this.packet = packet;
    this.version = version;
    this.midpoint = midpoint;
    this.radius = radius;
  }

  /**
   * Checks a response as the protocol asks a client to.
   *
   * @param server its long-term key
   * @throws RoughtimeException if it is no valid response to this request by this server
   */
  public static RoughtimeReply verify(byte[] packet, RoughtimeRequest request, PublicKey server)
      throws RoughtimeException {
    Message message = Message.ofPacket(packet);
    if (message.getInt(Tag.TYPE) != TYPE) {
      throw new RoughtimeException("not a response");
    }
    if (!Arrays.equals(message.get(Tag.NONC), request.nonce())) {
      throw new RoughtimeException("the response is to another nonce");
    }
    Delegation delegation = Delegation.verify(message.getMessage(Tag.CERT), server);
    byte[] signed = message.get(Tag.SREP);
    if (!Signatures.isBy(delegation.key(), message.get(Tag.SIG), CONTEXT, signed)) {
      throw new RoughtimeException("the response is not signed by the key of its certificate");
    }
    Message said = Message.decode(signed);
    byte[] root = said.get(Tag.ROOT, Hashes.BYTES);
    if (!MerkleTree.leads(
        request.packet(), message.getInt(Tag.INDX), message.get(Tag.PATH), root)) {
      throw new RoughtimeException("the response does not cover this request");
    }
    int version = said.getInt(Tag.VER);
    if (!Versions.isOurs(version)
        || Arrays.stream(said.getVersions(Tag.VERS)).noneMatch(v -> v == version)) {
      throw new RoughtimeException("the response is of version 0x%x".formatted(version));
    }
    long midpoint = said.getLong(Tag.MIDP);
    if (!delegation.covers(midpoint)) {
      throw new RoughtimeException(
          "the key of the certificate may not sign %s, only %s to %s"
              .formatted(
                  Long.toUnsignedString(midpoint),
                  Long.toUnsignedString(delegation.from()),
                  Long.toUnsignedString(delegation.to())));
    }
    if (midpoint < 0 || midpoint > LAST_SECOND) {
      throw new RoughtimeException("the midpoint is " + Long.toUnsignedString(midpoint) + " s");
    }
    int radius = said.getInt(Tag.RADI);
    if (radius == 0) {
      throw new RoughtimeException("the radius is 0");
    }
    return new RoughtimeReply(packet.clone(), version, midpoint, Integer.toUnsignedLong(radius));
  }

  /** A copy of its bytes. */
  public byte[] packet() {
    return packet.clone();
  }

  /** The version that the server says it has spoken. */
  public int version() {
    return version;
  }

  /** The time by the server, seconds since the Unix epoch. */
  public long midpointSeconds() {
    return midpoint;
  }

  /** How far that may be off, seconds, 1 or more. */
  public long radiusSeconds() {
    return radius;
  }

  /** Between which times the server says that it was when it answered. */
  public TimeBound bound() {
    return TimeBound.around(midpoint * SECOND, radius * SECOND, TimeBound.Kind.MEASURED);
  }
}
