package dev.cinch.examples;

import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.SegmentBlock;
import dev.cinch.bag.format.SegmentMessages;
import dev.cinch.bag.model.Name;
import dev.cinch.examples.DocumentEdits.Edit;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.zip.CRC32;

/**
 * Edits of a settled file that leave it consistent: a field of its header, index or trailer, a byte
 * of a body, a block, a hole or a message is another one, and all checksums are right again.
 */
final class SegmentEdits {
  private static final int HEADER = 128;
  private static final int TRAILER = 52;
  private static final int ENTRY = 28;
  private static final int HEAD = 16;

  private static final int FILES_AT = 28;

  private final byte[] good;
  private final int index;
  private final int end;
  private final List<Edit> edits = new ArrayList<>();

  private SegmentEdits(byte[] good) {
    this.good = good;
    this.end = good.length - TRAILER;
    this.index = (int) buffer(good).getLong(end + 8);
  }

  /** A block whose body is not packed. */
  private record Block(int kind, long time, byte[] body) {
    Block with(byte[] other) {
      return new Block(kind, time, other);
    }
  }

  private record Line(int file, int set, long since, long position, byte[] payload) {}

  static ByteBuffer buffer(byte[] bytes) {
    return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }

  static boolean isSettledFile(byte[] bytes) {
    return bytes.length > HEADER + TRAILER && buffer(bytes).getInt(4) == kind("HSEG");
  }

  /** What names a settled file: its header, its index block and its trailer. */
  static byte[] named(byte[] file) {
    long at = buffer(file).getLong(file.length - TRAILER + 8);
    int index = at < HEADER || at > file.length - TRAILER ? HEADER : (int) at;
    byte[] ends = Arrays.copyOf(file, HEADER + file.length - index);
    System.arraycopy(file, index, ends, HEADER, file.length - index);
    return ends;
  }

  /** The same segment behind another last record. */
  static byte[] endingWith(byte[] segment, byte[] digest) {
    byte[] other = segment.clone();
    System.arraycopy(digest, 0, other, 88, digest.length);
    var s = new SegmentEdits(segment);
    return s.checksummed(other, s.index);
  }

  /** Edits of header, index and trailer. */
  static List<Edit> ofIndex(byte[] segment) {
    var s = new SegmentEdits(segment);
    for (int at : new int[] {16, 32, 48, 56, 64, 72, 80, 88, 120}) {
      s.numbers("header", at);
    }
    for (int at = s.index + HEAD; at < s.end; at += ENTRY) {
      s.numbers("index", at + 8);
      s.numbers("index", at + 16);
      for (int kind : new int[] {kind("SEGB"), kind("SEGL"), kind("SEGM"), kind("SEGI")}) {
        byte[] bad = segment.clone();
        buffer(bad).putInt(at, kind);
        s.add("index: kind at " + at + " is " + kind, bad);
      }
      for (int by : new int[] {-1, 1}) {
        byte[] bad = segment.clone();
        buffer(bad).putInt(at + 4, buffer(bad).getInt(at + 4) + by);
        s.add("index: length at " + at + " by " + by, bad);
      }
    }
    for (int at = s.end + 8; at <= s.end + 40; at += 8) {
      s.numbers("trailer", at);
    }
    return s.edits;
  }

  /** A byte of each block's body is another one, as it stands, and the index knows or does not. */
  static List<Edit> ofBlocks(byte[] segment) {
    var s = new SegmentEdits(segment);
    for (int at = HEADER; at < s.index; at += HEAD + buffer(segment).getInt(at + 4)) {
      int length = HEAD + buffer(segment).getInt(at + 4);
      for (int i : new int[] {8, HEAD, HEAD + 8, length / 2, length - 1}) {
        if (i < length) {
          byte[] bad = segment.clone();
          bad[at + i] ^= 1;
          byte[] known = s.checksummed(bad.clone(), s.index);
          s.edits.add(new Edit("block at " + at + ": byte " + i, known));
          byte[] unknown = known.clone();
          System.arraycopy(segment, s.index, unknown, s.index, segment.length - s.index);
          s.edits.add(new Edit("block at " + at + ", not its index: byte " + i, unknown));
        }
      }
    }
    return s.edits;
  }

