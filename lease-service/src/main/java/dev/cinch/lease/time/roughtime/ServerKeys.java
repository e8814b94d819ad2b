package dev.cinch.lease.time.roughtime;

import dev.cinch.lease.witness.PublicKey;
import java.util.Base64;

/** Long-term keys as people write them. Stateless. */
public final class ServerKeys {
  private static final int BASE64 = 44;

  private ServerKeys() {}

  /**
   * Reads base64, as lists of Roughtime servers have it, or 64 hexadecimal digits.
   *
   * @throws IllegalArgumentException for anything else
   */
  public static PublicKey parse(String text) {
    String key = text.strip();
    if (key.length() != BASE64) {
      return PublicKey.parse(key);
    }
    try {
      return new PublicKey(Base64.getDecoder().decode(key));
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException("a public key is 32 bytes in base64", e);
    }
  }

  /** As base64. */
  public static String text(PublicKey key) {
    return Base64.getEncoder().encodeToString(key.bytes());
  }
}
