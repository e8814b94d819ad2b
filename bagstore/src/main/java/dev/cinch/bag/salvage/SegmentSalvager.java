package dev.cinch.bag.salvage;

import dev.cinch.bag.format.Checkpoint;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.Envelope;
import dev.cinch.bag.format.Floor;
import dev.cinch.bag.format.SegmentBlock;
import dev.cinch.bag.format.SegmentBucket;
import dev.cinch.bag.format.SegmentDigests;
import dev.cinch.bag.format.SegmentHeader;
import dev.cinch.bag.format.SegmentTrailer;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.storage.InWords;
import dev.cinch.bag.storage.Stored;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The whole blocks of a log's segments, by bucket. Blocks are checksummed with the header's
 * checksum and their own offset; behind a damaged one it looks for the next. Reads every segment
 * once to find them, and the messages a second time. Not thread-safe.
 */
final class SegmentSalvager {
  private final StoreFs fs;
  private final SalvageSink sink;
  private final TreeMap<Long, Found> byBucket = new TreeMap<>();
  private final Map<Long, SegmentHeader> headers = new HashMap<>();
  private boolean damaged;
  private boolean damagedHere;

  /**
   * A block of messages.
   *
   * @param seed of its checksum
   * @param uncached whether it is whole past the cache only
   */
  private record Block(Path path, long offset, int length, int seed, boolean uncached) {}

  /** What segments hold of a bucket. */
  static final class Found {
    private final Path path;
    private final SegmentBucket bucket;
    private final List<Block> blocks = new ArrayList<>();
    private boolean doubted;

    private Found(Path path, SegmentBucket bucket) {
      this.path = path;
      this.bucket = bucket;
    }

    SegmentBucket bucket() {
      return bucket;
    }

    /** Whether a bucket that still stands counts: no checkpoint vouches for the segment. */
    boolean doubted() {
      return doubted;
    }
  }

  SegmentSalvager(StoreFs fs, SalvageSink sink) {
    this.fs = fs;
    this.sink = sink;
  }

  /** Buckets by start, as far as their bucket block is whole. */
  Map<Long, Found> byBucket() {
    return byBucket;
  }

  /**
   * Whether all that lies behind a checkpoint is here and whole. Then a bucket behind it that no
   * segment has does not exist (rule R2).
   */
  boolean hasAllBehind(Checkpoint c, Optional<Floor> floor) {
    long record = floor.map(Floor::record).orElse(0L);
    long to = floor.map(Floor::to).orElse(Long.MIN_VALUE);
    String digest = "";
    for (long n = floor.map(Floor::segment).orElse(0L) + 1; n <= c.segment(); n++) {
      SegmentHeader h = headers.get(n);
      if (h == null
          || !h.log().equals(c.log())
          || h.firstRecord() != record + 1
          || h.from() != to) {
        return false;
      }
      record = h.lastRecord();
      to = h.to();
      digest = h.lastDigest();
    }
    return !damaged && record == c.number() && to == c.to() && digest.equals(c.digest());
  }

  /** Where the first segment behind a floor begins; empty if its header is not whole. */
  OptionalLong begin(Floor floor) {
    SegmentHeader first = headers.get(floor.segment() + 1);
    return first == null ? OptionalLong.empty() : OptionalLong.of(first.from());
  }

  /**
   * Looks through one segment.
   *
   * @param pinned what the checkpoint says of it
   */
  void scan(long number, Path path, Optional<SegmentDigests> pinned) throws IOException {
    damagedHere = false;
    try (Stored in = PatchyFile.of(fs.read(path))) {
      long size = in.size();
      ByteBuffer header = read(in, 0, SegmentHeader.BYTES);
      if (header == null) {
        left(path, 0, size, "shorter than a header");
        return;
      }
      int seed = SegmentHeader.checksumOf(header);
      long width = header.getLong(120);
      try {
        SegmentHeader decoded = SegmentHeader.decode(header, path);
        if (decoded.number() == number) {
          headers.put(number, decoded);
        }
      } catch (DamagedException e) {
        left(path, 0, SegmentHeader.BYTES, "expected " + e.expected());
        seed = seedOf(in, size, seed);
        width = headers.isEmpty() ? width : headers.values().iterator().next().width();
      }
      blocks(path, in, size, seed, width);
      if (!damagedHere) {
        compare(path, in, size, pinned);
      }
    } catch (IOException e) {
      left(path, 0, 0, InWords.reason(e));
    }
    if (pinned.isEmpty()) {
      doubt(path);
    }
  }

  private void doubt(Path path) {
    for (Found f : byBucket.values()) {
      f.doubted |= f.path.equals(path);
    }
  }

