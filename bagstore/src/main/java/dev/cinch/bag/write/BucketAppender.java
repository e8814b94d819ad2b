package dev.cinch.bag.write;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.close.HorizonAdvance;
import dev.cinch.bag.format.FileHeader;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.DataFileName;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.InWords;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.bag.storage.Entered;
import dev.cinch.bag.storage.Entered.Mark;
import dev.cinch.bag.storage.StoreReplacedException;
import dev.cinch.bag.store.LogContext;
import dev.cinch.lease.Id;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Appends batches to buckets: steps 2 to 4 of section 2. Confined to the committer of one {@link
 * LogWriter}.
 *
 * <p>Timestamps only grow, so it knows one bucket at a time.
 */
@CheckReturnValue
final class BucketAppender {
  private static final Logger LOG = LoggerFactory.getLogger(BucketAppender.class);

  /** How long the server's time of one write may be carried on by the monotonic clock. */
  private static final long SERVER_TIME_NANOS = 100_000_000;

  private final LogContext log;
  private final StoreSettings settings;
  private final Durability durability;
  private final HorizonAdvance horizon;
  private final ClockCheck clock;
  private final BatchEncoder encoder = new BatchEncoder();
  private @Nullable BucketFile current;

  private volatile @Nullable StoreReplacedException replaced;

  private boolean serverTimeKnown;
  private long serverTime;
  private long serverTimeAt;
  private long writeBegan;

  /** What became of an attempt to append a batch. */
  sealed interface Attempt {
    /** Its fate is known. */
    record Known(PendingBatch.Outcome outcome) implements Attempt {}

    /** Nothing of it is there or can appear, and the storage is full: to be tried again. */
    record NoRoom(IOException why) implements Attempt {}

    /**
     * A write was attempted, and only the closed bucket can tell: step 5.
     *
     * @param absent whether it can't, since the batch will never be whole (rule A1)
     * @param full whether the storage was full
     */
    record Unknown(
        Bucket bucket,
        DataFileName file,
        long end,
        long firstPosition,
        String why,
        boolean absent,
        boolean full)
        implements Attempt {
      Unknown because(String reason) {
        return new Unknown(bucket, file, end, firstPosition, reason, absent, full);
      }
    }
  }

  BucketAppender(LogContext log, Durability durability, HorizonAdvance horizon) {
    this.log = log;
    this.settings = log.store().settings();
    this.durability = durability;
    this.horizon = horizon;
    this.clock = new ClockCheck(log.store());
  }

  /**
   * Tries to append a batch.
   *
   * @param begins asked before its first byte is written; if not, it is rejected
   */
  Attempt append(PendingBatch batch, BooleanSupplier begins) {
    long ahead = clock.aheadNanos(batch.last);
    if (ahead > settings.timestampDistanceNanos()) { // step 1 still: the clock was set meanwhile
      return rejected("its timestamp is now %.3f s ahead of the clock".formatted(ahead / 1e9));
    }
    BucketFile file = current;
    current = null; // until it is confirmed: whatever ends this early, nobody goes on with it
    if (file == null || !file.bucket.equals(batch.bucket)) {
      if (file != null) {
        file.leave();
      }
      try { // step 2; before the first byte, an error means REJECTED (rule A1)
        file = enter(batch.bucket);
      } catch (StoreReplacedException e) {
        replaced = e;
        return rejected(message(e));
      } catch (AccessDeniedException e) {
        return rejected("the bucket is closed to this user: " + e.getMessage());
      } catch (IOException e) {
        return InWords.isFull(e) ? new Attempt.NoRoom(e) : rejected(message(e));
      }
    }
    boolean ended = false;
    try {
      Attempt attempt = append(batch, file, begins);
      ended = true;
      return attempt;
    } finally {
      if (!ended) {
        file.leave(); // a fault of ours or of Java: nobody comes back for it
      }
    }
  }

  private Attempt append(PendingBatch batch, BucketFile file, BooleanSupplier begins) {
    encoder.encode(batch, file, header(file));
    long position = file.messages;
    long end = encoder.newLength();
    var unknown = new Attempt.Unknown(batch.bucket, file.name, end, position, "", false, false);
    if (!begins.getAsBoolean()) {
      file.leave();
      return rejected("nobody waits for it any more");
    }
    writeBegan = log.store().time().monotonicNanos();
    try {
      file.entered.append(encoder.frame()); // step 3
    } catch (IOException e) {
      return unwritten(unknown, file, e);
    }
    encoder.applyTo(file, batch);
    try { // step 4
      if (confirmed(file)) {
        current = file;
        return new Attempt.Known(new PendingBatch.Outcome.Committed(file.name, position));
      }
    } catch (IOException e) {
      return failed(unknown, file, e);
    }
    file.leave();
    return unknown.because("the bucket is being closed");
  }

