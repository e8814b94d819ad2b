package dev.cinch.lease.hold;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.time.TimeSource;
import java.io.IOException;
import java.time.Duration;
import java.util.EnumSet;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.LongFunction;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Takes leases that others hold, or of a service that is away, for a time. Holders are waited for
 * in the service's queue, first come, first served. What is asked for again at once stands where it
 * stood.
 */
@CheckReturnValue
public final class LeaseWait {
  private static final Logger LOG = LoggerFactory.getLogger(LeaseWait.class);

  /** A holder may release long before its time is over, so nobody waits longer than this. */
  private static final long LONGEST_PAUSE_NANOS = 1_000_000_000;

  private static final long SHORTEST_PAUSE_NANOS = 20_000_000;
  private static final long NANOS_PER_MS = 1_000_000;

  /**
   * So long a server has a request wait at most: one that hangs can't be told from one that does
   * so, and there may be another. Milliseconds.
   */
  private static final long QUEUED_MS = 10_000;

  /** After so long somebody wonders what is waited for. */
  private static final long LONG_NANOS = 2_000_000_000;

  /** What nobody expects who waits for a holder or for a server that was started just now. */
  private static final Set<Reason> TOLD = EnumSet.of(Reason.NOT_HELD, Reason.SUPERSEDED);

  /**
   * A server that was superseded ends, and where it was its successor may be next; leases that were
   * lost before they could be used may be taken anew.
   */
  private static final Set<Reason> PASSING =
      EnumSet.of(Reason.HELD, Reason.NOT_YET, Reason.NOT_HELD, Reason.SUPERSEDED);

  private final Duration wait;
  private final TimeSource time;
  private final LongFunction<LostAnswers.Asking> queue;
  private final RandomGenerator random;
  private final Consumer<String> notice;
  private final @Nullable Consumer<String> lasting;
  private boolean noticed;
  private boolean lastingTold;

  /**
   * @param wait how long to try again while one is held, was lost before it could be used, or the
   *     service does not grant yet, does not answer or was superseded; 0: not at all
   * @param queue asks for leases, and may be kept waiting for so many milliseconds
   * @param random spreads out those who wait for the same
   * @param notice told once, in one line, when the service does not answer or was superseded, or a
   *     lease was lost, and it is tried again
   * @param lasting told once, in one line, after two seconds what is waited for, such as who has
   *     the lease; null if nobody is there to wonder
   */
  public LeaseWait(
      Duration wait,
      TimeSource time,
      LongFunction<LostAnswers.Asking> queue,
      RandomGenerator random,
      Consumer<String> notice,
      @Nullable Consumer<String> lasting) {
    this.wait = wait;
    this.time = time;
    this.queue = queue;
    this.random = random;
    this.notice = notice;
    this.lasting = lasting;
  }

  /** One that waits in the service's queue, and logs what is told once. */
  public static LeaseWait queued(Duration wait, TimeSource time, RandomGenerator random) {
    return new LeaseWait(wait, time, LostAnswers.Asking::queued, random, LOG::warn, null);
  }

  /** Asks for leases once. */
  @FunctionalInterface
  public interface Attempt<T> {
    /**
     * @param asking asks the service, which may have the request wait for other holders
     */
    T take(LostAnswers.Asking asking)
        throws LeaseRefusedException, LeaseUnavailableException, IOException, InterruptedException;
  }

  /**
   * As {@link #take(Attempt)}; one who gives up gives back what may have been granted meanwhile.
   *
   * @param asks by whom the attempts ask
   */
  public <T> T take(LostAnswers asks, Attempt<T> attempt)
      throws LeaseRefusedException, LeaseUnavailableException, IOException, InterruptedException {
    try {
      return take(attempt);
    } catch (InterruptedException e) {
      try {
        asks.giveBack();
      } catch (LeaseUnavailableException unheard) {
        e.addSuppressed(unheard); // it runs out
      }
      throw e;
    }
  }

  /**
   * Takes leases.
   *
   * @throws LeaseRefusedException the last refusal, which names the holder
   * @throws LeaseUnavailableException if the last attempt was not answered
   * @throws InterruptedException if the clock, or an attempt, no longer waits
   */
  public <T> T take(Attempt<T> attempt)
      throws LeaseRefusedException, LeaseUnavailableException, IOException, InterruptedException {
    long start = time.monotonicNanos();
    while (true) {
      long asked = time.monotonicNanos();
      boolean brief = lasting != null && !lastingTold; // the refusal says who has it
      long mostMs = brief ? LONG_NANOS / NANOS_PER_MS : QUEUED_MS;
      long waitMs = Math.max(0, Math.min(left(start) / NANOS_PER_MS, mostMs));
      long retryAfterMs;
      try {
        return attempt.take(queue.apply(waitMs));
      } catch (LeaseRefusedException e) {
        if (!PASSING.contains(e.reason()) || wait.isZero()) {
          throw e;
        }
        if (left(start) <= 0) {
          throw new LeaseRefusedException(e.reason(), waited(e), e.retryAfterMs());
        }
        if (TOLD.contains(e.reason())) {
          tellOnce(e);
        }
        tellLong(e, start);
        if (e.reason() == Reason.HELD && waited(asked, waitMs)) {
          continue; // it queued, and its place is kept for a while
        }
        retryAfterMs = e.retryAfterMs();
      } catch (LeaseUnavailableException e) {
        if (wait.isZero()) {
          throw e;
        }
        if (left(start) <= 0) {
          throw new LeaseUnavailableException(waited(e), e);
        }
        tellOnce(e);
        retryAfterMs = 0;
      }
      time.sleepNanos(Math.min(left(start), pause(retryAfterMs)));
    }
  }

  /** Whether the service had it wait for as long as it may; one that does not wait says no. */
  private boolean waited(long asked, long waitMs) {
    return waitMs > 0 && time.monotonicNanos() - asked >= waitMs * NANOS_PER_MS;
  }

  private void tellLong(LeaseRefusedException e, long start) {
    if (lasting != null && !lastingTold && time.monotonicNanos() - start >= LONG_NANOS) {
      lastingTold = true;
      String more = e.reason() == Reason.HELD ? " unless it is renewed (see cinch lease who)" : "";
      lasting.accept("waiting: " + e.getMessage() + more);
    }
  }

  private void tellOnce(Exception e) {
    if (!noticed) {
      noticed = true;
      notice.accept(e.getMessage() + "; trying again");
    }
  }

  private long left(long start) {
    return wait.toNanos() - (time.monotonicNanos() - start);
  }

  private String waited(Exception e) {
    return "%s; waited %.1f s".formatted(e.getMessage(), wait.toNanos() / 1e9);
  }

  /** Half of the time that the service names, to all of it. */
  private long pause(long retryAfterMs) {
    long most =
        retryAfterMs <= 0 || retryAfterMs > LONGEST_PAUSE_NANOS / NANOS_PER_MS
            ? LONGEST_PAUSE_NANOS
            : retryAfterMs * NANOS_PER_MS;
    return Math.max(SHORTEST_PAUSE_NANOS, most / 2 + random.nextLong(most / 2 + 1));
  }
}
