package dev.cinch.lease.witness;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.Id;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;

/**
 * The signature of a key of a store under a line or more of text: what a server of the lease
 * service leaves in the store for later ones. Without it whoever may create files there could end
 * the service.
 *
 * <p>What is signed begins with text of its own, so no signature of a witness or of a key can be
 * taken for one of these:
 *
 * <pre>
 *   0 18 "cinch statement 1\n", ASCII
 *  18 16 id of the store
 *  34  n the text, UTF-8
 * </pre>
 */
@CheckReturnValue
public final class StoreStatement {
  /** Characters of a signature: 64 bytes as lower-case hexadecimal digits. */
  public static final int DIGITS = 2 * PublicKey.SIGNATURE_BYTES;

  private static final byte[] DOMAIN = "cinch statement 1\n".getBytes(StandardCharsets.US_ASCII);

  /** A server looks at the same few again and again. */
  private static final GoodSignatures GOOD = new GoodSignatures();

  /** And so it does at what somebody left in their place. */
  private static final GoodSignatures BAD = new GoodSignatures();

  private StoreStatement() {}

  private static byte[] statement(Id store, String text) {
    byte[] utf8 = text.getBytes(StandardCharsets.UTF_8);
    ByteBuffer out = ByteBuffer.allocate(DOMAIN.length + Id.BYTES + utf8.length).put(DOMAIN);
    store.write(out);
    return out.put(utf8).array();
  }

  /** Signs; as hexadecimal digits. The same yields the same. */
  public static String sign(SigningKey by, Id store, String text) {
    return HexFormat.of().formatHex(by.sign(statement(store, text)));
  }

  /**
   * Whether a key of the store has signed it.
   *
   * @param keys that the store trusts
   * @param signature {@link #DIGITS} lower-case hexadecimal digits; others are no signature
   */
  public static boolean isSigned(TrustedKeys keys, Id store, String text, String signature) {
    if (!signature.matches("[0-9a-f]{" + DIGITS + "}")) {
      return false;
    }
    byte[] bytes = HexFormat.of().parseHex(signature);
    byte[] statement = statement(store, text);
    for (int i = keys.size() - 1; i >= 0; i--) { // the newest key is the most likely one
      if (isBy(keys.list().get(i), statement, bytes)) {
        return true;
      }
    }
    return false;
  }

  private static boolean isBy(PublicKey by, byte[] statement, byte[] signature) {
    ByteBuffer digest = GoodSignatures.digest(by, statement, signature);
    return !BAD.check(digest, () -> !GOOD.check(digest, () -> by.hasSigned(signature, statement)));
  }
}
