package dev.cinch.bag.format;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.cinch.bag.model.Name;
import dev.cinch.lease.Id;
import dev.cinch.lease.witness.KeyEndorsement;
import dev.cinch.lease.witness.PublicKey;
import dev.cinch.lease.witness.SigningKey;
import java.util.HexFormat;

/**
 * The file of one trusted key. Says what stands there; whether the key counts is judged elsewhere
 * (rule F3).
 *
 * @param key the public key
 * @param endorsement who vouches for it
 */
public record KeyFile(PublicKey key, Endorsement endorsement) {
  private static final String TYPE = "key";

  /** The version with an end, of a key that is delegated. */
  private static final int DELEGATED = 2;

  private static final long NANOS_PER_MILLI = 1_000_000;
  private static final long MOST_MILLIS = (Long.MAX_VALUE - 1) / NANOS_PER_MILLI;

  /** No file is shorter: it has a digest, a key and a signature, in hexadecimal. */
  public static final int MIN_BYTES = 256;

  /** The longest that is read. */
  public static final int MAX_BYTES = 1 << 12;

  /**
   * Who vouches for a key.
   *
   * @param store id of the store that it is for
   * @param number of the key there
   * @param signedBy number of the key that signed; 0 for the first key, which signs for itself
   * @param signature in hexadecimal
   */
  public record Endorsement(Id store, long number, long signedBy, String signature) {
    /** Whether it is by a key, and for this one. */
    public boolean isBy(PublicKey by, PublicKey key) {
      byte[] bytes = HexFormat.of().parseHex(signature);
      return KeyEndorsement.isBy(by, store, number, key, bytes);
    }
  }

  /**
   * A signed file.
   *
   * @param signedBy number of the key that signs; 0 for the first, which is {@code by} itself
   */
  public static KeyFile signed(Id store, long number, PublicKey key, long signedBy, SigningKey by) {
    String signature = HexFormat.of().formatHex(KeyEndorsement.sign(by, store, number, key));
    return new KeyFile(key, new Endorsement(store, number, signedBy, signature));
  }

  /** The first key of a store. */
  public static KeyFile first(Id store, SigningKey key) {
    return signed(store, 1, key.publicKey(), 0, key);
  }

  public byte[] encode() {
    Endorsement e = endorsement;
    ObjectNode document = JsonNodeFactory.instance.objectNode();
    document.put("store", e.store().toString()).put("number", e.number());
    document.put("publicKey", key.toString());
    if (key.isDelegated()) {
      document.put("untilMs", key.end() / NANOS_PER_MILLI);
    }
    document.put("signedBy", e.signedBy()).put("signature", e.signature());
    int version = key.isDelegated() ? DELEGATED : Envelope.FIRST_VERSION;
    return Envelope.encode(TYPE, version, document);
  }

  /**
   * @param path for error messages
   * @throws DamagedException if it is no such file
   */
  public static KeyFile decode(byte[] bytes, Name path) throws DamagedException {
    Envelope.Document read = Envelope.decode(TYPE, Envelope.FIRST_VERSION, DELEGATED, bytes, path);
    Fields in = read.fields();
    PublicKey key = PublicKey.parse(in.hex("publicKey", 2 * PublicKey.BYTES));
    if (read.version() == DELEGATED) {
      key = key.until(in.number("untilMs", 1, MOST_MILLIS) * NANOS_PER_MILLI);
    }
    var endorsement =
        new Endorsement(
            in.id("store"),
            in.number("number", 1, Long.MAX_VALUE),
            in.number("signedBy", 0, Long.MAX_VALUE),
            in.hex("signature", 2 * KeyEndorsement.BYTES));
    return new KeyFile(key, endorsement);
  }
}