  /** All is whole, so it is what somebody wrote; whether that is who published it, others tell. */
  private void compare(Path path, Stored in, long size, Optional<SegmentDigests> pinned)
      throws IOException {
    long end = size - SegmentTrailer.BYTES;
    ByteBuffer trailer = read(in, end, SegmentTrailer.BYTES);
    long index = trailer == null ? end : trailer.getLong(8);
    String other = "";
    if (index < SegmentHeader.BYTES || index > end) {
      other = "its index is not where its trailer says";
    } else {
      MessageDigest opened = Envelope.sha256();
      digest(in, 0, SegmentHeader.BYTES, opened);
      digest(in, index, size, opened);
      MessageDigest whole = Envelope.sha256();
      digest(in, 0, size, whole);
      var found = new SegmentDigests(hex(whole), hex(opened));
      if (pinned.isPresent() && !pinned.get().equals(found)) {
        other = "not the segment that the checkpoint names";
      }
    }
    if (!other.isEmpty()) {
      doubt(path);
      left(path, 0, 0, other);
    }
  }

  private static void digest(Stored in, long from, long to, MessageDigest into) throws IOException {
    for (long at = from; at < to; ) {
      ByteBuffer piece = read(in, at, (int) Math.min(1 << 16, to - at));
      if (piece == null) {
        return; // it is shorter now: then the digest differs
      }
      at += piece.remaining();
      into.update(piece);
    }
  }

  private static String hex(MessageDigest digest) {
    return HexFormat.of().formatHex(digest.digest());
  }

  /** What the trailer's checksum says, if the index agrees; else what stands in the header. */
  private static int seedOf(Stored in, long size, int stands) throws IOException {
    long end = size - SegmentTrailer.BYTES;
    ByteBuffer trailer = end < SegmentHeader.BYTES ? null : read(in, end, SegmentTrailer.BYTES);
    if (trailer == null) {
      return stands;
    }
    int seed = SegmentTrailer.seedOf(trailer);
    long index = trailer.getLong(8);
    boolean sound =
        index >= SegmentHeader.BYTES
            && index < end
            && whole(in, index, end - index, end, seed) != null;
    return sound ? seed : stands;
  }

  private void blocks(Path path, Stored in, long size, int seed, long width) throws IOException {
    long end = size - SegmentTrailer.BYTES;
    long offset = SegmentHeader.BYTES;
    long gap = -1;
    long zeros = 0;
    Found bucket = null;
    boolean index = false;
    ByteBuffer ahead = ByteBuffer.allocate(0);
    long aheadAt = 0;
    while (offset < end) {
      if (offset - aheadAt + SegmentBlock.HEAD > ahead.limit()) {
        ByteBuffer more = read(in, offset, (int) Math.min(1 << 16, size - offset));
        if (more == null) {
          break;
        }
        ahead = more;
        aheadAt = offset;
      }
      int kind = ahead.getInt((int) (offset - aheadAt));
      ByteBuffer block = null;
      boolean uncached = false;
      if (isKind(kind)) {
        long length = ahead.getInt((int) (offset - aheadAt) + 4) + (long) SegmentBlock.HEAD;
        block = whole(in, offset, length, end, seed);
        if (block == null) {
          uncached = true; // rule N5
          try (Stored past = PatchyFile.of(fs.readUncached(path))) {
            block = whole(past, offset, length, end, seed);
          }
        }
      }
      if (block == null) {
        gap = gap < 0 ? offset : gap;
        zeros = ahead.get((int) (offset - aheadAt)) == 0 ? zeros + 1 : 0;
        if (zeros > FrameSalvager.MOST_ZEROS) {
          break;
        }
        offset++;
        continue;
      }
      if (gap >= 0) {
        left(path, gap, offset - gap, "no whole block");
        gap = -1;
        bucket = null; // its bucket block may be what was lost
      }
      if (kind == SegmentBlock.BUCKET) {
        bucket = bucket(path, offset, block);
      } else if (kind == SegmentBlock.MESSAGES) {
        var found = new Block(path, offset, block.limit(), seed, uncached);
        bucket = messages(found, block, bucket, width);
      } else if (kind == SegmentBlock.INDEX) {
        index = true;
      }
      offset += block.limit();
    }
    if (gap >= 0 || !index) {
      left(path, gap < 0 ? offset : gap, size - (gap < 0 ? offset : gap), "no index at the end");
    }
  }

  private static boolean isKind(int kind) {
    return kind == SegmentBlock.BUCKET
        || kind == SegmentBlock.MESSAGES
        || kind == SegmentBlock.LEASES
        || kind == SegmentBlock.INDEX;
  }

