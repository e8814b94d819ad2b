package dev.cinch.bag.close;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.close.HorizonChain.Link;
import dev.cinch.bag.format.HorizonRecord;
import dev.cinch.bag.storage.Buckets;
import dev.cinch.bag.store.LogContext;
import java.io.IOException;
import java.util.Optional;

/**
 * What a closer that comes again and again asks before it advances a log's horizon, so that idle
 * time costs almost nothing: whether there is a bucket to settle, or the last record is old enough
 * (rule H9). The pause is read off the chain, so it is the same for all closers, and for one that
 * starts anew each time.
 *
 * <p>Nothing but waiting depends on the answer. It keeps the last record that it saw, which may be
 * old and is never wrong. Not thread-safe.
 */
@CheckReturnValue
public final class IdleLog {
  /**
   * The longest pause. Half of what needs a third opinion, so that closers may be away for as long
   * before they need one.
   */
  public static final long LONGEST_PAUSE_NANOS = HorizonAdvance.UNQUESTIONED_NANOS / 2;

  private final HorizonChain chain;
  private final Buckets buckets;
  private Optional<Link> known = Optional.empty();

  public IdleLog(LogContext log) {
    this.chain = new HorizonChain(log);
    this.buckets = log.buckets();
  }

  /**
   * Whether it is time to advance.
   *
   * @param to the boundary to settle through, nanoseconds since the Unix epoch
   */
  public boolean isDue(long to) throws IOException {
    if (known.isEmpty()) {
      known = chain.glimpse();
    }
    if (known.isPresent() && rests(known.get().record(), to)) {
      return false;
    }
    known = chain.freshTip(); // another closer may have made one
    return known.isEmpty() || !rests(known.get().record(), to);
  }

  private boolean rests(HorizonRecord last, long to) throws IOException {
    long idle = to - last.to();
    return idle <= 0 || (idle < pause(last) && !buckets.mayBeIn(last.to(), to));
  }

  /** Twice the length of the last record, if that was empty too. */
  private static long pause(HorizonRecord last) {
    if (!last.buckets().isEmpty() || last.from() == Long.MIN_VALUE) {
      return 0;
    }
    return 2 * Math.min(last.to() - last.from(), LONGEST_PAUSE_NANOS / 2);
  }
}
