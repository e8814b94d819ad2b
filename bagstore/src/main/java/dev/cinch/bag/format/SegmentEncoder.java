package dev.cinch.bag.format;

import com.google.errorprone.annotations.CheckReturnValue;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Turns messages into the bytes of a settled file, as a stream: header, blocks, index, trailer. The
 * header says whether it is a segment of some records or the lock of one bucket. What comes out
 * depends only on what is put in.
 *
 * <p>Memory: one block twice, the witnesses of one bucket, and 28 bytes for each block. Not
 * thread-safe; after an exception it is of no more use.
 */
@CheckReturnValue
public final class SegmentEncoder {
  private final Output out;
  private final ByteBuffer header;
  private final int seed;
  private final Lz4 packer = new Lz4();

  /** Of a segment only: of a lock the first one counts, and nobody compares it. */
  private final @Nullable SegmentContent content;

  private final SegmentIndex index = new SegmentIndex();
  private final Map<ByteBuffer, Integer> witnesses = new HashMap<>();
  private final Map<List<Integer>, Integer> sets = new HashMap<>();
  private ByteBuffer messages = block(SegmentBlock.TARGET);
  private ByteBuffer leases = block(1 << 12);
  private ByteBuffer packed = block(SegmentBlock.TARGET);
  private long offset;
  private long blockTime;
  private long lastTime;
  private long count;
  private long buckets;
  private String digest = "";
  private String contentDigest = "";

  /** Takes the bytes of a segment. */
  @FunctionalInterface
  public interface Output {
    /** Takes all that remains in the buffer, which is used again afterwards. */
    void write(ByteBuffer bytes) throws IOException;
  }

  /** Begins a segment. */
  public SegmentEncoder(SegmentHeader header, Output out) throws IOException {
    this.out = out;
    this.content = header.isOfBucket() ? null : new SegmentContent();
    this.header = header.encode();
    this.seed = SegmentHeader.checksumOf(this.header);
    offset = this.header.remaining();
    out.write(this.header.duplicate());
  }

  private static ByteBuffer block(int body) {
    return ByteBuffer.allocate(SegmentBlock.HEAD + body)
        .order(ByteOrder.LITTLE_ENDIAN)
        .position(SegmentBlock.HEAD);
  }

  /** Begins the next bucket; buckets come in the order of their starts. */
  public void bucket(SegmentBucket bucket) throws IOException {
    flush();
    witnesses.clear();
    sets.clear();
    ByteBuffer block = block(bucket.bodyLength());
    bucket.encode(block);
    emit(block, SegmentBlock.BUCKET, bucket.start());
    buckets++;
  }

  /**
   * The number of a lease set in the current bucket.
   *
   * @param signed the witnesses as they stood in the data file, valid or not
   */
  public int leaseSet(List<byte[]> signed) {
    var numbers = new ArrayList<Integer>(signed.size());
    for (byte[] bytes : signed) {
      Integer number = witnesses.get(ByteBuffer.wrap(bytes));
      if (number == null) {
        number = witnesses.size() + 1;
        witnesses.put(ByteBuffer.wrap(bytes), number);
        leases = reserve(leases, 4 + bytes.length);
        leases.putInt(Frame.entry(Frame.KIND_WITNESS, bytes.length)).put(bytes);
      }
      numbers.add(number);
    }
    Integer set = sets.get(numbers);
    if (set == null) {
      set = sets.size() + 1;
      sets.put(numbers, set);
      leases = reserve(leases, 4 + 4 * numbers.size());
      leases.putInt(Frame.entry(Frame.KIND_LEASE_SET, 4 * numbers.size()));
      for (int n : numbers) {
        leases.putInt(n);
      }
    }
    return set;
  }

  /**
   * Adds the next message, in the total order.
   *
   * @param file place in the bucket's file table
   * @param position in the data file
   * @param leaseSet from {@link #leaseSet}, 0 for none
   * @param bytes holds the payload at {@code at}, {@code length} bytes
   */
  public void message(
      int file, long position, int leaseSet, long timestamp, byte[] bytes, int at, int length)
      throws IOException {
    int needed = bytesOf(file, position, leaseSet, timestamp - lastTime, length);
    if (messages.position() > SegmentBlock.HEAD
        && messages.position() - SegmentBlock.HEAD + needed > SegmentBlock.TARGET) {
      flushMessages();
    }
    if (messages.position() == SegmentBlock.HEAD) {
      blockTime = timestamp;
      lastTime = timestamp;
      messages.putLong(timestamp);
      needed = bytesOf(file, position, leaseSet, 0, length);
    }
    messages = reserve(messages, needed);
    SegmentMessages.put(messages, length);
    SegmentMessages.put(messages, file);
    SegmentMessages.put(messages, leaseSet);
    SegmentMessages.put(messages, timestamp - lastTime);
    SegmentMessages.put(messages, position);
    messages.put(bytes, at, length);
    lastTime = timestamp;
    count++;
  }