  /** Of a batch that is to follow another one, which is not there. */
  static Attempt cutOff() {
    return rejected("a message that it has to follow is not there");
  }

  /** Writes no more to its file. An append afterwards begins anew. */
  void release() {
    BucketFile file = current;
    current = null;
    if (file != null) {
      file.leave();
    }
  }

  static Attempt rejected(String reason) {
    return new Attempt.Known(new PendingBatch.Outcome.Rejected(reason));
  }

  /** Why it can append nothing more, if that is so; any thread may ask. */
  @Nullable StoreReplacedException replaced() {
    return replaced;
  }

  static String message(IOException e) {
    return InWords.line(e);
  }

  /**
   * After a write that failed: looks what is there, since this writer is the only one of the file.
   * It never appends again to one in which bytes of it are, or may be (rule A2).
   */
  private Attempt unwritten(Attempt.Unknown unknown, BucketFile file, IOException e) {
    long there = file.entered.mostThere();
    boolean absent = there < unknown.end();
    if (absent && !InWords.isFull(e) && (file.length > 0 || e instanceof AccessDeniedException)) {
      file.leave(); // another one may do, as where a limit holds for each file
      return rejected(message(e));
    }
    if (!absent || !InWords.isFull(e)) {
      return failed(
          new Attempt.Unknown(
              unknown.bucket(),
              unknown.file(),
              unknown.end(),
              unknown.firstPosition(),
              "",
              absent,
              InWords.isFull(e)),
          file,
          e);
    }
    if (there == file.length) {
      encoder.notIn(file);
      current = file;
    } else {
      file.leave();
    }
    return new Attempt.NoRoom(e);
  }

  private static Attempt failed(Attempt.Unknown unknown, BucketFile file, IOException e) {
    file.leave();
    LOG.debug("{}: write not confirmed: {}", unknown.file(), e.toString());
    return unknown.because(message(e));
  }

  private FileHeader header(BucketFile file) {
    return new FileHeader(log.store().identity().id(), log.id(), file.bucket, file.name);
  }

  /** Step 2. One incarnation names one file: a bucket that is entered twice gets a second one. */
  private BucketFile enter(Bucket bucket) throws IOException {
    clock.check();
    var name = new DataFileName(log.store().machine(), Id.random(log.store().random()));
    Name dataFile = LogLayout.dataFile(log.layout().bucket(bucket), name);
    Entered entered = log.storage().enter(dataFile, durability);
    boolean same = false;
    try {
      // The look at the mark afterwards then tells a store that takes this one's place later.
      log.requireSame();
      same = true;
    } finally {
      if (!same) {
        entered.leave();
        log.storage().removeQuietly(dataFile); // nothing was written to it
      }
    }
    return new BucketFile(bucket, name, entered);
  }

  /** Step 4: after the batch is visible, never before (rule A6). */
  private boolean confirmed(BucketFile file) throws IOException {
    if (settings.confirm() == StoreSettings.Confirm.LATE && clearlyEarly(file)) {
      return true;
    }
    Mark mark = file.entered.look();
    if (mark == Mark.SEALED) {
      return false;
    }
    if (!file.passedHorizon || mark == Mark.UNSURE) {
      if (horizon.marked(file.bucket)) {
        return false;
      }
      file.passedHorizon = true;
    }
    return true;
  }

  /**
   * Whether the server's own time of the write lies before any closer may begin (section 5): by the
   * change time that the server gave a write of ours a moment ago, or a directory after it, and the
   * monotonic clock since. Assumes that the server's clock never steps back, nor ahead by half the
   * grace in a moment; that is why it is off by default.
   */
  private boolean clearlyEarly(BucketFile file) throws IOException {
    long now = log.store().time().monotonicNanos();
    if (!serverTimeKnown || now - serverTimeAt > SERVER_TIME_NANOS) {
      serverTime = file.entered.changedAt();
      serverTimeAt = writeBegan; // not after that write, or a pause since would be forgotten
      serverTimeKnown = true;
    }
    return serverTime + (now - serverTimeAt) < file.bucket.end() + settings.graceNanos() / 2;
  }
}
