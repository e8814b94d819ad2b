package dev.cinch.lease.rules;

import dev.cinch.lease.Id;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * The bytes of a {@link LeaseStateCodec}, written or read field by field: so one method tells the
 * order of the fields for both. Each call takes what is to be written, and returns that; when
 * reading it returns what stands there. Not thread-safe.
 */
final class StateBytes {
  private static final VarHandle LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);
  private static final int LONGEST_NAME = 255;

  private final boolean reading;
  private byte[] bytes;
  private int at;

  /** To write. */
  StateBytes() {
    reading = false;
    bytes = new byte[192];
  }

  /** To read from some place on, to the end. */
  StateBytes(byte[] bytes, int from) {
    reading = true;
    this.bytes = bytes;
    at = from;
  }

  /** How many bytes come before what is next. */
  int position() {
    return at;
  }

  /** What was written. */
  byte[] toArray() {
    return Arrays.copyOf(bytes, at);
  }

  /** Finds room to write, or sees that there is so much to read. */
  private void room(int count) {
    if (bytes.length - at >= count) {
      return;
    }
    if (reading) {
      throw new IllegalArgumentException("ends early");
    }
    bytes = Arrays.copyOf(bytes, Math.max(2 * bytes.length, at + count));
  }

  /** A byte, without a sign. */
  int octet(int value) {
    room(1);
    if (!reading) {
      bytes[at] = (byte) value;
    }
    return bytes[at++] & 0xFF;
  }

  /** Eight bytes. */
  long fixed(long value) {
    room(Long.BYTES);
    if (!reading) {
      LONG.set(bytes, at, value);
    }
    at += Long.BYTES;
    return (long) LONG.get(bytes, at - Long.BYTES);
  }

  Id id(Id id) {
    return new Id(fixed(id.high()), fixed(id.low()));
  }

  /** Seven bits a byte, the lowest first; negative ones take ten bytes. */
  long unsigned(long value) {
    if (!reading) {
      long rest = value;
      for (; (rest & ~0x7FL) != 0; rest >>>= 7) {
        octet((int) (rest & 0x7F | 0x80));
      }
      octet((int) rest);
      return value;
    }
    long read = 0;
    int b = 0x80;
    for (int shift = 0; (b & 0x80) != 0; shift += 7) {
      b = octet(0);
      read |= (b & 0x7FL) << shift;
    }
    return read;
  }

  private static long zigzag(long value) {
    return value << 1 ^ value >> 63;
  }

  private static long unzigzag(long coded) {
    return coded >>> 1 ^ -(coded & 1);
  }

  /** As a difference: such that are close, of either sign, are short. */
  long from(long base, long value) {
    return base + unzigzag(unsigned(zigzag(value - base)));
  }

  /** Behind a byte of its length. */
  String name(String text) {
    byte[] coded = coded(text);
    if (coded.length > LONGEST_NAME) {
      throw new IllegalArgumentException(coded.length + " bytes, more than " + LONGEST_NAME);
    }
    return text(text, coded, octet(coded.length));
  }

  /** Behind its length. */
  String text(String text) {
    byte[] coded = coded(text);
    return text(text, coded, unsigned(coded.length));
  }

  /** Up to the end. */
  String rest(String text) {
    byte[] coded = coded(text);
    return text(text, coded, reading ? bytes.length - at : coded.length);
  }

  private static byte[] coded(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private String text(String text, byte[] coded, long length) {
    if (reading && (length < 0 || length > bytes.length - at)) {
      throw new IllegalArgumentException("a text of " + length + " bytes");
    }
    room((int) length);
    at += (int) length;
    if (reading) {
      return new String(bytes, at - (int) length, (int) length, StandardCharsets.UTF_8);
    }
    System.arraycopy(coded, 0, bytes, at - coded.length, coded.length);
    return text;
  }
}
