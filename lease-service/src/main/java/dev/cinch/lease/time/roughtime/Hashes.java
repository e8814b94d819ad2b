package dev.cinch.lease.time.roughtime;

import dev.cinch.lease.witness.PublicKey;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;

/** The hash of the protocol, and what it is used for. */
final class Hashes {
  /** Bytes of a hash, and of a nonce. */
  static final int BYTES = 32;

  private static final byte[] LEAF = {0};
  private static final byte[] NODE = {1};
  private static final byte[] SERVER = {(byte) 0xff};

  private Hashes() {}

  static byte[] leaf(byte[] requestPacket) {
    return hash(LEAF, requestPacket);
  }

  static byte[] node(byte[] left, byte[] right) {
    return hash(NODE, left, right);
  }

  /** What a request names a server by. */
  static byte[] server(PublicKey longTerm) {
    return hash(SERVER, longTerm.bytes());
  }

  /** The first 32 bytes of SHA-512 of the parts, one after the other. */
  static byte[] hash(byte[]... parts) {
    try {
      MessageDigest digest = MessageDigest.getInstance("SHA-512");
      for (byte[] part : parts) {
        digest.update(part);
      }
      return Arrays.copyOf(digest.digest(), BYTES);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java platform has SHA-512", e);
    }
  }
}
