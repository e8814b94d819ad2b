package dev.cinch.fuzz;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;

/**
 * A valid file, altered as a fuzzer's bytes say. Each edit is an operation, a position and, for
 * some, a value; what is left of the bytes when no edit fits any more is ignored.
 */
public final class Edits {
  private static final int OPERATIONS = 7;

  private static final long[] LONGS = {
    0, 1, -1, Long.MIN_VALUE, Long.MAX_VALUE, Integer.MAX_VALUE, Integer.MIN_VALUE, 1L << 26
  };

  private final ByteBuffer script;

  /**
   * @param script the fuzzer's bytes
   */
  public Edits(byte[] script) {
    this.script = ByteBuffer.wrap(script).order(ByteOrder.LITTLE_ENDIAN);
  }

  /** The next byte of the script, as a choice from 0 to {@code count} - 1; 0 when it is over. */
  public int choice(int count) {
    return script.hasRemaining() ? (script.get() & 0xff) % count : 0;
  }

  /** The file after all edits; equal to it if there are none. */
  public byte[] of(byte[] file) {
    byte[] bytes = file.clone();
    while (script.remaining() >= 4) {
      int operation = (script.get() & 0xff) % OPERATIONS;
      int at = script.getShort() & 0xffff;
      int value = script.get();
      bytes = edit(bytes, operation, bytes.length == 0 ? 0 : at % bytes.length, value);
    }
    return bytes;
  }

  private static byte[] edit(byte[] in, int operation, int at, int value) {
    int count = value & 0xff;
    switch (operation) {
      case 0: // one byte
        return write(in, at, new byte[] {(byte) value});
      case 1: // one bit
        return in.length == 0 ? in : write(in, at, new byte[] {(byte) (in[at] ^ 1 << (value & 7))});
      case 2: // a number of 8 bytes
        return write(in, at, number(value).array());
      case 3: // a number of 4 bytes
        return write(in, at, Arrays.copyOf(number(value).array(), 4));
      case 4: // cut off
        return Arrays.copyOf(in, at);
      case 5: // some bytes out
        return splice(in, at, Math.min(count, in.length - at), new byte[0]);
      default: // some bytes in, which stood elsewhere
        int from = in.length == 0 ? 0 : at * 31 % in.length;
        return splice(in, at, 0, Arrays.copyOfRange(in, from, Math.min(in.length, from + count)));
    }
  }

  private static ByteBuffer number(int value) {
    return ByteBuffer.allocate(8)
        .order(ByteOrder.LITTLE_ENDIAN)
        .putLong(0, LONGS[value & 7] + (value >> 3));
  }

  private static byte[] write(byte[] in, int at, byte[] bytes) {
    byte[] out = in.clone();
    System.arraycopy(bytes, 0, out, at, Math.min(bytes.length, out.length - at));
    return out;
  }

  private static byte[] splice(byte[] in, int at, int removed, byte[] added) {
    byte[] out = Arrays.copyOf(in, in.length - removed + added.length);
    System.arraycopy(added, 0, out, at, added.length);
    System.arraycopy(in, at + removed, out, at + added.length, in.length - at - removed);
    return out;
  }
}
