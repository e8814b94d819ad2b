package dev.cinch.lease.register;

import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;

/**
 * The first bytes of SHA-256 of a witness: whether two nodes mean the same one is seen by it,
 * without a look at the signature, which takes as long as to sign. Stateless.
 */
final class WitnessMark {
  static final int BYTES = 8;

  private WitnessMark() {}

  static byte[] of(byte[] payload) {
    try {
      return Arrays.copyOf(MessageDigest.getInstance("SHA-256").digest(payload), BYTES);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java has SHA-256", e);
    }
  }

  static boolean begins(byte[] bytes, byte[] mark) {
    return bytes.length > BYTES && Arrays.equals(bytes, 0, BYTES, mark, 0, BYTES);
  }
}
