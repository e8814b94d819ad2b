package dev.cinch.lease.time.roughtime;

import dev.cinch.lease.witness.PublicKey;
import java.util.Arrays;

/** A request for the time. Immutable; arrays are copied. */
public final class RoughtimeRequest {
  /** Bytes of a nonce. */
  public static final int NONCE_BYTES = Hashes.BYTES;

  /** Bytes of a request's message, at least; so no response is longer than its request. */
  private static final int MESSAGE_BYTES = 1_024;

  /** Bytes of a request that a server needs to look at; longer ones are of something else. */
  public static final int MAX_BYTES = 1_500;

  static final int TYPE = 0;

  private final byte[] packet;
  private final byte[] nonce;
  private final int version;

  private RoughtimeRequest(byte[] packet, byte[] nonce, int version) {
    this.packet = packet;
    this.nonce = nonce;
    this.version = version;
  }

  /**
   * A request that only the server with this key answers.
   *
   * @param nonce 32 bytes, random, or derived from the response before
   */
  public static RoughtimeRequest of(PublicKey server, byte[] nonce) {
    Message message =
        new Message()
            .putInt(Tag.VER, Versions.ours())
            .put(Tag.SRV, Hashes.server(server))
            .put(Tag.NONC, nonce.clone())
            .putInt(Tag.TYPE, TYPE)
            .put(Tag.ZZZZ, new byte[0]);
    byte[] padding = new byte[MESSAGE_BYTES - message.encode().length];
    return new RoughtimeRequest(
        message.put(Tag.ZZZZ, padding).packet(), nonce.clone(), Versions.DRAFT);
  }

  /**
   * Reads a request that a server with this key should answer.
   *
   * @throws RoughtimeException for anything else; then there is no answer
   */
  public static RoughtimeRequest read(byte[] packet, PublicKey server) throws RoughtimeException {
    Message message = Message.ofPacket(packet);
    if (message.getInt(Tag.TYPE) != TYPE) {
      throw new RoughtimeException("not a request");
    }
    byte[] nonce = message.get(Tag.NONC, NONCE_BYTES);
    int version =
        Arrays.stream(message.getVersions(Tag.VER))
            .filter(Versions::isOurs)
            .findFirst()
            .orElseThrow(() -> new RoughtimeException("no version that we speak"));
    if (message.has(Tag.SRV) && !Arrays.equals(message.get(Tag.SRV), Hashes.server(server))) {
      throw new RoughtimeException("meant for a server with another key");
    }
    return new RoughtimeRequest(packet.clone(), nonce, version);
  }

  /**
   * Reads a request of a report, to check its response.
   *
   * @throws RoughtimeException if there can't be a response to it
   */
  static RoughtimeRequest sent(byte[] packet) throws RoughtimeException {
    Message message = Message.ofPacket(packet);
    byte[] nonce = message.get(Tag.NONC, NONCE_BYTES);
    return new RoughtimeRequest(packet.clone(), nonce, message.getVersions(Tag.VER)[0]);
  }

  /** A copy of its bytes. */
  public byte[] packet() {
    return packet.clone();
  }

  /** Bytes of its packet, which a response must not exceed. */
  public int length() {
    return packet.length;
  }

  /** A copy of its nonce. */
  public byte[] nonce() {
    return nonce.clone();
  }

  /** The version to answer with. */
  int version() {
    return version;
  }
}
