package dev.cinch.bag.format;

import com.google.errorprone.annotations.CheckReturnValue;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;

/**
 * Packs bytes into a block of LZ4, and unpacks any such block.
 *
 * <pre>
 * sequence  1  number of literals (upper 4 bits, 15: more follows), bytes of the match less 4 (lower 4 bits, same)
 *              more literals: bytes that are added, up to the first that is not 255
 *              literals
 *           2  how far back the match begins, 1 to 65535
 *              more of the match: as above
 * </pre>
 *
 * The last sequence has literals only, five at least. A match begins twelve bytes before the end at
 * the latest. Numbers are little-endian. Memory: 64 KiB. Not thread-safe.
 */
@CheckReturnValue
final class Lz4 {
  private static final VarHandle INT =
      MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);
  private static final VarHandle LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
  private static final int TABLE_BITS = 14;
  private static final int FARTHEST = 65_535;
  private static final int LEAST_MATCH = 4;
  private static final int LAST_LITERALS = 5;
  private static final int LAST_START = 12;
  private static final int MOST_RATIO = 255;
  private static final int ROOM = 2 * Long.BYTES;

  /** Where bytes of that hash stood last. */
  private final int[] seen = new int[1 << TABLE_BITS];

  /**
   * Packs {@code in[from, to)} into {@code out[at, limit)}.
   *
   * @return where it ends in {@code out}; -1 if there is no room for it
   */
  int pack(byte[] in, int from, int to, byte[] out, int at, int limit) {
    Arrays.fill(seen, -1);
    int end = at;
    int literals = from;
    int i = from;
    while (i <= to - LAST_START) {
      int four = (int) INT.get(in, i);
      int hash = four * 0x9e3779b1 >>> Integer.SIZE - TABLE_BITS;
      int match = seen[hash];
      seen[hash] = i;
      if (match < 0 || i - match > FARTHEST || (int) INT.get(in, match) != four) {
        i += 1 + (i - literals >>> 6); // what does not pack is passed with ever longer steps
        continue;
      }
      while (i > literals && match > from && in[i - 1] == in[match - 1]) {
        i--;
        match--;
      }
      int length = LEAST_MATCH + same(in, match + LEAST_MATCH, i + LEAST_MATCH, to - LAST_LITERALS);
      end = put(in, literals, i - literals, length - LEAST_MATCH, out, end, limit - 2);
      if (end < 0) {
        return -1;
      }
      out[end] = (byte) (i - match);
      out[end + 1] = (byte) (i - match >>> 8);
      end = putMore(length - LEAST_MATCH, out, end + 2);
      i += length;
      literals = i;
    }
    return put(in, literals, to - literals, 0, out, end, limit);
  }

  /** How many bytes are the same at two places, up to {@code limit} of the second. */
  private static int same(byte[] in, int a, int b, int limit) {
    int n = 0;
    while (b + n <= limit - Long.BYTES) {
      long other = (long) LONG.get(in, a + n) ^ (long) LONG.get(in, b + n);
      if (other != 0) {
        return n + (Long.numberOfTrailingZeros(other) >>> 3);
      }
      n += Long.BYTES;
    }
    while (b + n < limit && in[a + n] == in[b + n]) {
      n++;
    }
    return n;
  }

  /**
   * Puts the begin of a sequence and its literals.
   *
   * @return where it ends; -1 if there is no room for it and for what says how long the match is
   */
  private static int put(byte[] in, int from, int n, int match, byte[] out, int at, int limit) {
    if (limit - at - n < 3 + (n + match) / MOST_RATIO) {
      return -1;
    }
    out[at] = (byte) (Math.min(n, 15) << 4 | Math.min(match, 15));
    int end = putMore(n, out, at + 1);
    System.arraycopy(in, from, out, end, n);
    return end + n;
  }

  private static int putMore(int n, byte[] out, int at) {
    if (n < 15) {
      return at;
    }
    int end = at;
    int left = n - 15;
    while (left >= 255) {
      out[end++] = (byte) 255;
      left -= 255;
    }
    out[end++] = (byte) left;
    return end;
  }

  /** Whether so many bytes can be packed into that many. */
  static boolean isPossible(int packed, int unpacked) {
    return unpacked <= (long) MOST_RATIO * packed;
  }

  /**
   * Unpacks {@code in[from, to)}.
   *
   * @param out all of it is filled
   * @return false if it is no block of LZ4 of that length
   */
  static boolean unpack(byte[] in, int from, int to, byte[] out) {
    int i = from;
    int at = 0;
    while (i < to) {
      int token = in[i++] & 0xff;
      int n = token >>> 4;
      if (n == 15) {
        int more;
        do {
          if (i >= to || n > out.length) {
            return false;
          }
          more = in[i++] & 0xff;
          n += more;
        } while (more == 255);
      }
      if (n > to - i || n > out.length - at) {
        return false;
      }
      if (n <= ROOM && to - i >= ROOM && out.length - at >= ROOM) { // most are short
        LONG.set(out, at, (long) LONG.get(in, i));
        LONG.set(out, at + Long.BYTES, (long) LONG.get(in, i + Long.BYTES));
      } else {
        System.arraycopy(in, i, out, at, n);
      }
      i += n;
      at += n;
      if (i == to) {
        return at == out.length && (token & 15) == 0;
      }
      if (to - i < 2) {
        return false;
      }
      int back = in[i] & 0xff | (in[i + 1] & 0xff) << 8;
      i += 2;
      int length = token & 15;
      if (length == 15) {
        int more;
        do {
          if (i >= to || length > out.length) {
            return false;
          }
          more = in[i++] & 0xff;
          length += more;
        } while (more == 255);
      }
      length += LEAST_MATCH;
      if (back == 0 || back > at || length > out.length - at) {
        return false;
      }
      copy(out, at - back, at, length);
      at += length;
    }
    return false;
  }

  /** Copies bytes to a later place, which may begin among them. */
  private static void copy(byte[] out, int from, int to, int length) {
    int i = 0;
    if (to - from >= Long.BYTES) {
      int end = Math.min(length, out.length - to - Long.BYTES + 1);
      for (; i < end; i += Long.BYTES) { // what is too much is overwritten later
        LONG.set(out, to + i, (long) LONG.get(out, from + i));
      }
    }
    for (; i < length; i++) {
      out[to + i] = out[from + i];
    }
  }
}
