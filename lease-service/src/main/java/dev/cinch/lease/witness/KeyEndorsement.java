package dev.cinch.lease.witness;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.Id;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/**
 * The signature with which one key vouches for another: that this is key {@code number} of a store.
 *
 * <p>What is signed begins with text, and a witness with a length below 32,768, so neither
 * signature can be taken for the other:
 *
 * <pre>
 *   0 20 "cinch trusted key 1\n", ASCII
 *  20 16 id of the store
 *  36  8 number of the key, little-endian
 *  44 32 the public key
 * </pre>
 *
 * <p>Of a key that is {@link PublicKey#until delegated} it begins with "cinch delegated key 1\n",
 * and its end, 8 bytes, follows the number.
 */
@CheckReturnValue
public final class KeyEndorsement {
  /** Bytes of a signature. */
  public static final int BYTES = PublicKey.SIGNATURE_BYTES;

  private static final byte[] DOMAIN = "cinch trusted key 1\n".getBytes(StandardCharsets.US_ASCII);

  private static final byte[] DELEGATED_DOMAIN =
      "cinch delegated key 1\n".getBytes(StandardCharsets.US_ASCII);

  /** Every read of a log asks for the same few. */
  private static final GoodSignatures GOOD = new GoodSignatures();

  private KeyEndorsement() {}

  private static byte[] statement(Id store, long number, PublicKey key) {
    boolean delegated = key.isDelegated();
    byte[] domain = delegated ? DELEGATED_DOMAIN : DOMAIN;
    int numbers = delegated ? 2 : 1;
    ByteBuffer out =
        ByteBuffer.allocate(domain.length + Id.BYTES + numbers * Long.BYTES + PublicKey.BYTES)
            .order(ByteOrder.LITTLE_ENDIAN);
    out.put(domain);
    store.write(out);
    out.putLong(number);
    if (delegated) {
      out.putLong(key.end());
    }
    return out.put(key.bytes()).array();
  }

  /** Signs. The same yields the same bytes. */
  public static byte[] sign(SigningKey by, Id store, long number, PublicKey key) {
    return by.sign(statement(store, number, key));
  }

  /** Whether a signature is by a key, for this store, number and key. */
  public static boolean isBy(PublicKey by, Id store, long number, PublicKey key, byte[] signature) {
    byte[] statement = statement(store, number, key);
    return GOOD.check(
        GoodSignatures.digest(by, statement, signature), () -> by.hasSigned(signature, statement));
  }
}
