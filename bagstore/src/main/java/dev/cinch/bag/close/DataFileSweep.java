package dev.cinch.bag.close;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.close.HorizonChain.Link;
import dev.cinch.bag.file.SegmentReader;
import dev.cinch.bag.format.Checkpoint;
import dev.cinch.bag.format.HorizonRecord;
import dev.cinch.bag.format.HorizonRecord.ClosedBucket;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.store.LogContext;
import java.io.IOException;
import java.util.Optional;

/**
 * Removes data files whose messages stand in a lock that a durable record names (rule R0). Those of
 * the last minute are spared for readers that have just listed them. Not thread-safe.
 */
@CheckReturnValue
public final class DataFileSweep {
  private static final long SPARED_NANOS = 60_000_000_000L;

  /** Behind the last record a closer that has just begun looks so far back. */
  private static final int FIRST_RECORDS = 4;

  private final LogContext log;
  private final long sparedNanos;
  private final HorizonChain chain;
  private final Locks locks;
  private long swept = -1;

  /** Takes what could not be removed. */
  @FunctionalInterface
  public interface Failed {
    void at(Bucket bucket, IOException why) throws IOException;
  }

  public DataFileSweep(LogContext log) {
    this(log, SPARED_NANOS);
  }

  /**
   * @param sparedNanos how long data files stay behind their record; a courtesy to readers
   */
  public DataFileSweep(LogContext log, long sparedNanos) {
    this.log = log;
    this.sparedNanos = sparedNanos;
    this.chain = new HorizonChain(log);
    this.locks = new Locks(log);
  }

  /**
   * Sweeps what was settled lately: after closing, in a closer's next round.
   *
   * @param failed told of each bucket that keeps data files, and why
   */
  public void lately(Failed failed) throws IOException {
    sweep(swept < 0 ? FIRST_RECORDS : Long.MAX_VALUE, failed);
  }

  /** As {@link #lately}, behind every record that is not retired. */
  public void all(Failed failed) throws IOException {
    swept = 0;
    sweep(Long.MAX_VALUE, failed);
  }

  private void sweep(long most, Failed failed) throws IOException {
    Optional<Link> tip = chain.closersTip();
    if (tip.isEmpty()) {
      return;
    }
    Link last = chain.durable(tip.get());
    log.requireSame();
    long cutoff = log.store().now() - sparedNanos;
    long number = last.record().number();
    long line = retired();
    swept = Math.max(Math.max(swept, line), number - Math.min(most, number));
    while (swept < number) {
      Optional<Link> next =
          swept + 1 == number ? Optional.of(last) : chain.readUnlessRetired(swept + 1);
      if (next.isPresent() && !sweep(next.get().record(), cutoff, failed)) {
        return;
      }
      swept++;
    }
  }

  /** False if that is too young. */
  private boolean sweep(HorizonRecord record, long cutoff, Failed failed) throws IOException {
    if (record.settledAt() > cutoff) {
      return false;
    }
    for (ClosedBucket b : record.buckets()) {
      var bucket = new Bucket(b.start(), log.bucketWidth());
      try (SegmentReader lock = locks.open(b)) { // that it is there, before anything goes
        if (lock.bucket(b.start()).orElseThrow().holes().isEmpty()) { // else salvage may need them
          log.buckets().sweep(bucket);
        }
      } catch (IOException e) {
        if (retired() >= record.number()) { // meanwhile, and its data files first
          return true;
        }
        failed.at(bucket, e);
      }
    }
    return true;
  }

  /** The record at the line behind which everything goes by itself. */
  private long retired() throws IOException {
    return chain.checkpoint().map(Checkpoint::number).orElse(0L);
  }
}
