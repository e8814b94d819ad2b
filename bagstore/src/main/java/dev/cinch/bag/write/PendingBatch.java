package dev.cinch.bag.write;

import dev.cinch.bag.format.Frame;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.DataFileName;
import dev.cinch.bag.model.Receipt;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.Condition;
import org.jspecify.annotations.Nullable;

/**
 * Messages that wait to be appended together. All its timestamps lie in its bucket. Guarded by the
 * lock of its {@link LogWriter} until it is taken to be committed; then the committer's.
 */
final class PendingBatch {
  /** No batch grows beyond so many bytes, unless a single message is longer. */
  static final int MAX_BYTES = 1 << 20;

  /** What the leases of a batch take at most; readers refuse longer bodies than they know of. */
  static final int MAX_LEASE_BYTES = Frame.MAX_BODY / 2;

  private static final int MAX_SPARE_BUFFERS = 4;
  private static final int FIRST_CAPACITY = 1 << 14;

  final Bucket bucket;
  final Condition done;
  final List<LeaseStamp> stamps = new ArrayList<>(1);

  /** Threads that stand and can be woken to write it. */
  int waiters;

  /** Whether one of its messages was handed over by somebody who does not come back for it. */
  boolean needsThread;

  ByteBuffer messages;
  int count;

  /** What its messages take, with their heads. */
  long bytes;

  long first;
  long last;
  private int lastStamp;
  private long leaseBytes;
  volatile @Nullable Outcome outcome;

  /** What is known of it while only the closed bucket can tell its fate; null before. */
  BucketAppender.Attempt.@Nullable Unknown unclear;

  /** The batch without which it is not to be written; null: none, or it was looked at. */
  @Nullable PendingBatch behind;

  /** Whether some of it may have been written. */
  boolean tried;

  /** Whether somebody looks after its verdict. */
  boolean resolving;

  /** Completed when it has its outcome, for those who asked for that; null: nobody did. */
  @Nullable CompletableFuture<PendingBatch> told;

  /** What became of the batch. */
  sealed interface Outcome {
    /** It exists: in this file, from this position on. */
    record Committed(DataFileName file, long firstPosition) implements Outcome {}

    /** It does not and never will. */
    record Rejected(String reason) implements Outcome {}
  }

  PendingBatch(Bucket bucket, Condition done, @Nullable ByteBuffer recycled) {
    this.bucket = bucket;
    this.done = done;
    this.messages = recycled != null ? recycled.clear() : allocate(FIRST_CAPACITY);
  }

  static void refuseIfTooLong(LeaseStamp stamp, int length, int messageLimit)
      throws MessageRefusedException {
    if (length > messageLimit) {
      throw new MessageRefusedException(
          "the message has %d bytes, this store allows %d".formatted(length, messageLimit), true);
    }
    if (stamp.bytes() > MAX_LEASE_BYTES) {
      throw new MessageRefusedException(
          "the witnesses of its leases take %d bytes, and a batch can hold %d: take fewer leases, or name fewer logs"
              .formatted(stamp.bytes(), MAX_LEASE_BYTES),
          true);
    }
  }

  /**
   * One of those of unclear fate that nobody looks after or comes back for, in a bucket of which
   * nobody reads a verdict at this moment; null if there is none. One thread a bucket is enough:
   * once it has the first verdict the others are quick, and a full disk makes many.
   */
  static @Nullable PendingBatch unresolved(Iterable<PendingBatch> unclear) {
    PendingBatch found = null;
    Bucket read = null;
    for (PendingBatch b : unclear) { // in the order of their buckets
      if (found != null && !found.bucket.equals(b.bucket)) {
        return found;
      }
      if (b.resolving) {
        read = b.bucket;
        found = null;
      } else if (found == null && b.needsThread && !b.bucket.equals(read)) {
        found = b;
      }
    }
    return found;
  }

  /**
   * Wakes whoever waits for one of those to be written: he commits those before it too.
   *
   * @return whether it takes the writer's own thread
   */
  static boolean wakeWriter(Iterable<PendingBatch> queue) {
    boolean needsThread = false;
    for (PendingBatch b : queue) {
      if (b.waiters > 0) {
        b.done.signal();
        return false;
      }
      needsThread |= b.needsThread;
    }
    return needsThread;
  }

