package dev.cinch.bag.audit;

import dev.cinch.bag.format.Checkpoint;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.Envelope;
import dev.cinch.bag.format.Floor;
import dev.cinch.bag.format.SegmentBlock;
import dev.cinch.bag.format.SegmentBucket;
import dev.cinch.bag.format.SegmentHeader;
import dev.cinch.bag.format.SegmentIndex;
import dev.cinch.bag.format.SegmentMessages;
import dev.cinch.bag.format.SegmentTrailer;
import dev.cinch.bag.model.InWords;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Stored;
import dev.cinch.bag.storage.Freshness;
import dev.cinch.bag.storage.Storage;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
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
 * The whole blocks of a log's segments, or of one lock, by bucket. Blocks are checksummed with the
 * header's checksum and their own offset; behind a damaged one it looks for the next. Reads every
 * segment once to find them, and the messages a second time. Not thread-safe.
 */
final class SegmentSalvager {
  /**
   * Behind so many zeros no further block is looked for: to read a hole of a terabyte takes long.
   */
  private static final long MOST_ZEROS = 1L << 28;

  private final Storage storage;
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
  private record Block(Name path, long offset, int length, int seed, boolean uncached) {}

  /** What segments hold of a bucket. */
  static final class Found {
    private final Name path;
    private final SegmentBucket bucket;
    private final List<Block> blocks = new ArrayList<>();
    private boolean doubted;

    private Found(Name path, SegmentBucket bucket) {
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

  SegmentSalvager(Storage storage, SalvageSink sink) {
    this.storage = storage;
    this.sink = sink;
  }

  /** Whether all that was scanned is whole, and what something else says that it is. */
  boolean isWhole() {
    return !damaged;
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
   * Looks through one segment, or lock.
   *
   * @param number of the segment; 0 for a lock
   * @param pinned what a checkpoint or a record says of it
   */
  void scan(long number, Name path, Optional<String> pinned) throws IOException {
    damagedHere = false;
    try (Stored in = PatchyFile.of(storage.open(path, Freshness.CACHED))) {
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

  private void doubt(Name path) {
    for (Found f : byBucket.values()) {
      f.doubted |= f.path.equals(path);
    }
  }

  /** All is whole, so it is what somebody wrote; whether that is who published it, others tell. */
  private void compare(Name path, Stored in, long size, Optional<String> pinned)
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
      String found = HexFormat.of().formatHex(opened.digest());
      if (pinned.isPresent() && !pinned.get().equals(found)) {
        other = "not the one that a record or a checkpoint names";
      } else if (!isIndexed(path, in, index, end)) {
        other = "its blocks are not those that its index names";
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

  /** Whether the index has the checksums of the blocks that stand there, which were whole. */
  private static boolean isIndexed(Name path, Stored in, long at, long end) throws IOException {
    ByteBuffer block = read(in, at, (int) (end - at));
    if (block == null) {
      return false;
    }
    try {
      ByteBuffer body = SegmentBlock.body(block.array(), path, at);
      var entries = new byte[body.remaining()];
      body.get(entries);
      SegmentIndex index = SegmentIndex.decode(entries, at, path);
      for (int i = 0; i < index.size(); i++) {
        ByteBuffer head = read(in, index.offset(i), SegmentBlock.HEAD);
        if (head == null || SegmentBlock.checksumOf(head) != index.checksum(i)) {
          return false;
        }
      }
      return true;
    } catch (DamagedException e) {
      return false;
    }
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

  private void blocks(Name path, Stored in, long size, int seed, long width) throws IOException {
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
          try (Stored past = PatchyFile.of(storage.open(path, Freshness.CERTAIN))) {
            block = whole(past, offset, length, end, seed);
          }
        }
      }
      if (block == null) {
        gap = gap < 0 ? offset : gap;
        zeros = ahead.get((int) (offset - aheadAt)) == 0 ? zeros + 1 : 0;
        if (zeros > MOST_ZEROS) {
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
                == SegmentBlock.checksumOf(block)
        ? block
        : null;
  }

  private @Nullable Found bucket(Name path, long offset, ByteBuffer block) throws IOException {
    try {
      SegmentBucket b =
          SegmentBucket.decode(SegmentBlock.body(block.array(), path, offset), path, offset);
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
    if (of == null) {
      try {
        long first = messages(found, block).timestamp();
        Map.Entry<Long, Found> before = byBucket.floorEntry(first);
        of = before == null || first - before.getKey() >= width ? null : before.getValue();
      } catch (DamagedException e) {
        left(found.path(), found.offset(), found.length(), "expected " + e.expected());
        return null;
      }
    }
    if (of == null) {
      left(found.path(), found.offset(), found.length(), "messages whose bucket block is lost");
      return null;
    }
    of.blocks.add(found);
    return of;
  }

  private static SegmentMessages messages(Block b, ByteBuffer block) throws DamagedException {
    ByteBuffer body = SegmentBlock.body(block.array(), b.path(), b.offset());
    return new SegmentMessages(body, b.path(), b.offset());
  }

  private void left(Name path, long offset, long length, String why) throws IOException {
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
    try (Stored in =
        PatchyFile.of(storage.open(b.path(), uncached ? Freshness.CERTAIN : Freshness.CACHED))) {
      return whole(in, b.offset(), b.length(), b.offset() + b.length(), b.seed());
    }
  }

  /** The messages of a bucket, in the order of the log. */
  Source messages(Found found, Salvaged.State state) {
    return new Messages(found, state);
  }

  private final class Messages implements Source {
    private final Found found;
    private final Salvaged.State state;
    private final Deque<Block> left;
    private @Nullable SegmentMessages messages;
    private @Nullable Salvaged current;

    Messages(Found found, Salvaged.State state) {
      this.found = found;
      this.state = state;
      this.left = new ArrayDeque<>(found.blocks);
    }

    @Override
    public @Nullable Salvaged next() throws IOException {
      current = null;
      while (current == null && (messages != null || !left.isEmpty())) {
        try {
          if (messages == null) {
            Block b = left.remove();
            ByteBuffer block = again(b);
            messages = block == null ? null : messages(b, block);
          } else if (messages.next()) {
            current = salvaged(messages);
          } else {
            messages = null;
          }
        } catch (DamagedException e) {
          messages = null;
          left(e.path(), e.offset(), 0, "expected " + e.expected());
        }
      }
      return current;
    }

    private Salvaged salvaged(SegmentMessages m) {
      List<SegmentBucket.DataFile> files = found.bucket.files();
      String name = m.file() < files.size() ? files.get(m.file()).name().toString() : "?";
      byte[] payload = Arrays.copyOfRange(m.bytes(), m.payload(), m.payload() + m.length());
      return new Salvaged(m.timestamp(), name, m.position(), payload, state);
    }

    @Override
    public @Nullable Salvaged current() {
      return current;
    }

    @Override
    public void close() {}
  }
}