  /** Other blocks, and each byte of a body that is not packed. */
  static List<Edit> ofBodies(byte[] segment) throws DamagedException {
    var s = new SegmentEdits(segment);
    List<Block> blocks = s.blocks();
    s.put("not packed", blocks);
    s.put("no block", List.of());
    for (int i = 0; i < blocks.size(); i++) {
      Block b = blocks.get(i);
      String block = "block " + i;
      s.put(block + " left out", s.spliced(blocks, i, 1));
      s.put(block + " twice", s.spliced(blocks, i, 0, b));
      for (long by : new long[] {-1, 1}) {
        s.put(
            block + ", its time by " + by,
            s.with(blocks, i, new Block(b.kind, b.time + by, b.body)));
      }
      if (i > 0) {
        s.put(block + " first", s.spliced(s.spliced(blocks, i, 1), 0, 0, b));
      }
      s.put(block + " behind leases of nobody", s.spliced(blocks, i, 0, nobody(b.time)));
      s.put(block + " behind no messages", s.spliced(blocks, i, 0, none(b.time)));
      int step = b.kind == kind("SEGL") ? 13 : 1;
      for (int at = 0; at < b.body.length; at += step) {
        for (int value : new int[] {b.body[at] ^ 1, b.body[at] + 2, 0xff}) {
          byte[] body = b.body.clone();
          body[at] = (byte) value;
          s.put(block + ": byte " + at + " is " + value, s.with(blocks, i, b.with(body)));
        }
      }
      if (b.kind == kind("SEGB")) {
        s.buckets(blocks, i);
      } else if (b.kind == kind("SEGM")) {
        s.messages(blocks, i);
      }
    }
    return s.edits;
  }

  private List<Block> blocks() throws DamagedException {
    var blocks = new ArrayList<Block>();
    ByteBuffer in = buffer(good);
    for (int at = index + HEAD; at < end; at += ENTRY) {
      int from = (int) in.getLong(at + 8);
      byte[] block = Arrays.copyOfRange(good, from, from + in.getInt(at + 4));
      ByteBuffer unpacked = SegmentBlock.body(block, new Name("segment"), from);
      var body = new byte[unpacked.remaining()];
      unpacked.get(body);
      blocks.add(new Block(in.getInt(at), in.getLong(at + 16), body));
    }
    return blocks;
  }

  /** Other files and holes of a bucket. */
  private void buckets(List<Block> blocks, int i) {
    ByteBuffer in = buffer(blocks.get(i).body);
    var files = new ArrayList<byte[]>();
    int at = FILES_AT;
    for (int f = 0; f < in.getInt(20); f++) {
      int length = 17 + in.get(at + 16);
      files.add(Arrays.copyOfRange(in.array(), at, at + length));
      at += length;
    }
    byte[] first = files.get(0);
    byte[] last = files.get(files.size() - 1);
    long n = buffer(first).getLong(0);
    long[][] none = {};
    bucket("the last file first", blocks, i, List.of(last, first), none);
    bucket("the first file twice", blocks, i, List.of(first, first), none);
    bucket("the first file alone", blocks, i, List.of(first), none);
    for (long[] f : new long[][] {{n, 0}, {n, -1}, {n, 1000}, {-1, 1}, {1, 1}, {0, 1}, {0, 0}}) {
      byte[] other = first.clone();
      buffer(other).putLong(0, f[0]).putLong(8, f[1]);
      String what = "a file of %d bytes with %d messages".formatted(f[0], f[1]);
      bucket(what, blocks, i, files.size() > 1 ? List.of(other, last) : List.of(other), none);
    }
    for (long[][] h :
        new long[][][] {
          {{0, 9, 9, 1}},
          {{0, 9, 8, 1}},
          {{0, -1, 9, 1}},
          {{0, 9, 10, -1}},
          {{0, n, n + 1, 1}},
          {{0, 9, n + 1, 1}},
          {{0, 9, 20, 0}, {0, 19, 30, 0}},
          {{0, 9, 20, -2}},
          {{9, 9, 20, 1}},
          {{0, 20, 30, 0}, {0, 9, 19, 0}},
          {{0, 9, 20, 0}},
          {{0, n, n + 9, -1}},
          {{-1, 9, 20, 1}}
        }) {
      bucket("holes " + Arrays.deepToString(h), blocks, i, files, h);
    }
  }

  private void bucket(String what, List<Block> blocks, int i, List<byte[]> files, long[][] holes) {
    ByteBuffer out = buffer(new byte[1 << 12]);
    out.put(blocks.get(i).body, 0, 20).putInt(files.size()).putInt(holes.length);
    files.forEach(out::put);
    for (long[] h : holes) {
      out.putInt((int) h[0]).putLong(h[1]).putLong(h[2]).putLong(h[3]);
    }
    byte[] body = Arrays.copyOf(out.array(), out.position());
    put("block " + i + ": " + what, with(blocks, i, blocks.get(i).with(body)));
  }

