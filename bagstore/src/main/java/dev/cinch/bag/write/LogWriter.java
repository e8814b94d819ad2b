package dev.cinch.bag.write;

import static java.util.Objects.requireNonNull;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.close.HorizonAdvance;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.Receipt;
import dev.cinch.bag.storage.RoomWait;
import dev.cinch.bag.storage.StoreReplacedException;
import dev.cinch.bag.store.LogContext;
import dev.cinch.bag.write.BucketAppender.Attempt;
import dev.cinch.bag.write.PendingBatch.Outcome;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Appends messages to one log, from any number of threads (section 2).
 *
 * <p>Group commit: messages that arrive while a batch is being written gather in the next one, so
 * opening, writing, forcing and confirming are paid once a batch. There is no thread between a lone
 * caller and the file: whoever waits for a batch may become the committer. Only messages that
 * nobody waits for ({@link #submit}) need a thread of the writer's own, which starts with the
 * first.
 *
 * <p>Thread-safe. One for a process and log is best; several are correct. Keeps one file open.
 */
@CheckReturnValue
public final class LogWriter implements AutoCloseable {
  /** Messages wait for room once so many bytes wait to be written; or so many for each lane. */
  private static final int MAX_QUEUED_BYTES = 8 << 20;

  private static final int MAX_QUEUED_BYTES_EACH = 4 << 20;

  private final LogContext log;
  private final WriterTimestamps timestamps;
  private final WriterTimestamps.Look look = this::refuseIfClosed; // one, not one a message
  private final VerdictReader verdicts;

  /** One for each batch that the storage lets be on its way at once. */
  private final List<Lane> lanes = new ArrayList<>();

  /** Those in which nothing is written. */
  private final ArrayDeque<Lane> idle = new ArrayDeque<>();

  private volatile String verdictWhy = "";
  private final int messageLimit;

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition work = lock.newCondition();
  private final Condition room = lock.newCondition();
  private final ArrayDeque<PendingBatch> queue = new ArrayDeque<>();

  /** Written, maybe, and without a verdict yet. */
  private final ArrayDeque<PendingBatch> unclear = new ArrayDeque<>();

  private final ArrayDeque<ByteBuffer> spare = new ArrayDeque<>();
  private final long mostQueued;
  private long queuedBytes;

  /** Taken off the queue to be written. */
  private final List<PendingBatch> writing = new ArrayList<>();

  private boolean closed;

  /** Whether a write was given up that may not return. */
  private volatile boolean givenUp;

  private @Nullable Throwable failure;

  /** Threads of the writer's own that write, or wait for something to write. */
  private int background;

  /** Those of them that wait. */
  private int waiting;

  /** Writes one batch after the other, each whole and confirmed before the next. */
  private record Lane(BucketAppender appender, RoomWait full) {}

  /**
   * @param timestamps of this process
   */
  public LogWriter(LogContext log, Timestamps timestamps, Durability durability) {
    this.log = log;
    this.timestamps = new WriterTimestamps(log, timestamps, lock);
    var horizon = new HorizonAdvance(log);
    this.verdicts = new VerdictReader(log, horizon);
    for (int i = 0; i < log.storage().appendsAtOnce(); i++) {
      lanes.add(
          new Lane(
              new BucketAppender(log, durability, horizon),
              new RoomWait(log.store().time(), "an append to " + log.layout().name(), null)));
    }
    idle.addAll(lanes);
    this.mostQueued = Math.max(MAX_QUEUED_BYTES, (long) lanes.size() * MAX_QUEUED_BYTES_EACH);
    this.messageLimit = log.store().settings().messageLimit();
  }

  /**
   * Appends one message and waits for its fate.
   *
   * @throws MessageRefusedException if it can't be written under the stamp, or is too long; nothing
   *     was written
   */
  public Receipt append(LeaseStamp stamp, byte[] payload) throws MessageRefusedException {
    return submit(stamp, payload, 0, payload.length, false).await();
  }

  /** Appends one message without a lease. */
  public Receipt append(byte[] payload) throws MessageRefusedException {
    return append(LeaseStamp.NONE, payload);
  }

  /**
   * Hands over one message; its receipt comes later. Waits only while too much is on its way
   * already.
   *
   * @throws MessageRefusedException if it can't be written under the stamp, or is too long; nothing
   *     was written
   * @throws IndexOutOfBoundsException if the payload has no such bytes; nothing was written
   */
  public PendingReceipt submit(LeaseStamp stamp, byte[] payload, int offset, int length)
      throws MessageRefusedException {
    return submit(stamp, payload, offset, length, true);
  }

  /**
   * As {@link #submit(LeaseStamp, byte[], int, int)}.
   *
   * @param needsThread whether a thread of the writer's own sees to it; false if the caller soon
   *     awaits the receipt, flushes or closes: nothing is written before somebody does, or before
   *     there is no room for more
   */
  public PendingReceipt submit(
      LeaseStamp stamp, byte[] payload, int offset, int length, boolean needsThread)
      throws MessageRefusedException {
    return submit(stamp, payload, offset, length, needsThread, null);
  }

  /**
   * As {@link #submit(LeaseStamp, byte[], int, int, boolean)}, behind another message: this one is
   * in the log only if that is, and comes after it. A chain of them is in the log up to one
   * message, whatever ends the process, and is rejected from there on.
   *
   * @param behind of this writer; null: none
   */
  public PendingReceipt submit(
      LeaseStamp stamp,
      byte[] payload,
      int offset,
      int length,
      boolean needsThread,
      @Nullable PendingReceipt behind)
      throws MessageRefusedException {
    int unused = Objects.checkFromIndexSize(offset, length, payload.length);
    PendingBatch.refuseIfTooLong(stamp, length, messageLimit);
    lock.lock();
    try {
      while (queuedBytes > mostQueued && !closed) {
        makeRoom();
      }
      refuseIfClosed();
      if (needsThread && (background == 0 || mayCommit())) {
        startBackground(); // before the message is on its way, since it may fail
      }
      long timestamp = timestamps.next(stamp, look);
      PendingBatch last = queue.peekLast();
      PendingBatch ahead = behind == null ? null : behind.batch();
      boolean joins =
          last != null
              && last.bucket.contains(timestamp)
              && last.hasRoom(stamp, length)
              && (ahead == null || ahead == last || ahead.isCommitted());
      PendingBatch batch =
          joins
              ? last
              : new PendingBatch(
                  Bucket.of(timestamp, log.bucketWidth()), lock.newCondition(), spare.pollFirst());
      if (!joins) {
        batch.behind = ahead;
      }
      long before = batch.bytes;
      var receipt = new PendingReceipt(this, batch, batch.count, timestamp);
      batch.add(timestamp, stamp, payload, offset, length);
      if (!joins) {
        queue.addLast(batch); // only now that it has a message: readers know no empty batch
      }
      // From here on nothing can fail: a message that is on its way is one that the caller knows
      // of.
      queuedBytes += batch.bytes - before;
      batch.needsThread |= needsThread;
      if (needsThread && batch.waiters == 0 && mayCommit()) {
        work.signal();
      }
      return receipt;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Whether the next batch may be taken. Beside others that is one to which nothing is added any
   * more: else the more could be on their way, the smaller each would be.
   */
  private boolean mayCommit() {
    if (writing.isEmpty()) {
      return !queue.isEmpty();
    }
    PendingBatch behind = queue.size() < 2 ? null : queue.getFirst().behind;
    return queue.size() > 1 && !idle.isEmpty() && (behind == null || !writing.contains(behind));
  }

  /** Waits for room, or makes it: what takes it up may wait for this very caller. */
  private void makeRoom() {
    if (mayCommit()) {
      commitNext();
    } else if (writing.isEmpty() && unclear.stream().noneMatch(b -> b.resolving)) {
      resolve(unclear.getFirst());
    } else {
      room.awaitUninterruptibly();
    }
  }

  /** What waits to be written, in bytes. */
  long queuedBytes() {
    lock.lock();
    try {
      return queuedBytes;
    } finally {
      lock.unlock();
    }
  }

  /**
   * What messages that have no receipt wait for, in a line; empty if it is not known to be long.
   */
  public String waitsFor() {
    lock.lock();
    try {
      String cause = verdictWhy;
      for (Lane lane : lanes) {
        cause = lane.full.why().isEmpty() ? cause : lane.full.why();
      }
      return cause.isEmpty() ? PendingBatch.cause(unclear) : cause;
    } finally {
      lock.unlock();
    }
  }

  private void refuseIfClosed() throws MessageRefusedException {
    if (failure != null) {
      throw new MessageRefusedException(
          "the writer failed before and takes no more messages: "
              + (failure instanceof FateUnknownException ? failure.getMessage() : failure),
          true);
    }
    for (int i = 0; i < lanes.size(); i++) { // no iterator, which each message would pay for
      StoreReplacedException replaced = lanes.get(i).appender.replaced();
      if (replaced != null) {
        throw new MessageRefusedException(BucketAppender.message(replaced), true);
      }
    }
    if (closed) {
      throw new MessageRefusedException("the writer is closed", true);
    }
  }

  /** Unless there are as many as could write, or one waits for work. */
  private void startBackground() {
    if (waiting == 0 && background < lanes.size()) {
      Thread t = new Thread(this::commitInBackground, "cinch-commit-" + log.layout().name());
      t.setDaemon(true);
      t.start();
      background++;
    }
  }

  /**
   * Waits until a batch has its outcome: writes it, and those before it, where nobody else does,
   * and finds out what became of it where that is unclear.
   */
  void drive(PendingBatch batch) {
    if (batch.outcome != null) {
      return;
    }
    lock.lock();
    try {
      while (batch.outcome == null) {
        if (failure != null) {
          throw failed();
        }
        if (batch.unclear != null && !batch.resolving) {
          resolve(batch);
        } else if (batch.unclear != null || !mayCommit()) {
          batch.waiters++;
          try {
            batch.done.awaitUninterruptibly();
          } finally {
            batch.waiters--;
          }
        } else {
          commitNext();
        }
      }
    } finally {
      lock.unlock();
    }
  }

  /** Completed when a batch has its outcome, which this writer's thread sees to if nobody else. */
  CompletableFuture<PendingBatch> whenDone(PendingBatch batch) {
    lock.lock();
    try {
      CompletableFuture<PendingBatch> told = batch.told();
      if (failure != null) {
        batch.writerFailed(this);
      } else if (batch.outcome == null) {
        batch.needsThread = true;
        startBackground();
        work.signal();
      }
      return told;
    } finally {
      lock.unlock();
    }
  }

  IllegalStateException failed() {
    if (failure instanceof FateUnknownException e) {
      return e.again();
    }
    return new IllegalStateException(
        "the writer of log %s failed; the fate of messages is unknown"
            .formatted(log.layout().name()),
        failure);
  }

  private void commitInBackground() {
    boolean counted = true;
    lock.lock();
    try {
      while (failure == null && (!closed || !queue.isEmpty())) {
        PendingBatch unclear = PendingBatch.unresolved(this.unclear);
        if (mayCommit()) {
          commitNext();
        } else if (unclear != null) {
          background--; // another one goes on with what comes meanwhile
          counted = false;
          resolve(unclear);
          if (background == lanes.size()) {
            return;
          }
          background++;
          counted = true;
        } else {
          waiting++;
          work.awaitUninterruptibly();
          waiting--;
        }
      }
    } catch (FateUnknownException e) {
      // Whoever waits for the message is told, and whoever submits another one.
    } finally {
      background -= counted ? 1 : 0;
      lock.unlock();
    }
  }

  /** Called with the lock, which is released while the batch is written. */
  private void commitNext() {
    PendingBatch batch = queue.removeFirst();
    Lane lane = idle.removeFirst();
    writing.add(batch);
    boolean interrupted = false;
    try {
      if (mayCommit()) {
        wakeNext(); // beside this one
      }
      boolean cutOff = batch.behind != null && !batch.behind.isCommitted();
      batch.behind = null; // or each would keep all that came before it
      lock.unlock();
      Attempt attempt;
      try {
        interrupted =
            Thread.interrupted(); // a channel would be closed by it, and the append made slow
        attempt = cutOff ? BucketAppender.cutOff() : append(batch, lane);
      } finally {
        lock.lock();
        writing.remove(batch);
        idle.addFirst(lane);
      }
      boolean unwritten =
          attempt instanceof Attempt.Known known && known.outcome() instanceof Outcome.Rejected;
      timestamps.settle(batch, unwritten, left());
      if (attempt instanceof Attempt.Known known) {
        if (batch.outcome == null) { // else it was given up
          resolved(batch, known.outcome());
        }
      } else {
        // Others go on, under a new incarnation; who waits for this one looks after its verdict.
        batch.unclear = (Attempt.Unknown) attempt;
        unclear.addLast(batch);
        batch.done.signalAll();
        room.signalAll();
      }
      wakeNext();
    } catch (RuntimeException | Error e) {
      fail(batch, e);
      throw e;
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** The last one that is still to be written. */
  private @Nullable PendingBatch left() {
    PendingBatch left = queue.peekLast(); // given its timestamps after all that are being written
    return left != null || writing.isEmpty() ? left : writing.get(writing.size() - 1);
  }

  /**
   * Steps 2 to 4, again and again while the storage is full: nothing else of this writer is written
   * meanwhile, so that no message passes one that waits. Called without the lock.
   */
  private Attempt append(PendingBatch batch, Lane lane) {
    boolean interrupted = false;
    try {
      while (true) {
        Attempt attempt = lane.appender.append(batch, () -> begins(batch));
        if (attempt instanceof Attempt.Unknown unknown && unknown.full()) {
          verdictWhy = unknown.why();
          attempt = new Attempt.Known(verdicts.resolve(unknown));
          verdictWhy = "";
        }
        if (!(attempt instanceof Attempt.NoRoom none)) {
          lane.full.over();
          return attempt;
        }
        lock.lock();
        batch.tried = false;
        lock.unlock();
        try {
          boolean unused = lane.full.pause(none.why());
        } catch (InterruptedException e) {
          interrupted = true;
        }
        if (givenUp) {
          lane.full.over();
          lane.appender.release();
          return BucketAppender.rejected(BucketAppender.message(none.why()));
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** Whether a batch is to be written still, which nobody can say of it any more from then on. */
  private boolean begins(PendingBatch batch) {
    lock.lock();
    try {
      batch.tried = batch.outcome == null && failure == null;
      return batch.tried;
    } finally {
      lock.unlock();
    }
  }

  /** Called with the lock, which is released while the verdict is waited for: append, step 5. */
  private void resolve(PendingBatch batch) {
    batch.resolving = true;
    try {
      Outcome outcome;
      lock.unlock();
      try {
        outcome = verdicts.resolve(requireNonNull(batch.unclear));
      } finally {
        lock.lock();
      }
      if (unclear.remove(batch)) { // else it was given up
        resolved(batch, outcome);
      }
      wakeNext();
    } catch (RuntimeException | Error e) {
      if (batch.outcome == null) {
        fail(batch, e);
        throw e;
      }
    }
  }

  private void resolved(PendingBatch batch, Outcome outcome) {
    batch.outcome = outcome;
    queuedBytes -= batch.bytes;
    batch.spare(spare);
    batch.done.signalAll();
    room.signalAll();
    batch.tell();
  }

  /** A fault of ours or of Java: nobody may be told anything any more. */
  private void fail(@Nullable PendingBatch batch, Throwable e) {
    failure = e;
    closed = true;
    if (batch != null) {
      batch.writerFailed(this);
    }
    writing.forEach(b -> b.writerFailed(this));
    queue.forEach(b -> b.writerFailed(this));
    unclear.forEach(b -> b.writerFailed(this));
    queue.clear();
    unclear.clear();
    work.signalAll();
    room.signalAll();
  }

  /** Sees to it that somebody goes on, with the next batch and with what is of unclear fate. */
  private void wakeNext() {
    if (closed) {
      work.signalAll(); // the writer's thread ends when the queue is empty, whoever emptied it
    }
    if (PendingBatch.wakeWriter(queue) || PendingBatch.unresolved(unclear) != null) {
      startBackground();
      work.signal();
    }
  }

  /**
   * Commits all that was submitted so far, and waits for every verdict; not for what others submit
   * meanwhile, of which there may be no end.
   *
   * @throws IllegalStateException if the writer failed: a message may have been written whose fate
   *     nobody knows, so leases that it was written under must not be given back
   */
  public void flush() {
    // The last ones first: who waits for one of the queue commits those before it.
    var batches = new ArrayList<PendingBatch>();
    lock.lock();
    try {
      if (failure != null) {
        throw failed();
      }
      queue.descendingIterator().forEachRemaining(batches::add);
      batches.addAll(writing);
      unclear.descendingIterator().forEachRemaining(batches::add);
    } finally {
      lock.unlock();
    }
    batches.forEach(this::drive);
  }

  /**
   * Refuses every further message, and waits for none. What was not written yet is rejected, and so
   * is what a failed write left unfinished for good. What may have been written, and has no
   * verdict, ends with {@link FateUnknownException}: leases that it was written under must not be
   * given back. For a store that can't be written: a writer waits until it can, and says for what
   * in its log, at first and once a minute.
   *
   * @param why one line, for receipts and exceptions
   */
  public void giveUp(String why) {
    lock.lock();
    try {
      closed = true;
      while (!queue.isEmpty()) {
        resolved(queue.removeFirst(), new Outcome.Rejected(why));
      }
      givenUp = !writing.isEmpty();
      boolean unknownToo = false;
      for (PendingBatch batch : writing) {
        if (!batch.tried && batch.outcome == null) {
          resolved(batch, new Outcome.Rejected(why)); // its committer looks before it writes
        }
        unknownToo |= batch.outcome == null;
      }
      String cause = PendingBatch.cause(unclear);
      var unknown =
          FateUnknownException.gaveUp(
              log.layout().name().toString(), cause.isEmpty() ? why : why + " (" + cause + ")");
      verdicts.giveUp(unknown);
      for (PendingBatch batch : PendingBatch.takeAbsent(unclear)) {
        resolved(batch, new Outcome.Rejected(why + " (" + cause + ")"));
      }
      if (unknownToo || !unclear.isEmpty()) {
        fail(null, unknown);
      }
      work.signalAll();
      room.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /**
   * Refuses every further message, and flushes.
   *
   * @throws IllegalStateException as {@link #flush}; it is closed all the same
   */
  @Override
  public void close() {
    lock.lock();
    try {
      closed = true;
      work.signalAll();
      room.signalAll();
    } finally {
      lock.unlock();
    }
    try {
      flush();
    } finally {
      lock.lock();
      try {
        while (!writing.isEmpty() && !givenUp) {
          room.awaitUninterruptibly(); // the flush does not, where another thread's verdict failed
        }
        idle.forEach(lane -> lane.appender.release());
      } finally {
        lock.unlock();
      }
    }
  }
}
