package dev.cinch.bag.file;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.Envelope;
import dev.cinch.bag.format.SegmentBlock;
import dev.cinch.bag.format.SegmentBucket;
import dev.cinch.bag.format.SegmentContent;
import dev.cinch.bag.format.SegmentHeader;
import dev.cinch.bag.format.SegmentIndex;
import dev.cinch.bag.format.SegmentMessages;
import dev.cinch.bag.format.SegmentTrailer;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Stored;
import dev.cinch.bag.storage.Freshness;
import dev.cinch.bag.store.CountingKeys;
import dev.cinch.bag.store.LogContext;
import dev.cinch.lease.witness.TrustedKeys;
import dev.cinch.lease.witness.WitnessVerifier;
import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.NoSuchFileException;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.Optional;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/**
 * One open settled file: a segment (section 10) or the lock of a bucket. Every block is checked
 * against the index when it is read; one that fails is read again past the cache before it is
 * called damaged (rule N5). Memory: the index, 28 bytes for each 64 KiB. Not thread-safe.
 */
@CheckReturnValue
public final class SegmentReader implements Closeable {
  private final LogContext log;
  private final Name path;
  private Stored in;
  private final long size;
  private final SegmentHeader header;
  private final int seed;
  private final SegmentTrailer trailer;
  private final SegmentIndex index;
  private final ByteBuffer head;
  private final byte[] indexBlock;
  private final ByteBuffer end;
  private final String digest;

  private SegmentReader(LogContext log, Place place, Stored in, long size, SegmentMarks marks)
      throws IOException {
    this.path = place.path();
    this.log = log;
    this.in = in;
    this.size = size;
    head = bytes(in, 0, SegmentHeader.BYTES);
    header = SegmentHeader.decode(head, path);
    seed = SegmentHeader.checksumOf(head);
    place.check(header, log);
    long at = size - SegmentTrailer.BYTES;
    if (at < SegmentHeader.BYTES) {
      throw new DamagedException(path, size, "a trailer", "the end of the file");
    }
    end = bytes(in, at, SegmentTrailer.BYTES);
    trailer = SegmentTrailer.decode(end, seed, at, path);
    indexBlock =
        block(trailer.indexOffset(), (int) trailer.indexLength(), SegmentBlock.INDEX, null);
    ByteBuffer body = SegmentBlock.body(indexBlock, path, trailer.indexOffset());
    var entries = new byte[body.remaining()];
    body.get(entries);
    index = SegmentIndex.decode(entries, trailer.indexOffset(), path);
    if (header.isOfBucket() && index.bucket(header.from()).orElse(-1) != 0) {
      throw new DamagedException(path, trailer.indexOffset(), "the lock's bucket first", "none");
    }
    MessageDigest opened = Envelope.sha256();
    opened.update(head.duplicate());
    digest = endOf(opened);
    Optional<String> known = marks.of(place.number());
    if (known.isPresent() && !known.get().equals(digest)) {
      throw new DamagedException(
          path,
          0,
          "header, index and trailer of SHA-256 " + known.get() + " (the checkpoint says)",
          digest);
    }
    marks.checkMessages(place.number(), trailer.messages(), path);
  }

  /**
   * What is to be found at a path.
   *
   * @param bucket of the lock; null for a segment
   * @param number of the segment; 0 for a lock
   */
  private record Place(Name path, long number, @Nullable Bucket bucket) {
    static Place of(LogContext log, long number) {
      return new Place(log.layout().segment(number), number, null);
    }

    void check(SegmentHeader h, LogContext log) throws DamagedException {
      boolean same = bucket == null || h.from() == bucket.start() && h.to() == bucket.end();
      if (!h.store().equals(log.store().identity().id())
          || !h.log().equals(log.id())
          || h.number() != number
          || !same
          || h.width() != log.bucketWidth()) {
        String what = bucket == null ? "segment " + number : "the lock of " + bucket;
        throw new DamagedException(
            path, 16, what + " of log " + log.id(), h.number() + " of " + h.log());
      }
    }
  }

