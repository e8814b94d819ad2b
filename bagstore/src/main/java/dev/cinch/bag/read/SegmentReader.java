package dev.cinch.bag.read;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.SegmentBlock;
import dev.cinch.bag.format.SegmentBucket;
import dev.cinch.bag.format.SegmentHeader;
import dev.cinch.bag.format.SegmentIndex;
import dev.cinch.bag.format.SegmentTrailer;
import dev.cinch.bag.fs.StoreFile;
import dev.cinch.bag.store.LogContext;
import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.Optional;

/**
 * One open segment (section 10). Every block is checked when it is read; one that fails is read
 * again past the cache before it is called damaged (rule N5). Memory: the index, 24 bytes for each
 * 64 KiB. Not thread-safe.
 */
@CheckReturnValue
public final class SegmentReader implements Closeable {
  private final LogContext log;
  private final Path path;
  private final StoreFile in;
  private final long size;
  private final SegmentHeader header;
  private final int seed;
  private final SegmentTrailer trailer;
  private final SegmentIndex index;

  private SegmentReader(LogContext log, Path path, long number, StoreFile in, long size)
      throws IOException {
    this.log = log;
    this.path = path;
    this.in = in;
    this.size = size;
    ByteBuffer head = bytes(in, 0, SegmentHeader.BYTES);
    header = SegmentHeader.decode(head, path);
    seed = SegmentHeader.checksumOf(head);
    checkIdentity(header, log, number, path);
    long end = size - SegmentTrailer.BYTES;
    if (end < SegmentHeader.BYTES) {
      throw new DamagedException(path, size, "a trailer", "the end of the file");
    }
    trailer = SegmentTrailer.decode(bytes(in, end, SegmentTrailer.BYTES), seed, end, path);
    byte[] block = block(trailer.indexOffset(), (int) trailer.indexLength(), SegmentBlock.INDEX);
    var body = new byte[block.length - SegmentBlock.HEAD];
    System.arraycopy(block, SegmentBlock.HEAD, body, 0, body.length);
    index = SegmentIndex.decode(body, trailer.indexOffset(), path);
  }

  /**
   * Opens a segment that was published.
   *
   * @throws DamagedException if it is not that segment of this log, also past the cache (rule N5)
   */
  public static SegmentReader open(LogContext log, long number) throws IOException {
    Path path = log.layout().segment(number);
    try {
      return open(log, path, number, log.store().fresh().read(path));
    } catch (DamagedException e) {
      return open(log, path, number, log.store().fs().readUncached(path));
    }
  }

  private static SegmentReader open(LogContext log, Path path, long number, StoreFile in)
      throws IOException {
    try {
      long size = log.store().fs().status(path).size();
      return new SegmentReader(log, path, number, in, size);
    } catch (IOException | RuntimeException e) {
      in.close();
      throw e;
    }
  }

  /** Reads a segment's header only. */
  public static SegmentHeader header(LogContext log, long number) throws IOException {
    Path path = log.layout().segment(number);
    try (StoreFile in = log.store().fresh().read(path)) {
      return checked(log, path, number, in);
    } catch (DamagedException e) {
      try (StoreFile in = log.store().fs().readUncached(path)) {
        return checked(log, path, number, in);
      }
    }
  }

  private static SegmentHeader checked(LogContext log, Path path, long number, StoreFile in)
      throws IOException {
    SegmentHeader header = SegmentHeader.decode(bytes(in, 0, SegmentHeader.BYTES), path);
    checkIdentity(header, log, number, path);
    return header;
  }

  private static void checkIdentity(SegmentHeader h, LogContext log, long number, Path path)
      throws DamagedException {
    if (!h.store().equals(log.store().identity().id())
        || !h.log().equals(log.id())
        || h.number() != number
        || h.width() != log.bucketWidth()) {
      throw new DamagedException(
          path, 16, "segment " + number + " of log " + log.id(), h.number() + " of " + h.log());
    }
  }

  private static ByteBuffer bytes(StoreFile in, long offset, int length) throws IOException {
    ByteBuffer buffer = ByteBuffer.allocate(length).order(ByteOrder.LITTLE_ENDIAN);
    int unused = in.read(buffer, offset);
    return buffer.flip();
  }

  LogContext log() {
    return log;
  }

  public Path path() {
    return path;
  }

  /** Bytes of the whole file. */
  public long size() {
    return size;
  }

  public SegmentHeader header() {
    return header;
  }

  public SegmentTrailer trailer() {
    return trailer;
  }

  public SegmentIndex index() {
    return index;
  }

  /** A block's bytes, head and body, checked. */
  byte[] block(int i) throws IOException {
    return block(index.offset(i), index.length(i), index.kind(i));
  }

  private byte[] block(long offset, int length, int kind) throws IOException {
    ByteBuffer block = bytes(in, offset, length);
    if (!valid(block, offset, length, kind)) {
      try (StoreFile again = log.store().fs().readUncached(path)) { // rule N5
        block = bytes(again, offset, length);
      }
      if (!valid(block, offset, length, kind)) {
        throw new DamagedException(
            path, offset, "a block of " + length + " bytes with a valid checksum", "none");
      }
    }
    return block.array();
  }

  private boolean valid(ByteBuffer block, long offset, int length, int kind) {
    return block.remaining() == length
        && block.getInt(0) == kind
        && block.getInt(4) == length - SegmentBlock.HEAD
        && block.getInt(8) == SegmentBlock.checksum(seed, offset, block.array(), 0, length);
  }

  /**
   * What the segment keeps of a bucket's lock; empty if there is no such bucket (rule H1).
   *
   * @param start of a bucket in the segment's range
   */
  public Optional<SegmentBucket> bucket(long start) throws IOException {
    int i = index.before(start);
    if (i == index.size() || index.time(i) != start || index.kind(i) != SegmentBlock.BUCKET) {
      return Optional.empty();
    }
    return Optional.of(bucketAt(i));
  }

  SegmentBucket bucketAt(int i) throws IOException {
    byte[] block = block(i);
    ByteBuffer body =
        ByteBuffer.wrap(block, SegmentBlock.HEAD, block.length - SegmentBlock.HEAD)
            .order(ByteOrder.LITTLE_ENDIAN);
    SegmentBucket bucket = SegmentBucket.decode(body, path, index.offset(i));
    long first = bucket.start();
    if (first != index.time(i) || first < header.from() || first >= header.to()) {
      throw new DamagedException(path, index.offset(i), "the bucket " + index.time(i), "" + first);
    }
    return bucket;
  }

  /** The segment's messages with timestamps in {@code [from, to)}, in order, all that there are. */
  public SegmentCursor messages(long from, long to) throws IOException {
    return new SegmentCursor(this, from, to);
  }

  @Override
  public void close() throws IOException {
    in.close();
  }
}