  private static int bytesOf(int file, long position, int leaseSet, long time, int length) {
    return SegmentMessages.length(length)
        + SegmentMessages.length(file)
        + SegmentMessages.length(leaseSet)
        + SegmentMessages.length(time)
        + SegmentMessages.length(position)
        + length;
  }

  /** Ends the file. */
  public void end() throws IOException {
    flush();
    ByteBuffer body = index.body();
    ByteBuffer block = block(body.remaining()).put(body);
    long indexOffset = offset;
    int length = block.position();
    int unused =
        SegmentBlock.seal(
            block, SegmentBlock.INDEX, false, length - SegmentBlock.HEAD, seed, offset);
    long newest = count == 0 ? Long.MIN_VALUE : lastTime;
    ByteBuffer trailer =
        new SegmentTrailer(indexOffset, length, count, buckets, newest).encode(seed);
    MessageDigest opened = Envelope.sha256();
    opened.update(header.duplicate());
    opened.update(block.flip().duplicate());
    opened.update(trailer.duplicate());
    digest = HexFormat.of().formatHex(opened.digest());
    if (content != null) {
      contentDigest = content.end(count, buckets);
    }
    offset += length + trailer.remaining();
    out.write(block);
    out.write(trailer);
  }

  /**
   * Once it has ended: SHA-256 of the header, the index block and the trailer, in hexadecimal. It
   * covers every byte, since the index has a checksum of every other block.
   */
  public String digest() {
    return digest;
  }

  /** Once it has ended, of a segment: see {@link SegmentContent}. */
  public String content() {
    return contentDigest;
  }

  /** Bytes so far. */
  public long length() {
    return offset;
  }

  /** Messages so far. */
  public long messages() {
    return count;
  }

  private void flush() throws IOException {
    if (messages.position() > SegmentBlock.HEAD) {
      flushMessages();
    }
  }

  /**
   * The leases first used in a block stand before it. Those of a message that is still to come may
   * be among them: earlier than needed is early enough.
   */
  private void flushMessages() throws IOException {
    if (leases.position() > SegmentBlock.HEAD) {
      emit(leases, SegmentBlock.LEASES, blockTime);
      leases = block(1 << 12);
    }
    emit(messages, SegmentBlock.MESSAGES, blockTime);
    messages =
        messages.capacity() > 4 * SegmentBlock.TARGET
            ? block(SegmentBlock.TARGET)
            : messages.clear().position(SegmentBlock.HEAD);
  }

  private void emit(ByteBuffer block, int kind, long time) throws IOException {
    int unpacked = block.position() - SegmentBlock.HEAD;
    if (content != null) {
      content.add(kind, time, block.duplicate().flip().position(SegmentBlock.HEAD));
    }
    if (packed.capacity() < block.position()) {
      packed = block(unpacked);
    }
    int end =
        packer.pack(
            block.array(),
            SegmentBlock.HEAD,
            block.position(),
            packed.array(),
            SegmentBlock.HEAD,
            block.position() - 1); // only if that makes it smaller
    ByteBuffer stands = end < 0 ? block : packed.clear().position(end);
    int length = stands.position();
    int checksum = SegmentBlock.seal(stands, kind, end >= 0, unpacked, seed, offset);
    index.add(kind, length, offset, time, checksum);
    offset += length;
    out.write(stands.flip());
    if (packed.capacity() > 4 * SegmentBlock.TARGET) {
      packed = block(SegmentBlock.TARGET);
    }
  }

  private static ByteBuffer reserve(ByteBuffer buffer, int bytes) {
    if (buffer.remaining() >= bytes) {
      return buffer;
    }
    int capacity = Math.max(Math.multiplyExact(buffer.capacity(), 2), buffer.position() + bytes);
    return ByteBuffer.allocate(capacity).order(ByteOrder.LITTLE_ENDIAN).put(buffer.flip());
  }
}
