package dev.cinch.cli.append;

import dev.cinch.bag.model.Words;
import dev.cinch.lease.time.TimeSource;
import java.time.Duration;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Waits for the steps at the end of a job, and has it give up once none of its lines got a receipt
 * for so long. Confined to one thread, but for {@link #now} and {@link #why}.
 */
final class GivingUp {
  /** How often it looks, real time. */
  private static final long TICK_MS = 500;

  /** How often it looks before it goes on without threads that a filesystem does not let go. */
  private static final int LAST_TICKS = 10;

  private final TimeSource time;
  private final long nanos;
  private final Consumer<String> writer;
  private final Consumer<AppendJob> waits;
  private long since;
  private long told = -1;
  private int ticks = LAST_TICKS;
  private volatile @Nullable String why;

  /** Something that ends by itself, most likely. */
  @FunctionalInterface
  interface Step {
    /** Waits for it, for so long at most. */
    boolean isDone(long ms) throws InterruptedException;
  }

  /**
   * @param after how long it waits; null: for ever
   * @param writer told to give up, with the reason
   * @param waits told again and again while lines have no receipt
   */
  GivingUp(
      TimeSource time,
      @Nullable Duration after,
      Consumer<String> writer,
      Consumer<AppendJob> waits) {
    this.waits = waits;
    this.time = time;
    this.nanos = after == null ? Long.MAX_VALUE : after.toNanos();
    this.writer = writer;
    this.since = time.monotonicNanos();
  }

  /** Waits for a step; false if it is not done, and the job has to end without. */
  boolean await(Step step, AppendJob job) throws InterruptedException {
    while (!step.isDone(TICK_MS)) {
      if (why != null) {
        if (--ticks < 0) {
          return false;
        }
      } else if (isDue(job)) {
        now("gave up after " + Words.span(nanos) + " without a receipt", job);
      } else if (job.told() < job.handedOver()) {
        waits.accept(job);
      }
    }
    return true;
  }

  /** Gives up; any thread may say so. */
  void now(String reason, AppendJob job) {
    why = reason;
    job.lost(reason);
    writer.accept(reason);
  }

  private boolean isDue(AppendJob job) {
    long now = time.monotonicNanos();
    if (job.told() != told || job.told() >= job.handedOver()) {
      told = job.told();
      since = now;
    }
    return now - since >= nanos;
  }

  /** Whether it gave up, and why. */
  @Nullable String why() {
    return why;
  }
}