  /**
   * Opens the lock of a bucket.
   *
   * @param freshness of the first look; damage is looked at past the cache (rule N5)
   * @throws NoSuchFileException if there is none
   * @throws DamagedException if it is not the lock of this bucket of this log
   */
  public static SegmentReader ofBucket(LogContext log, Bucket bucket, Freshness freshness)
      throws IOException {
    var place = new Place(LogLayout.lock(log.layout().bucket(bucket)), 0, bucket);
    SegmentMarks marks = SegmentMarks.none(log);
    try {
      return open(log, place, open(log, place.path(), freshness), marks);
    } catch (DamagedException e) {
      return open(log, place, open(log, place.path(), Freshness.CERTAIN), marks);
    }
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
    return look(log, number, marks, in -> open(log, Place.of(log, number), in, marks));
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
        again = open(log, log.layout().segment(number), Freshness.CERTAIN);
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
    Place place = Place.of(log, number);
    Stored in = open(log, place.path(), Freshness.CERTAIN);
    return open(log, place, in, SegmentMarks.none(log));
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

  private static Stored open(LogContext log, Name path, Freshness freshness) throws IOException {
    return log.storage().open(path, freshness);
  }

  private static Optional<Stored> find(LogContext log, long number, SegmentMarks marks)
      throws IOException {
    return marks
        .patience()
        .find(
            () -> {
              try {
                return Optional.of(open(log, log.layout().segment(number), Freshness.CACHED));
              } catch (NoSuchFileException e) {
                return Optional.empty();
              }
            });
  }

  /** Whether a segment is there; a "no" is believed as by {@link #open}. */
  public static boolean exists(LogContext log, long number, SegmentMarks marks) throws IOException {
    try {
      Optional<Stored> found = find(log, number, marks);
      if (found.isPresent()) {
        found.get().close();
      }
      return found.isPresent();
    } catch (DamagedException e) {
      return true; // whoever reads it tells
    }
  }

  private static SegmentReader open(LogContext log, Place place, Stored in, SegmentMarks marks)
      throws IOException {
    try {
      return new SegmentReader(log, place, in, in.size(), marks);
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
    Place place = Place.of(log, number);
    return look(
        log,
        number,
        marks,
        in -> {
          try (in) {
            SegmentHeader header =
                SegmentHeader.decode(bytes(in, 0, SegmentHeader.BYTES), place.path());
            place.check(header, log);
            return header;
          }
        });
  }

  private static ByteBuffer bytes(Stored in, long offset, int length) throws IOException {
    ByteBuffer buffer = ByteBuffer.allocate(length).order(ByteOrder.LITTLE_ENDIAN);
    int unused = in.read(buffer, offset);
    return buffer.flip();
  }

  /**
   * SHA-256 of the header, the index block and the trailer, one after another, in hexadecimal. It
   * covers every byte, since the index has a checksum of every other block.
   */
  public String digest() {
    return digest;
  }

  /** Reads all of it: the digest of what it holds, see {@link SegmentContent}. */
  public String content() throws IOException {
    var content = new SegmentContent();
    for (int i = 0; i < index.size(); i++) {
      content.add(index.kind(i), index.time(i), block(i));
    }
    return content.end(trailer.messages(), trailer.buckets());
  }

  /** Reads all of it: SHA-256 of the bytes whose checksums were right, in hexadecimal. */
  public String sha256() throws IOException {
    MessageDigest whole = Envelope.sha256();
    whole.update(head.duplicate());
    for (int i = 0; i < index.size(); i++) {
      whole.update(bytes(i));
    }
    return endOf(whole);
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

  public Name path() {
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

  /** A block's body, checked and unpacked. */
  ByteBuffer block(int i) throws IOException {
    return SegmentBlock.body(bytes(i), path, index.offset(i));
  }

  /** A block's bytes as they stand, head and body, checked. */
  private byte[] bytes(int i) throws IOException {
    return block(index.offset(i), index.length(i), index.kind(i), index.checksum(i));
  }

  /**
   * @param checksum that it must have; null if nothing says
   */
  private byte[] block(long offset, int length, int kind, @Nullable Integer checksum)
      throws IOException {
    ByteBuffer block = bytes(in, offset, length);
    if (!valid(block, offset, length, kind, checksum)) {
      try (Stored again = open(log, path, Freshness.CERTAIN)) { // rule N5
        block = bytes(again, offset, length);
      }
      if (!valid(block, offset, length, kind, checksum)) {
        throw new DamagedException(
            path,
            offset,
            "a block of %d bytes with a valid checksum, the one in the index".formatted(length),
            "none");
      }
    }
    return block.array();
  }

  private boolean valid(
      ByteBuffer block, long offset, int length, int kind, @Nullable Integer checksum) {
    return block.remaining() == length
        && block.getInt(0) == kind
        && block.getInt(4) == length - SegmentBlock.HEAD
        && (checksum == null || SegmentBlock.checksumOf(block) == checksum)
        && SegmentBlock.checksumOf(block)
            == SegmentBlock.checksum(seed, offset, block.array(), 0, length);
  }

  /**
   * What the segment keeps of a bucket's lock; empty if there is no such bucket (rule H1).
   *
   * @param start of a bucket in the segment's range
   */
  public Optional<SegmentBucket> bucket(long start) throws IOException {
    OptionalInt i = index.bucket(start);
    return i.isEmpty() ? Optional.empty() : Optional.of(bucketAt(i.getAsInt()));
  }

  public SegmentBucket bucketAt(int i) throws IOException {
    SegmentBucket bucket = SegmentBucket.decode(block(i), path, index.offset(i));
    long first = bucket.start();
    boolean here = first >= header.from() && first < header.to();
    if (first != index.time(i) || !here || Math.floorMod(first, header.width()) != 0) {
      throw new DamagedException(path, index.offset(i), "the bucket " + index.time(i), "" + first);
    }
    return bucket;
  }

  /** How many messages a block has before a time; 0 if it is another one. */
  public long messages(int i, long to) throws IOException {
    if (!index.isMessages(i) || index.time(i) >= to) {
      return 0;
    }
    var block = new SegmentMessages(block(i), path, index.offset(i));
    long messages = 0;
    while (block.next() && block.timestamp() < to) {
      messages++;
    }
    return messages;
  }

  /** Has its file closed while others of these are read, and opened again when its turn comes. */
  public void share(OpenFiles files) throws IOException {
    in = files.file(() -> open(log, path, Freshness.CACHED), in);
  }

  /** The messages with timestamps in {@code [from, to)}, in order, all that there are. */
  public SegmentCursor messages(long from, long to) throws IOException {
    return messages(from, to, new WitnessVerifier(TrustedKeys.NONE), true);
  }

  /**
   * As {@link #messages(long, long)}, with leases judged by the keys that a record counts: those of
   * a lock, which does not say.
   *
   * @param settled whether a record lists the lock
   */
  public SegmentCursor messages(long from, long to, WitnessVerifier keys, boolean settled)
      throws IOException {
    return new SegmentCursor(this, from, to, count -> keys, settled);
  }

  /** As {@link #messages(long, long)}, with leases judged by the keys that each bucket counts. */
  public SegmentCursor messages(long from, long to, CountingKeys keys) throws IOException {
    return new SegmentCursor(
        this, from, to, count -> new WitnessVerifier(keys.counted(count)), true);
  }

  @Override
  public void close() throws IOException {
    in.close();
  }
}
