package dev.cinch.bag.read;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.Envelope;
import dev.cinch.bag.format.SegmentBlock;
import dev.cinch.bag.format.SegmentBucket;
import dev.cinch.bag.format.SegmentDigests;
import dev.cinch.bag.format.SegmentHeader;
import dev.cinch.bag.format.SegmentIndex;
import dev.cinch.bag.format.SegmentTrailer;
import dev.cinch.bag.storage.LogStorage.Freshness;
import dev.cinch.bag.storage.Stored;
import dev.cinch.bag.store.CountingKeys;
import dev.cinch.bag.store.LogContext;
import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * One open segment (section 10). Every block is checked when it is read; one that fails is read
 * again past the cache before it is called damaged (rule N5). Memory: the index, 24 bytes for each
 * 64 KiB. Not thread-safe.
 */
@CheckReturnValue
public final class SegmentReader implements Closeable {
  private final LogContext log;
  private final Path path;
  private final Stored in;
  private final long size;
  private final SegmentHeader header;
  private final int seed;
  private final SegmentTrailer trailer;
  private final SegmentIndex index;
  private final ByteBuffer head;
  private final byte[] indexBlock;
  private final ByteBuffer end;
  private final String indexDigest;
  private final Optional<SegmentDigests> known;
  private @Nullable MessageDigest digest;
  private int digested;
  private @Nullable SegmentDigests digests;

  private SegmentReader(
      LogContext log, Path path, long number, Stored in, long size, SegmentMarks marks)
      throws IOException {
    this.known = marks.of(number);
    this.log = log;
    this.path = path;
    this.in = in;
    this.size = size;
    head = bytes(in, 0, SegmentHeader.BYTES);
    header = SegmentHeader.decode(head, path);
    seed = SegmentHeader.checksumOf(head);
    checkIdentity(header, log, number, path);
    long at = size - SegmentTrailer.BYTES;
    if (at < SegmentHeader.BYTES) {
      throw new DamagedException(path, size, "a trailer", "the end of the file");
    }
    end = bytes(in, at, SegmentTrailer.BYTES);
    trailer = SegmentTrailer.decode(end, seed, at, path);
    indexBlock = block(trailer.indexOffset(), (int) trailer.indexLength(), SegmentBlock.INDEX);
    var body = new byte[indexBlock.length - SegmentBlock.HEAD];
    System.arraycopy(indexBlock, SegmentBlock.HEAD, body, 0, body.length);
    index = SegmentIndex.decode(body, trailer.indexOffset(), path);
    MessageDigest opened = Envelope.sha256();
    opened.update(head.duplicate());
    indexDigest = endOf(opened);
    if (known.isPresent() && !known.get().index().equals(indexDigest)) {
      throw other("header, index and trailer of ", known.get().index(), indexDigest);
    }
    marks.checkMessages(number, trailer.messages(), path);
  }

  /**
   * Opens a segment that was published.
   *
   * @param marks what else says how it begins and ends
   * @throws DamagedException if it is not that segment of this log, also past the cache (rule N5);
   *     also if it is missing
   */
  public static SegmentReader open(LogContext log, long number, SegmentMarks marks)
      throws IOException {
    Path path = log.layout().segment(number);
    return look(log, number, marks, in -> open(log, path, number, in, marks));
  }

  private interface Opening<T> {
    T of(Stored in) throws IOException;
  }

  private static <T> T look(LogContext log, long number, SegmentMarks marks, Opening<T> opening)
      throws IOException {
    try {
      return opening.of(published(log, number, marks));
    } catch (DamagedException e) {
      Stored again;
      try {
        again = open(log, number, Freshness.CERTAIN);
      } catch (NoSuchFileException missing) {
        throw e;
      }
      return opening.of(again);
    }
  }

  /** As {@link #open(LogContext, long, SegmentMarks)}; nothing else says anything of it. */
  public static SegmentReader open(LogContext log, long number) throws IOException {
    return open(log, number, SegmentMarks.none(log));
  }

  /** Opens a segment past the cache; nothing else says anything of it. */
  public static SegmentReader openUncached(LogContext log, long number) throws IOException {
    Path path = log.layout().segment(number);
    return open(log, path, number, open(log, number, Freshness.CERTAIN), SegmentMarks.none(log));
  }

  /**
   * Opens the file of a segment that somebody published, and which nobody ever removes. A "no" is
   * not believed before every cache has expired, where this user does not see past them.
   *
   * @throws DamagedException if it is missing
   */
  private static Stored published(LogContext log, long number, SegmentMarks marks)
      throws IOException {
    return find(log, number, marks)
        .orElseThrow(
            () ->
                new DamagedException(
                    log.layout().segment(number), 0, "a segment that was published", "no file"));
  }

