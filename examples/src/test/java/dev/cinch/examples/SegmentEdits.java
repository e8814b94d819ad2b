package dev.cinch.examples;

import dev.cinch.examples.DocumentEdits.Edit;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.zip.CRC32;

/**
 * Edits of a settled file that leave it consistent: a field of its header, index or trailer is
 * another one, or a byte of a message, and all checksums are right again, also those in its index.
 */
final class SegmentEdits {
  private static final int HEADER = 128;
  private static final int TRAILER = 52;
  private static final int ENTRY = 28;
  private static final int HEAD = 16;

  private final byte[] good;
  private final int index;
  private final int end;

  private SegmentEdits(byte[] good) {
    this.good = good;
    this.end = good.length - TRAILER;
    this.index = (int) buffer(good).getLong(end + 8);
  }

  private static ByteBuffer buffer(byte[] bytes) {
    return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }

  /** Edits of header, index and trailer. */
  static List<Edit> ofIndex(byte[] segment) {
    var s = new SegmentEdits(segment);
    var edits = new ArrayList<Edit>();
    for (int at : new int[] {48, 56, 64, 72, 80, 120}) {
      s.numbers(edits, "header", at);
    }
    for (int at = s.index + HEAD; at < s.end; at += ENTRY) {
      s.numbers(edits, "index", at + 8);
      s.numbers(edits, "index", at + 16);
      for (int kind : new int[] {kind("SEGB"), kind("SEGL"), kind("SEGM"), kind("SEGI")}) {
        byte[] bad = segment.clone();
        buffer(bad).putInt(at, kind);
        s.add(edits, "index: kind at " + at + " is " + kind, bad);
      }
      for (int by : new int[] {-1, 1}) {
        byte[] bad = segment.clone();
        buffer(bad).putInt(at + 4, buffer(bad).getInt(at + 4) + by);
        s.add(edits, "index: length at " + at + " by " + by, bad);
      }
      s.add(edits, "index: without the entry at " + at, s.withoutEntry(at));
    }
    for (int at : new int[] {s.end + 8, s.end + 16, s.end + 24, s.end + 32, s.end + 40}) {
      s.numbers(edits, "trailer", at);
    }
    return edits;
  }

  /** A byte of each block's body is another one. */
  static List<Edit> ofBlocks(byte[] segment) {
    var s = new SegmentEdits(segment);
    var edits = new ArrayList<Edit>();
    for (int at = HEADER; at < s.index; at += HEAD + buffer(segment).getInt(at + 4)) {
      int length = HEAD + buffer(segment).getInt(at + 4);
      for (int i : new int[] {HEAD, HEAD + 8, length / 2, length - 1}) {
        if (i < length) {
          byte[] bad = segment.clone();
          bad[at + i] ^= 1;
          s.add(edits, "block at " + at + ": byte " + i, bad);
        }
      }
    }
    return edits;
  }

  private static int kind(String name) {
    byte[] b = name.getBytes(java.nio.charset.StandardCharsets.US_ASCII);
    return buffer(b).getInt();
  }

  private void numbers(List<Edit> edits, String part, int at) {
    long n = buffer(good).getLong(at);
    for (long other : new long[] {0, n - 1, n + 1, n + 3_000_000_000L}) {
      if (other != n) {
        byte[] bad = good.clone();
        buffer(bad).putLong(at, other);
        add(edits, part + ": " + at + " is " + other, bad);
      }
    }
  }

  private byte[] withoutEntry(int at) {
    var bad = new byte[good.length - ENTRY];
    System.arraycopy(good, 0, bad, 0, at);
    System.arraycopy(good, at + ENTRY, bad, at, good.length - at - ENTRY);
    ByteBuffer b = buffer(bad);
    b.putInt(index + 4, b.getInt(index + 4) - ENTRY);
    b.putInt(index + 8, b.getInt(index + 8) - ENTRY);
    int trailer = end - ENTRY;
    b.putLong(trailer + 16, b.getLong(trailer + 16) - ENTRY);
    return bad;
  }

  private void add(List<Edit> edits, String what, byte[] bad) {
    edits.add(new Edit(what, checksummed(bad)));
  }

  /** With the checksums of the header, of every block and of the trailer made right. */
  private byte[] checksummed(byte[] bad) {
    ByteBuffer b = buffer(bad);
    var crc = new CRC32();
    crc.update(bad, 0, 12);
    crc.update(bad, 16, HEADER - 16);
    int seed = (int) crc.getValue();
    b.putInt(12, seed);
    int trailer = bad.length - TRAILER;
    for (int at = HEADER; at + HEAD <= trailer; ) {
      int length = HEAD + b.getInt(at + 4);
      if (length < HEAD || at + length > trailer) {
        break;
      }
      int right = crc(seed, at, Arrays.copyOfRange(bad, at, at + 12), bad, at + HEAD, length);
      b.putInt(at + 12, right);
      for (int entry = index + HEAD; at < index && entry + ENTRY <= trailer; entry += ENTRY) {
        if (b.getLong(entry + 8) == at) {
          b.putInt(entry + 24, right);
        }
      }
      at += length;
    }
    b.putInt(
        trailer + 48, crc(seed, -1, Arrays.copyOfRange(bad, trailer, trailer + 48), bad, 0, HEAD));
    return bad;
  }

  /** Of the seed, an offset unless it is negative, some bytes, and a body of a block. */
  private static int crc(int seed, long offset, byte[] first, byte[] all, int body, int length) {
    var crc = new CRC32();
    ByteBuffer head = buffer(new byte[offset < 0 ? 4 : 12]).putInt(seed);
    if (offset >= 0) {
      head.putLong(offset);
    }
    crc.update(head.array());
    crc.update(first);
    crc.update(all, body, length - HEAD);
    return (int) crc.getValue();
  }
}