  private static @Nullable ByteBuffer whole(Stored in, long offset, long length, long end, int seed)
      throws IOException {
    if (length < SegmentBlock.HEAD || offset + length > end || length > Integer.MAX_VALUE - 8) {
      return null;
    }
    ByteBuffer block = read(in, offset, (int) length);
    return block != null
            && SegmentBlock.checksum(seed, offset, block.array(), 0, block.limit())
                == block.getInt(8)
        ? block
        : null;
  }

  private @Nullable Found bucket(Path path, long offset, ByteBuffer block) throws IOException {
    ByteBuffer body = block.duplicate().order(ByteOrder.LITTLE_ENDIAN).position(SegmentBlock.HEAD);
    try {
      SegmentBucket b = SegmentBucket.decode(body, path, offset);
      return byBucket.computeIfAbsent(b.start(), start -> new Found(path, b));
    } catch (DamagedException e) {
      left(path, offset, block.limit(), "expected " + e.expected());
      return null;
    }
  }

  /**
   * Behind a gap the block's first timestamp tells which bucket it is of, if that one's block is
   * whole.
   */
  private @Nullable Found messages(
      Block found, ByteBuffer block, @Nullable Found bucket, long width) throws IOException {
    Found of = bucket;
    if (of == null && block.limit() >= SegmentBlock.HEAD + SegmentBlock.MESSAGE_OVERHEAD) {
      long first = block.getLong(SegmentBlock.HEAD + 12);
      Map.Entry<Long, Found> before = byBucket.floorEntry(first);
      of = before == null || first - before.getKey() >= width ? null : before.getValue();
    }
    if (of == null) {
      left(found.path(), found.offset(), found.length(), "messages whose bucket block is lost");
      return null;
    }
    of.blocks.add(found);
    return of;
  }

  private void left(Path path, long offset, long length, String why) throws IOException {
    damaged = true;
    damagedHere = true;
    sink.left(SalvageSink.Kind.DAMAGE, path, offset, length, why);
  }

  private static @Nullable ByteBuffer read(Stored in, long offset, int length) throws IOException {
    ByteBuffer into = ByteBuffer.allocate(length).order(ByteOrder.LITTLE_ENDIAN);
    int n = in.read(into, offset);
    return n < length ? null : into.flip();
  }

  /**
   * Reads a block that was whole once more, and checks it once more: since then a cache may have
   * taken in a bad page, or the disk gone on decaying.
   */
  private @Nullable ByteBuffer again(Block b) throws IOException {
    String why = "no whole block when it was read again";
    try {
      ByteBuffer block = b.uncached() ? null : whole(b, false);
      block = block == null ? whole(b, true) : block; // rule N5
      if (block != null) {
        return block;
      }
    } catch (IOException e) {
      why = InWords.reason(e);
    }
    left(b.path(), b.offset(), b.length(), why);
    return null;
  }

  private @Nullable ByteBuffer whole(Block b, boolean uncached) throws IOException {
    try (Stored in = PatchyFile.of(uncached ? fs.readUncached(b.path()) : fs.read(b.path()))) {
      return whole(in, b.offset(), b.length(), b.offset() + b.length(), b.seed());
    }
  }

  /** The messages of a bucket, in the order of the log. */
  Source messages(Found found) {
    return new Messages(found);
  }

  private final class Messages implements Source {
    private final Found found;
    private final Deque<Block> left;
    private ByteBuffer block = ByteBuffer.allocate(0);
    private @Nullable Salvaged current;

    Messages(Found found) {
      this.found = found;
      this.left = new ArrayDeque<>(found.blocks);
    }

    @Override
    public @Nullable Salvaged next() throws IOException {
      while (block.remaining() < SegmentBlock.MESSAGE_OVERHEAD) {
        Block b = left.poll();
        if (b == null) {
          current = null;
          return null;
        }
        ByteBuffer read = again(b);
        block = read == null ? ByteBuffer.allocate(0) : read.position(SegmentBlock.HEAD);
      }
      int at = block.position();
      int n = block.getInt(at);
      int file = block.getInt(at + 4);
      if (n < 0 || n > block.remaining() - SegmentBlock.MESSAGE_OVERHEAD) {
        block.position(block.limit());
        return next();
      }
      int from = at + SegmentBlock.MESSAGE_OVERHEAD;
      byte[] payload = Arrays.copyOfRange(block.array(), from, from + n);
      block.position(from + n);
      List<SegmentBucket.DataFile> files = found.bucket.files();
      String name = file >= 0 && file < files.size() ? files.get(file).name().toString() : "?";
      current =
          new Salvaged(
              block.getLong(at + 12),
              name,
              block.getLong(at + 20),
              payload,
              Salvaged.State.SETTLED);
      return current;
    }

    @Override
    public @Nullable Salvaged current() {
      return current;
    }

    @Override
    public void close() {}
  }
}