  /** Other messages of a block. */
  private void messages(List<Block> blocks, int i) throws DamagedException {
    Block b = blocks.get(i);
    var in = new SegmentMessages(buffer(b.body), new Name("segment"), 0);
    var all = new ArrayList<Line>();
    long time = b.time;
    while (in.next()) {
      byte[] text = Arrays.copyOfRange(in.bytes(), in.payload(), in.payload() + in.length());
      all.add(new Line(in.file(), in.leaseSet(), in.timestamp() - time, in.position(), text));
      time = in.timestamp();
    }
    for (int m = 0; m < all.size(); m++) {
      Line l = all.get(m);
      String what = "block " + i + ", message " + m;
      put(what + " left out", with(blocks, i, lines(b, spliced(all, m, 1))));
      put(what + " twice", with(blocks, i, lines(b, spliced(all, m, 0, l))));
      for (Line other :
          List.of(
              new Line(l.file + 1, l.set, l.since, l.position, l.payload),
              new Line(l.file, l.set + 1, l.since, l.position, l.payload),
              new Line(l.file, 0, l.since, l.position, l.payload),
              new Line(l.file, l.set, l.since, l.position + 1, l.payload),
              new Line(l.file, l.set, 0, l.position, l.payload),
              new Line(l.file, l.set, l.since + 1_000_000_000, l.position, l.payload),
              new Line(l.file, l.set, Long.MAX_VALUE, l.position, l.payload),
              new Line(l.file, l.set, l.since, l.position, new byte[0]))) {
        put(what + " is " + other, with(blocks, i, lines(b, with(all, m, other))));
      }
    }
    for (int m = 1; m < all.size(); m++) { // of one time, the later file first
      Line early = all.get(m - 1);
      Line late = all.get(m);
      long since = early.since + late.since;
      var first = new Line(late.file, late.set, since, late.position, late.payload);
      var then = new Line(early.file, early.set, 0, early.position, early.payload);
      List<Line> turned = with(with(all, m - 1, first), m, then);
      put("block " + i + ", messages turned round at " + m, with(blocks, i, lines(b, turned)));
    }
  }

  private static Block lines(Block b, List<Line> lines) {
    var out = new ByteArrayOutputStream();
    out.writeBytes(buffer(new byte[8]).putLong(b.time).array());
    for (Line l : lines) {
      for (long n : new long[] {l.payload.length, l.file, l.set, l.since, l.position}) {
        long left = n;
        for (; (left & ~0x7fL) != 0; left >>>= 7) {
          out.write((int) (left | 0x80));
        }
        out.write((int) left);
      }
      out.writeBytes(l.payload);
    }
    return b.with(out.toByteArray());
  }

  private static Block none(long time) {
    return new Block(kind("SEGM"), time, buffer(new byte[8]).putLong(time).array());
  }

  /** A witness of nobody, and a set of it. */
  private static Block nobody(long time) {
    ByteBuffer body = buffer(new byte[15]);
    body.putInt(2 << 28 | 3).put(new byte[3]).putInt(3 << 28 | 4).putInt(1);
    return new Block(kind("SEGL"), time, body.array());
  }

  private <T> List<T> with(List<T> all, int i, T other) {
    return spliced(all, i, 1, other);
  }

  /** With some left out at a place, and others put there. */
  @SafeVarargs
  private <T> List<T> spliced(List<T> all, int i, int without, T... others) {
    var copy = new ArrayList<T>(all.subList(0, i));
    copy.addAll(List.of(others));
    copy.addAll(all.subList(i + without, all.size()));
    return copy;
  }

  private static int kind(String name) {
    byte[] b = name.getBytes(java.nio.charset.StandardCharsets.US_ASCII);
    return buffer(b).getInt();
  }

  private void numbers(String part, int at) {
    long n = buffer(good).getLong(at);
    for (long other : new long[] {0, n - 1, n + 1, n + 3_000_000_000L}) {
      if (other != n) {
        byte[] bad = good.clone();
        buffer(bad).putLong(at, other);
        add(part + ": " + at + " is " + other, bad);
      }
    }
  }

  private void add(String what, byte[] bad) {
    edits.add(new Edit(what, checksummed(bad, index)));
  }

  /** The file of these blocks; only the number of messages and the newest one are as they were. */
  private void put(String what, List<Block> blocks) {
    int body = blocks.stream().mapToInt(b -> HEAD + b.body.length).sum();
    int at = HEADER + body;
    ByteBuffer out = buffer(new byte[at + HEAD + ENTRY * blocks.size() + TRAILER]);
    out.put(good, 0, HEADER);
    ByteBuffer entries = out.duplicate().order(ByteOrder.LITTLE_ENDIAN).position(at);
    int indexLength = ENTRY * blocks.size();
    entries.putInt(kind("SEGI")).putInt(indexLength).putInt(indexLength).putInt(0);
    for (Block b : blocks) {
      entries.putInt(b.kind).putInt(HEAD + b.body.length).putLong(out.position());
      entries.putLong(b.time).putInt(0);
      out.putInt(b.kind).putInt(b.body.length).putInt(b.body.length).putInt(0).put(b.body);
    }
    entries.put(good, end, TRAILER);
    long buckets = blocks.stream().filter(b -> b.kind == kind("SEGB")).count();
    int trailer = entries.position() - TRAILER;
    entries.putLong(trailer + 8, at).putLong(trailer + 16, HEAD + indexLength);
    entries.putLong(trailer + 32, buckets);
    edits.add(new Edit(what, checksummed(out.array(), at)));
  }

  /** With the checksums of the header, of every block and of the trailer made right. */
  private byte[] checksummed(byte[] bad, int index) {
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
