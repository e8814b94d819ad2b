package dev.cinch.lease;

import com.google.errorprone.annotations.CheckReturnValue;
import java.util.Arrays;

/**
 * A witness with the exact bytes that were signed: the form in which it travels and stands in data
 * files.
 *
 * <p>Equality is that of the bytes. Immutable and thread-safe; arrays are copied. {@code
 * dev.cinch.lease.witness} makes and checks them.
 */
@CheckReturnValue
public final class SignedWitness {
  private final Witness witness;
  private final byte[] bytes;

  /**
   * @param witness what {@code bytes} says
   * @param bytes the canonical form, the key's id and the signature
   */
  public SignedWitness(Witness witness, byte[] bytes) {
    this.witness = witness;
    this.bytes = bytes.clone();
  }

  public Witness witness() {
    return witness;
  }

  /** A copy of the signed form. */
  public byte[] bytes() {
    return bytes.clone();
  }

  @Override
  public boolean equals(Object o) {
    return o instanceof SignedWitness other && Arrays.equals(bytes, other.bytes);
  }

  @Override
  public int hashCode() {
    return Arrays.hashCode(bytes);
  }

  @Override
  public String toString() {
    return "SignedWitness[" + witness + "]";
  }
}