  private static Stored open(LogContext log, long number, Freshness freshness) throws IOException {
    return log.documents().open(log.layout().segment(number), freshness);
  }

  private static Optional<Stored> find(LogContext log, long number, SegmentMarks marks)
      throws IOException {
    while (true) {
      try {
        return Optional.of(open(log, number, Freshness.CACHED));
      } catch (NoSuchFileException e) {
        if (!marks.patience().again()) {
          return Optional.empty();
        }
      }
    }
  }

  /** Whether a segment is there; a "no" is believed as by {@link #open}. */
  public static boolean exists(LogContext log, long number, SegmentMarks marks) throws IOException {
    Optional<Stored> found = find(log, number, marks);
    if (found.isPresent()) {
      found.get().close();
    }
    return found.isPresent();
  }

  private static SegmentReader open(
      LogContext log, Path path, long number, Stored in, SegmentMarks marks) throws IOException {
    try {
      return new SegmentReader(log, path, number, in, in.size(), marks);
    } catch (IOException | RuntimeException e) {
      in.close();
      throw e;
    }
  }

  /**
   * Reads the header only of a segment that was published.
   *
   * @throws DamagedException as {@link #open(LogContext, long, SegmentMarks)}
   */
  public static SegmentHeader header(LogContext log, long number, SegmentMarks marks)
      throws IOException {
    Path path = log.layout().segment(number);
    return look(
        log,
        number,
        marks,
        in -> {
          try (in) {
            return checked(log, path, number, in);
          }
        });
  }

  private static SegmentHeader checked(LogContext log, Path path, long number, Stored in)
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

  private static ByteBuffer bytes(Stored in, long offset, int length) throws IOException {
    ByteBuffer buffer = ByteBuffer.allocate(length).order(ByteOrder.LITTLE_ENDIAN);
    int unused = in.read(buffer, offset);
    return buffer.flip();
  }

  /**
   * From now on the digest of the whole file is computed of the blocks as they are read in their
   * order for the first time, so that it is of the very bytes whose checksums were right.
   */
  void beginDigest() {
    MessageDigest whole = Envelope.sha256();
    whole.update(head.duplicate());
    digest = whole;
    digested = 0;
  }

  /**
   * The digests, once all blocks were read since {@link #beginDigest}.
   *
   * @throws IllegalStateException if they were not
   */
  SegmentDigests digests() {
    SegmentDigests computed = digests;
    if (computed == null) {
      throw new IllegalStateException("not all blocks were read");
    }
    return computed;
  }

  /** Whether something says what digest the whole file must have. */
  boolean isPinned() {
    return known.isPresent();
  }

  /**
   * At the end of the last block: if all were read, in order, the whole file must have the digest
   * that the checkpoint says.
   */
  void checkEnd() throws DamagedException {
    MessageDigest whole = digest;
    if (whole == null || digested < index.size()) {
      return;
    }
    digest = null;
    var found = new SegmentDigests(endOf(whole), indexDigest);
    digests = found;
    if (known.isPresent() && !known.get().equals(found)) {
      throw other("", known.get().sha256(), found.sha256());
    }
  }

  private DamagedException other(String what, String expected, String found) {
    return new DamagedException(
        path, 0, what + "SHA-256 " + expected + " (the checkpoint says)", found);
  }

  /** A digest once the index block and the trailer were added. */
  private String endOf(MessageDigest whole) {
    whole.update(indexBlock);
    whole.update(end.duplicate());
    return HexFormat.of().formatHex(whole.digest());
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
    byte[] block = block(index.offset(i), index.length(i), index.kind(i));
    if (digest != null && i == digested) {
      digest.update(block);
      digested++;
    }
    return block;
  }

  private byte[] block(long offset, int length, int kind) throws IOException {
    ByteBuffer block = bytes(in, offset, length);
    if (!valid(block, offset, length, kind)) {
      try (Stored again = open(log, header.number(), Freshness.CERTAIN)) { // rule N5
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
    return new SegmentCursor(this, from, to, null);
  }

  /** As {@link #messages(long, long)}, with leases judged by the keys that count. */
  SegmentCursor messages(long from, long to, CountingKeys keys) throws IOException {
    return new SegmentCursor(this, from, to, keys);
  }

  @Override
  public void close() throws IOException {
    in.close();
  }
}
