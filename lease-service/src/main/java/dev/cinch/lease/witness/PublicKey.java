package dev.cinch.lease.witness;

import dev.cinch.lease.Sha256;
import java.util.Arrays;
import java.util.HexFormat;
import org.bouncycastle.crypto.params.Ed25519PublicKeyParameters;
import org.bouncycastle.crypto.signers.Ed25519Signer;
import org.jspecify.annotations.Nullable;

/**
 * An Ed25519 public key. Written as 64 lower-case hexadecimal digits. Immutable and thread-safe;
 * arrays are copied.
 */
public final class PublicKey {
  /** Bytes of a key. */
  public static final int BYTES = 32;

  /** Bytes of a signature. */
  public static final int SIGNATURE_BYTES = 64;

  /** The end of a key that has none. */
  public static final long NEVER = Long.MAX_VALUE;

  /** Bytes of a key's id. */
  public static final int ID_BYTES = 8;

  private final byte[] bytes;
  private final byte[] id;
  private final long end;

  /** Finding it takes a fifth of a verification, so it is kept; found on demand. */
  private volatile @Nullable Ed25519PublicKeyParameters point;

  /**
   * @throws IllegalArgumentException if there are not 32 bytes
   */
  public PublicKey(byte[] bytes) {
    this(bytes, NEVER);
  }

  private PublicKey(byte[] bytes, long end) {
    if (bytes.length != BYTES) {
      throw new IllegalArgumentException("a public key has 32 bytes, not " + bytes.length);
    }
    this.bytes = bytes.clone();
    this.id = Arrays.copyOf(Sha256.of(bytes), ID_BYTES);
    this.end = end;
  }

  /**
   * This key as one that is delegated: it signs leases that are over by an end, and no other key.
   *
   * @param end signed time, nanoseconds since the Unix epoch
   */
  public PublicKey until(long end) {
    return new PublicKey(bytes, end);
  }

  /** When the leases are over that it signs, at the latest; {@link #NEVER} unless delegated. */
  public long end() {
    return end;
  }

  /** Whether it is delegated: it vouches for no other key. */
  public boolean isDelegated() {
    return end != NEVER;
  }

  /** Whether another one has the same bytes, and so signs the same. */
  public boolean isSame(PublicKey other) {
    return Arrays.equals(bytes, other.bytes);
  }

  /**
   * Reads 64 hexadecimal digits; white space around them is allowed.
   *
   * @throws IllegalArgumentException for anything else
   */
  public static PublicKey parse(String text) {
    String digits = text.strip();
    if (digits.length() != 2 * BYTES) {
      throw new IllegalArgumentException(
          "a public key has 64 hexadecimal digits, not " + digits.length() + " characters");
    }
    try {
      return new PublicKey(HexFormat.of().parseHex(digits));
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException("a public key has 64 hexadecimal digits", e);
    }
  }

  /** A copy of the 32 bytes. */
  public byte[] bytes() {
    return bytes.clone();
  }

  /** A copy of the first 8 bytes of SHA-256 of the key. */
  public byte[] id() {
    return id.clone();
  }

  /** The id as 16 hexadecimal digits. */
  public String idText() {
    return HexFormat.of().formatHex(id);
  }

  /**
   * Whether a signature of any length is this key's of these parts, as one ({@link
   * SigningKey#sign}).
   */
  public boolean hasSigned(byte[] signature, byte[]... parts) {
    if (signature.length != SIGNATURE_BYTES) {
      return false;
    }
    Ed25519PublicKeyParameters found = point;
    if (found == null) {
      try {
        found = new Ed25519PublicKeyParameters(bytes, 0);
      } catch (IllegalArgumentException e) {
        return false; // these 32 bytes are no key
      }
      point = found;
    }
    var verifier = new Ed25519Signer();
    verifier.init(false, found);
    for (byte[] part : parts) {
      verifier.update(part, 0, part.length);
    }
    return verifier.verifySignature(signature);
  }

  void putId(byte[] signedForm, int offset) {
    System.arraycopy(id, 0, signedForm, offset, ID_BYTES);
  }

  boolean hasIdAt(byte[] signedForm, int offset) {
    return Arrays.equals(id, 0, ID_BYTES, signedForm, offset, offset + ID_BYTES);
  }

  @Override
  public boolean equals(Object o) {
    return o instanceof PublicKey other && Arrays.equals(bytes, other.bytes) && end == other.end;
  }

  @Override
  public int hashCode() {
    return Arrays.hashCode(bytes);
  }

  @Override
  public String toString() {
    return HexFormat.of().formatHex(bytes);
  }
}
