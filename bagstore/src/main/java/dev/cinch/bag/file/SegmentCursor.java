package dev.cinch.bag.file;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.Frame;
import dev.cinch.bag.format.SegmentBlock;
import dev.cinch.bag.format.SegmentBucket;
import dev.cinch.bag.format.SegmentBucket.Hole;
import dev.cinch.bag.format.SegmentEncoder;
import dev.cinch.bag.format.SegmentIndex;
import dev.cinch.bag.format.SegmentMessages;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.DataFileName;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.store.LogContext;
import dev.cinch.lease.witness.WitnessVerifier;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Walks the messages of an open segment or lock; it is its own current message. Not thread-safe.
 *
 * <p>It begins at the bucket block of its first bucket and leaves out the messages blocks that end
 * before its range.
 */
@CheckReturnValue
public final class SegmentCursor extends Cursor implements Evidence.Source {
  private final SegmentReader segment;
  private final Keys counting;
  private final SegmentIndex index;
  private final long from;
  private final long to;
  private int next;
  private @Nullable SegmentBucket bucket;
  private @Nullable WitnessVerifier keys;
  private int keyCount = -1;
  private LeaseTable leases;
  private @Nullable SegmentMessages block;
  private byte[] bytes = {};
  private long blockOffset;
  private int file;
  private final boolean settled;
  private final List<DamagedException> lost = new ArrayList<>();

  /** Tells what judges the leases of a bucket. */
  @FunctionalInterface
  interface Keys {
    /**
     * @param count how many keys apply, as the bucket says
     */
    WitnessVerifier of(int count) throws IOException;
  }

  /**
   * @param settled whether its messages are: not those of a lock that no record lists
   */
  SegmentCursor(SegmentReader segment, long from, long to, Keys counting, boolean settled)
      throws IOException {
    this.settled = settled;
    this.counting = counting;
    this.segment = segment;
    this.index = segment.index();
    this.from = from;
    this.to = to;
    this.leases = table(0);
    int i = index.before(from);
    next = i == 0 ? 0 : index.bucketOf(i - 1);
  }

  private LeaseTable table(int count) throws IOException {
    WitnessVerifier verifier = keys;
    if (verifier == null || keyCount != count) {
      verifier = counting.of(count);
      keys = verifier;
      keyCount = count;
    }
    return new LeaseTable(verifier, segment.log());
  }

  /** Goes to the next message; false at the end of the range. */
  public boolean next() throws IOException {
    while (true) {
      while (block == null || !block.next()) {
        if (!nextBlock()) {
          return false;
        }
      }
      take(block);
      if (timestamp >= to) {
        return false;
      }
      if (timestamp >= from) {
        return true;
      }
    }
  }

  @Override
  public @Nullable Evidence pull() throws IOException {
    return next() ? this : null;
  }

  /** See {@link SegmentReader#share}. */
  public void share(OpenFiles files) throws IOException {
    segment.share(files);
  }

  /** Closes the file that it walks. */
  @Override
  public void close() throws IOException {
    segment.close();
  }

  /** Goes to the next messages block, through the blocks before it; false if there is none. */
  private boolean nextBlock() throws IOException {
    while (next < index.size() && index.time(next) < to) {
      int i = next++;
      if (index.kind(i) == SegmentBlock.BUCKET) {
        SegmentBucket b = segment.bucketAt(i);
        bucket = b;
        for (Hole hole : b.holes()) {
          lost.add(damage(b, hole));
        }
        leases = table(b.trustedKeys());
        leases.beginBatch();
      } else if (index.kind(i) == SegmentBlock.LEASES) {
        readLeases(segment.block(i), index.offset(i));
      } else if (!endsBefore(i)) {
        blockOffset = index.offset(i);
        var messages = new SegmentMessages(segment.block(i), segment.path(), blockOffset);
        if (messages.timestamp() != index.time(i)) {
          throw damaged(blockOffset, "a first message of the time " + index.time(i));
        }
        block = messages;
        bytes = messages.bytes();
        return true;
      }
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

  private void readLeases(ByteBuffer in, long offset) throws DamagedException {
    while (in.hasRemaining()) {
      int word = in.remaining() < 4 ? -1 : in.getInt();
      int n = Frame.length(word);
      if (n > in.remaining()) {
        throw damaged(offset, "an entry within its block");
      }
      if (Frame.kind(word) == Frame.KIND_WITNESS) {
        var signed = new byte[n];
        in.get(signed);
        String unused = leases.addWitness(signed);
      } else if (Frame.kind(word) == Frame.KIND_LEASE_SET && (n & 3) == 0) {
        var numbers = new int[n / 4];
        for (int i = 0; i < numbers.length; i++) {
          numbers[i] = in.getInt();
        }
        if (!leases.addSet(numbers)) {
          throw damaged(offset, "witnesses that stand before");
        }
      } else {
        throw damaged(offset, "an entry of a known kind");
      }
    }
  }

  private DamagedException damaged(long offset, String expected) {
    return new DamagedException(segment.path(), offset, expected, "something else");
  }

  private void take(SegmentMessages m) throws DamagedException {
    length = m.length();
    file = m.file();
    leaseSet = m.leaseSet();
    timestamp = m.timestamp();
    position = m.position();
    payload = m.payload();
    SegmentBucket b = bucket;
    if (b == null || file >= b.files().size() || !known(leaseSet)) {
      throw damaged(blockOffset, "a message of a known data file and lease set");
    }
  }

  private boolean known(int set) {
    return set == 0 || leases.set(set) != null;
  }

  @Override
  byte[] bytes() {
    return bytes;
  }

  @Override
  LeaseTable table() {
    return leases;
  }

  @Override
  public Name path() {
    return segment.path();
  }

  @Override
  public long offset() {
    return blockOffset;
  }

  /** The bucket of the current message. */
  public SegmentBucket bucket() {
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

  /** Puts the current message into another settled file, whose bucket has the same files. */
  public void feed(SegmentEncoder out, int set) throws IOException {
    out.message(file, position, set, timestamp, bytes, payload, length);
  }

  /** What the buckets that it came to had lost when they were closed (rule C4). */
  public List<DamagedException> lost() {
    return lost;
  }

  private DamagedException damage(SegmentBucket b, Hole hole) {
    LogContext log = segment.log();
    var where = new Bucket(b.start(), log.bucketWidth());
    String messages =
        hole.messages() == Hole.UNKNOWN ? "an unknown number of" : "" + hole.messages();
    return new DamagedException(
        LogLayout.dataFile(log.layout().bucket(where), hole.file()),
        hole.from(),
        "whole batches up to byte %d, with %s messages".formatted(hole.to(), messages),
        "damaged ones when the bucket was closed; they are lost");
  }

  @Override
  public boolean settled() {
    return settled;
  }
}
