package dev.cinch.lease.cell;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;
import org.jspecify.annotations.Nullable;

/**
 * Bytes that mean nothing to the algorithms: the name of a lease, the value agreed on. Immutable.
 */
public final class Bytes implements Comparable<Bytes> {
  public static final Bytes EMPTY = new Bytes(new byte[0]);

  private final byte[] bytes;

  /** Once it is asked for, since values hardly ever are; 0 before. Threads may race to it. */
  private int hash;

  private Bytes(byte[] bytes) {
    this.bytes = bytes;
  }

  /** A copy of an array. */
  public static Bytes of(byte[] bytes) {
    return bytes.length == 0 ? EMPTY : new Bytes(bytes.clone());
  }

  /** The bytes of a text in UTF-8. */
  public static Bytes of(String text) {
    return text.isEmpty() ? EMPTY : new Bytes(text.getBytes(StandardCharsets.UTF_8));
  }

  static Bytes of(byte[] bytes, int from, int to) {
    return from == to ? EMPTY : new Bytes(Arrays.copyOfRange(bytes, from, to));
  }

  public int size() {
    return bytes.length;
  }

  /** A copy. */
  public byte[] toArray() {
    return bytes.clone();
  }

  void copyTo(byte[] target, int at) {
    System.arraycopy(bytes, 0, target, at, bytes.length);
  }

  /** Not a copy; not to be changed. */
  byte[] shared() {
    return bytes;
  }

  /** Compared byte by byte without a sign; a beginning of the other comes first. */
  @Override
  public int compareTo(Bytes other) {
    return Arrays.compareUnsigned(bytes, other.bytes);
  }

  public boolean startsWith(Bytes prefix) {
    return bytes.length >= prefix.bytes.length
        && Arrays.equals(bytes, 0, prefix.bytes.length, prefix.bytes, 0, prefix.bytes.length);
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other == this || (other instanceof Bytes b && Arrays.equals(bytes, b.bytes));
  }

  @Override
  public int hashCode() {
    int h = hash;
    if (h == 0) {
      h = Arrays.hashCode(bytes);
      hash = h;
    }
    return h;
  }

  /** In hexadecimal. */
  @Override
  public String toString() {
    return HexFormat.of().formatHex(bytes);
  }
}
