package dev.cinch.lease;

import com.google.errorprone.annotations.CheckReturnValue;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;

/** SHA-256, which every Java has. Thread-safe. */
@CheckReturnValue
public final class Sha256 {
  private static final MessageDigest UNUSED = lookedUp();

  private Sha256() {}

  /** The hash of some parts, as one; 32 bytes. */
  public static byte[] of(byte[]... parts) {
    MessageDigest digest = digest();
    for (byte[] part : parts) {
      digest.update(part);
    }
    return digest.digest();
  }

  /** For what comes bit by bit. A copy of one that is never used takes a third of a look-up. */
  public static MessageDigest digest() {
    try {
      return (MessageDigest) UNUSED.clone();
    } catch (CloneNotSupportedException e) {
      return lookedUp();
    }
  }

  private static MessageDigest lookedUp() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java platform has SHA-256", e);
    }
  }
}
