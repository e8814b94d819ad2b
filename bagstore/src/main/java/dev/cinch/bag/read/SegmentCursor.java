package dev.cinch.bag.read;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.Frame;
import dev.cinch.bag.format.SegmentBlock;
import dev.cinch.bag.format.SegmentBucket;
import dev.cinch.bag.format.SegmentIndex;
import dev.cinch.bag.model.DataFileName;
import dev.cinch.bag.store.CountingKeys;
import dev.cinch.lease.witness.TrustedKeys;
import dev.cinch.lease.witness.WitnessVerifier;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Walks the messages of an open segment; it is its own current message. Not thread-safe.
 *
 * <p>It begins at the bucket block of its first bucket and leaves out the messages blocks that end
 * before its range.
 */
@CheckReturnValue
public final class SegmentCursor extends Cursor {
  private final SegmentReader segment;
  private final @Nullable CountingKeys counting;
  private final SegmentIndex index;
  private final long from;
  private final long to;
  private int next;
  private @Nullable SegmentBucket bucket;
  private @Nullable WitnessVerifier keys;
  private int keyCount = -1;
  private LeaseTable leases;
  private ByteBuffer block = ByteBuffer.allocate(0);
  private int at;
  private long blockOffset;

  /** What the index says of the first message of the block. */
  private long begins;

  private int file;

  /**
   * @param counting null for who judges no leases
   */
  SegmentCursor(SegmentReader segment, long from, long to, @Nullable CountingKeys counting)
      throws IOException {
    this.counting = counting;
    this.segment = segment;
    this.index = segment.index();
    this.from = from;
    this.to = to;
    this.leases = table(0);
    if (segment.isPinned() && from <= segment.header().from() && to >= segment.header().to()) {
      segment.beginDigest();
    }
    int i = index.before(from);
    next = i == 0 ? 0 : index.bucketOf(i - 1);
  }

  private LeaseTable table(int count) throws IOException {
    WitnessVerifier verifier = keys;
    if (verifier == null || keyCount != count) {
      verifier = new WitnessVerifier(counting == null ? TrustedKeys.NONE : counting.counted(count));
      keys = verifier;
      keyCount = count;
    }
    return new LeaseTable(verifier, segment.log());
  }

  /** Goes to the next message; false at the end of the range. */
  public boolean next() throws IOException {
    while (true) {
      while (at == block.limit()) {
        if (!nextBlock()) {
          return false;
        }
      }
      readMessage();
      if (timestamp >= to) {
        return false;
      }
      if (timestamp >= from) {
        return true;
      }
    }
  }

  /** Goes to the next messages block, through the blocks before it; false if there is none. */
  private boolean nextBlock() throws IOException {
    while (next < index.size() && index.time(next) < to) {
      int i = next++;
      if (index.kind(i) == SegmentBlock.BUCKET) {
        SegmentBucket b = segment.bucketAt(i);
        bucket = b;
        leases = table(b.trustedKeys());
        leases.beginBatch();
      } else if (index.kind(i) == SegmentBlock.LEASES) {
        readLeases(segment.block(i), index.offset(i));
      } else if (!endsBefore(i)) {
        block = ByteBuffer.wrap(segment.block(i)).order(ByteOrder.LITTLE_ENDIAN);
        blockOffset = index.offset(i);
        at = SegmentBlock.HEAD;
        if (at == block.limit()) {
          throw damaged(blockOffset, "a message");
        }
        begins = index.time(i);
        return true;
      }
    }
    if (next == index.size()) {
      segment.checkEnd();
    }
    return false;
  }

  /** Whether a later block of messages begins below the range, and this one so ends there. */
  private boolean endsBefore(int i) {
    for (int j = i + 1; j < index.size() && index.time(j) < from; j++) {
      if (index.kind(j) == SegmentBlock.MESSAGES || index.kind(j) == SegmentBlock.BUCKET) {
        return true;
      }
    }
    return false;
  }

  private void readLeases(byte[] bytes, long offset) throws DamagedException {
    ByteBuffer in = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    int p = SegmentBlock.HEAD;
    while (p < bytes.length) {
      int word = bytes.length - p < 4 ? 0 : in.getInt(p);
      int n = Frame.length(word);
      p += 4;
      if (n > bytes.length - p) {
        throw damaged(offset, "an entry within its block");
      }
      if (Frame.kind(word) == Frame.KIND_WITNESS) {
        String unused = leases.addWitness(Arrays.copyOfRange(bytes, p, p + n));
      } else if (Frame.kind(word) == Frame.KIND_LEASE_SET && (n & 3) == 0) {
        var numbers = new int[n / 4];
        for (int i = 0; i < numbers.length; i++) {
          numbers[i] = in.getInt(p + 4 * i);
        }
        if (!leases.addSet(numbers)) {
          throw damaged(offset, "witnesses that stand before");
        }
      } else {
        throw damaged(offset, "an entry of a known kind");
      }
      p += n;
    }
  }

  private DamagedException damaged(long offset, String expected) {
    return new DamagedException(segment.path(), offset, expected, "something else");
  }

  private void readMessage() throws DamagedException {
    int left = block.limit() - at;
    int n = left < SegmentBlock.MESSAGE_OVERHEAD ? -1 : block.getInt(at);
    SegmentBucket b = bucket;
    if (n < 0 || n > left - SegmentBlock.MESSAGE_OVERHEAD || b == null) {
      throw damaged(blockOffset, "a message within its block");
    }
    length = n;
    file = block.getInt(at + 4);
    leaseSet = block.getInt(at + 8);
    timestamp = block.getLong(at + 12);
    position = block.getLong(at + 20);
    payload = at + SegmentBlock.MESSAGE_OVERHEAD;
    at = payload + n;
    if (file < 0 || file >= b.files().size() || leaseSet < 0 || !known(leaseSet)) {
      throw damaged(blockOffset, "a message of a known data file and lease set");
    }
    if (payload == SegmentBlock.HEAD + SegmentBlock.MESSAGE_OVERHEAD && timestamp != begins) {
      throw damaged(blockOffset, "a first message of the time " + begins);
    }
  }

  private boolean known(int set) {
    return set == 0 || leases.set(set) != null;
  }

  @Override
  byte[] bytes() {
    return block.array();
  }

  @Override
  LeaseTable table() {
    return leases;
  }

  @Override
  public Path path() {
    return segment.path();
  }

  @Override
  public long offset() {
    return blockOffset;
  }

  /** The bucket of the current message. */
  SegmentBucket bucket() {
    SegmentBucket b = bucket;
    if (b == null) {
      throw new IllegalStateException("before the first message");
    }
    return b;
  }

  /** Place of the current message's data file in its bucket's file table. */
  int fileIndex() {
    return file;
  }

  @Override
  public DataFileName file() {
    return bucket().files().get(file).name();
  }

  /** Always: only settled buckets come into segments. */
  @Override
  public boolean settled() {
    return true;
  }
}