  /** Takes those out of unclear fate that will never be whole, whatever their buckets are told. */
  static List<PendingBatch> takeAbsent(Collection<PendingBatch> unclear) {
    var absent = new ArrayList<PendingBatch>();
    unclear.removeIf(b -> b.unclear != null && b.unclear.absent() && absent.add(b));
    return absent;
  }

  /** Why the first of these is of unclear fate; empty if there is none. */
  static String cause(Iterable<PendingBatch> unclear) {
    for (PendingBatch b : unclear) {
      if (b.unclear != null) {
        return b.unclear.why();
      }
    }
    return "";
  }

  /** Leaves its buffer to the next ones, which are few and mostly as small. */
  void spare(Deque<ByteBuffer> spare) {
    if (spare.size() < MAX_SPARE_BUFFERS && messages.capacity() <= 2 * MAX_BYTES) {
      spare.addFirst(messages);
    }
  }

  /** Completed when it has its outcome. */
  CompletableFuture<PendingBatch> told() {
    CompletableFuture<PendingBatch> asked = told;
    if (asked == null) {
      told = asked = new CompletableFuture<>();
      tell();
    }
    return asked;
  }

  /** Tells those who asked, on another thread: what they do then is under no lock of a writer. */
  void tell() {
    if (told != null && outcome != null) {
      told.completeAsync(() -> this);
    }
  }

  /** Wakes those who wait, for nothing. */
  void writerFailed(LogWriter writer) {
    done.signalAll();
    if (told != null) {
      told.completeAsync(
          () -> {
            throw writer.failed();
          });
    }
  }

  private static ByteBuffer allocate(int capacity) {
    return ByteBuffer.allocateDirect(capacity).order(ByteOrder.LITTLE_ENDIAN);
  }

  /** Whether it is in the log for certain. */
  boolean isCommitted() {
    return outcome instanceof Outcome.Committed;
  }

  /** Whether a message of this length, under this stamp, still belongs into it. */
  boolean hasRoom(LeaseStamp stamp, int length) {
    return messages.position() + Frame.MESSAGE_OVERHEAD + length <= MAX_BYTES
        && (leaseBytes + stamp.bytes() <= MAX_LEASE_BYTES || stamps.contains(stamp));
  }

  /** Adds a message. If it fails, for want of memory, the batch is as it was. */
  void add(long timestamp, LeaseStamp stamp, byte[] payload, int offset, int length) {
    int needed = messages.position() + Frame.MESSAGE_OVERHEAD + length;
    if (needed > messages.capacity()) {
      int capacity = Math.max(needed, Math.min(messages.capacity() * 4, 2 * MAX_BYTES));
      messages = allocate(capacity).put(messages.flip());
    }
    int number = numberOf(stamp);
    messages
        .putInt(Frame.entry(Frame.KIND_MESSAGE, length))
        .putInt(number)
        .putLong(timestamp)
        .put(payload, offset, length);
    if (count == 0) {
      first = timestamp;
    }
    last = timestamp;
    bytes += Frame.MESSAGE_OVERHEAD + length;
    count++;
  }

  private int numberOf(LeaseStamp stamp) {
    if (stamp == LeaseStamp.NONE) {
      return 0;
    }
    if (lastStamp == 0 || stamps.get(lastStamp - 1) != stamp) {
      lastStamp = 0;
      for (int i = 0; i < stamps.size(); i++) {
        if (stamps.get(i) == stamp) {
          lastStamp = i + 1;
        }
      }
      if (lastStamp == 0) {
        stamps.add(stamp);
        leaseBytes += stamp.bytes();
        lastStamp = stamps.size();
      }
    }
    return lastStamp;
  }

  /** The receipt of the message with this index; only once there is an outcome. */
  Receipt receipt(int index, long timestamp) {
    Outcome o = outcome;
    if (o instanceof Outcome.Committed c) {
      return new Receipt.Committed(timestamp, bucket, c.file(), c.firstPosition() + index);
    }
    if (o instanceof Outcome.Rejected r) {
      return new Receipt.Rejected(timestamp, r.reason());
    }
    throw new IllegalStateException("no outcome yet");
  }
}
