package dev.cinch.lease.table;

import java.util.Arrays;

/** Bytes of a {@link LeaseLayout} in the making. Not thread-safe. */
final class RowWriter {
  private byte[] bytes = new byte[192];
  private int length;

  void putByte(int value) {
    if (length == bytes.length) {
      bytes = Arrays.copyOf(bytes, 2 * length);
    }
    bytes[length++] = (byte) value;
  }

  void putLong(long value) {
    for (int shift = 56; shift >= 0; shift -= 8) {
      putByte((int) (value >>> shift));
    }
  }

  /** Seven bits a byte, the lowest first; negative ones take ten bytes. */
  void putUnsigned(long value) {
    long rest = value;
    while ((rest & ~0x7FL) != 0) {
      putByte((int) (rest & 0x7F | 0x80));
      rest >>>= 7;
    }
    putByte((int) rest);
  }

  /** Small ones of either sign are short. */
  void putSigned(long value) {
    putUnsigned(value << 1 ^ value >> 63);
  }

  /** A byte of length and so many bytes; at most 255. */
  void putShort(byte[] text) {
    if (text.length > 255) {
      throw new IllegalArgumentException(text.length + " bytes, more than 255");
    }
    putByte(text.length);
    putBytes(text);
  }

  void putBytes(byte[] more) {
    while (bytes.length - length < more.length) {
      bytes = Arrays.copyOf(bytes, 2 * bytes.length);
    }
    System.arraycopy(more, 0, bytes, length, more.length);
    length += more.length;
  }

  byte[] toArray() {
    return Arrays.copyOf(bytes, length);
  }
}
