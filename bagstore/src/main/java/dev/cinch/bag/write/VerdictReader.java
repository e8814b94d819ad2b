package dev.cinch.bag.write;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.close.HorizonAdvance;
import dev.cinch.bag.close.HorizonChain.Link;
import dev.cinch.bag.close.Locks;
import dev.cinch.bag.close.TooEarlyException;
import dev.cinch.bag.close.View;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.HorizonRecord.ClosedBucket;
import dev.cinch.bag.format.SegmentBucket;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.bag.read.Segments;
import dev.cinch.bag.storage.Patience;
import dev.cinch.bag.storage.StoreReplacedException;
import dev.cinch.bag.store.LogContext;
import dev.cinch.bag.store.RemovedLogs;
import dev.cinch.bag.write.BucketAppender.Attempt;
import dev.cinch.bag.write.PendingBatch.Outcome;
import java.io.IOException;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Finds out what became of a batch that could not be confirmed: append, step 5. Advances the
 * horizon past the bucket, then reads the outcome from the record. Thread-safe.
 */
@CheckReturnValue
final class VerdictReader {
  private static final Logger LOG = LoggerFactory.getLogger(VerdictReader.class);
  private static final long RETRY_NANOS = 1_000_000_000L;

  /**
   * How long to wait for a bucket's time to be over before looking at the filesystem's clock again:
   * it may have been wrong, and somebody else may close sooner.
   */
  private static final long CLOCK_LOOK_NANOS = 5_000_000_000L;

  /** How often at most it is told that a verdict can't be had. */
  private static final long TOLD_NANOS = 60_000_000_000L;

  private final LogContext log;
  private final HorizonAdvance horizon;
  private final Locks locks;
  private volatile @Nullable FateUnknownException givenUp;

  /** When that was told last; guarded by this, as is what follows. */
  private long toldAt;

  private boolean told;

  VerdictReader(LogContext log, HorizonAdvance horizon) {
    this.log = log;
    this.horizon = horizon;
    this.locks = new Locks(log);
  }

  /**
   * Waits for the verdict, however long the store cannot be reached (rule A1). An interrupt is kept
   * for afterwards.
   *
   * @throws FateUnknownException if the store is damaged where the verdict stands, or another one
   *     stands in its place, so that there is none to wait for; or once this was given up
   */
  Outcome resolve(Attempt.Unknown attempt) {
    boolean interrupted = Thread.interrupted();
    try {
      boolean said = false;
      Patience damaged = null;
      long since = log.store().time().monotonicNanos();
      while (true) {
        FateUnknownException over = givenUp;
        if (over != null) {
          throw over.again();
        }
        long wait = RETRY_NANOS;
        try {
          return read(attempt);
        } catch (TooEarlyException e) {
          wait = Math.min(e.waitNanos(), CLOCK_LOOK_NANOS);
          if (!said && e.waitNanos() > longestWait()) {
            LOG.warn(
                "an append to {} is pending ({}): by the storage's clock its bucket is over in"
                    + " {} s, which can't be right; looking at it again",
                log.layout().name(),
                attempt.why(),
                e.waitNanos() / 1_000_000_000L);
            said = true;
          }
        } catch (InterruptedException e) {
          interrupted = true;
          continue;
        } catch (StoreReplacedException e) {
          throw FateUnknownException.of(log.layout().name().toString(), e);
        } catch (IOException e) {
          if (removed()) {
            return rejected(attempt, "the log was removed");
          }
          damaged = e instanceof DamagedException d ? stillDamaged(d, damaged) : null;
          tell(attempt, since, e);
          interrupted |= Thread.interrupted(); // or every further operation would fail for it
        }
        try {
          log.store().time().sleepNanos(wait);
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** Who waits for a verdict does so no more, soon; and nobody will. */
  void giveUp(FateUnknownException why) {
    givenUp = why;
  }

  /** At once, and then once a minute, for all that wait. */
  private synchronized void tell(Attempt.Unknown attempt, long since, IOException e) {
    long now = log.store().time().monotonicNanos();
    if (!told || now - toldAt >= TOLD_NANOS) {
      told = true;
      toldAt = now;
      LOG.warn(
          "an append to {} is pending ({}): {}; trying until the store answers ({} s)",
          log.layout().name(),
          attempt.why(),
          BucketAppender.message(e),
          (now - since) / 1_000_000_000L);
    }
  }

  /**
   * Damage has no verdict to wait for. It is not believed at once, since failing takes the writer
   * with it: what was seen through a cache may look otherwise once that has expired.
   *
   * @param before what was made when it was seen first, at each look since; null: not seen before
   * @throws FateUnknownException once every cache has expired
   */
  private Patience stillDamaged(DamagedException e, @Nullable Patience before) {
    Patience wait = before != null ? before : log.storage().patience(log.layout().root());
    if (wait.isOver() && before != null) {
      throw FateUnknownException.of(log.layout().name().toString(), e);
    }
    return wait;
  }

  /** No timestamp is further ahead than that of this machine's clock, which may be ahead too. */
  private long longestWait() {
    StoreSettings s = log.store().settings();
    return log.bucketWidth()
        + s.graceNanos()
        + s.timestampDistanceNanos()
        + s.clockAheadMs() * 1_000_000;
  }

  private Outcome read(Attempt.Unknown attempt) throws IOException, InterruptedException {
    Link tip = horizon.help(attempt.bucket());
    return View.read(horizon.chain()::line, view -> read(attempt, tip, view));
  }

  private Outcome read(Attempt.Unknown attempt, Link tip, View view) throws IOException {
    Bucket bucket = attempt.bucket();
    Optional<Link> settling =
        bucket.end() <= view.retired()
            ? Optional.empty()
            : horizon.chain().settling(bucket.start(), tip);
    if (settling.isEmpty()) {
      // Whatever stands in buckets and records there now may have been made again by others (R3);
      // the segment keeps what its lock said (R1).
      return verdict(attempt, new Segments(log).bucket(bucket), ", and retired");
    }
    Optional<ClosedBucket> listed = settling.get().record().bucket(bucket.start());
    return verdict(
        attempt,
        listed.isEmpty() ? Optional.empty() : Optional.of(locks.readListed(listed.get()).bucket()),
        "");
  }

  /**
   * What a bucket block says of the batch (rule H1); no data file is asked.
   *
   * @param since what became of the bucket
   */
  private static Outcome verdict(
      Attempt.Unknown attempt, Optional<SegmentBucket> bucket, String since) {
    if (bucket.isEmpty()) {
      return rejected(attempt, "the bucket was settled without it" + since);
    }
    return bucket.get().covers(attempt.file(), attempt.end())
        ? new Outcome.Committed(attempt.file(), attempt.firstPosition())
        : rejected(attempt, "the bucket was closed before it was visible" + since);
  }

  /** Of a log that was removed, and most of its files with it: nobody will see the message. */
  private boolean removed() {
    try {
      return new RemovedLogs(log.store()).find(log.layout().name()).isPresent();
    } catch (IOException e) {
      return false; // nobody knows yet
    }
  }

  private static Outcome rejected(Attempt.Unknown attempt, String how) {
    return new Outcome.Rejected(how + " (" + attempt.why() + ")");
  }
}
