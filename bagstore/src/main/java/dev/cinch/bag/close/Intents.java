package dev.cinch.bag.close;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.layout.LogLayout;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.store.LogContext;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The intents of a log (section 4): those of closers at work, and of those that failed or stopped.
 * Thread-safe.
 *
 * <p>A closer looks whether its own intent is older than the time that it announces (advance, step
 * 2), and goes no further if so. So one whose change time is not past its own time was left by
 * nobody who will link a record under it, whatever any clock did since: it counts for nothing.
 */
@CheckReturnValue
public final class Intents {
  private static final Logger LOG = LoggerFactory.getLogger(Intents.class);

  /** How long one stays that counts for nothing. Far above what caches (61 s) and leases last. */
  private static final long STALE_NANOS = Duration.ofDays(1).toNanos();

  private final LogContext log;

  public Intents(LogContext log) {
    this.log = log;
  }

  /** Whether one reaches past a bucket's start, past every cache: append, step 4. */
  boolean reachPast(Bucket bucket) throws IOException {
    List<String> names = log.store().fresh().list(log.layout().intents());
    return furthest(names, bucket.start()) > bucket.start();
  }

  /** How far the furthest one reaches, as fresh as this user may look; the lowest time if none. */
  long furthest() throws IOException {
    return furthest(
        log.store().fresh().listAsPermittedIfThere(log.layout().intents()), Long.MIN_VALUE);
  }

  private long furthest(List<String> names, long least) {
    long furthest = least;
    for (String name : names) {
      OptionalLong reach = LogLayout.intentReach(name);
      if (reach.isPresent() && reach.getAsLong() > furthest && counts(name, reach)) {
        furthest = reach.getAsLong();
      }
    }
    return furthest;
  }

  /** In doubt it does: who believes one too many closes a bucket or waits for a record. */
  private boolean counts(String name, OptionalLong reach) {
    try {
      return canBeLeft(reach.getAsLong(), changed(name));
    } catch (IOException e) {
      return true;
    }
  }

  /**
   * Whether a closer can have left an intent and gone on.
   *
   * @param reach the time that it announces
   * @param changed its change time, or one from a cache, which is no later
   */
  public static boolean canBeLeft(long reach, long changed) {
    // Whoever removes the log needs no time to be over: all that is open is closed early.
    return reach == Long.MAX_VALUE || reach <= changed;
  }

  private long changed(String name) throws IOException {
    return log.store().fs().status(path(name)).changeTime();
  }

  private Path path(String name) {
    return log.layout().intents().resolve(name);
  }

  /**
   * Removes those that a record has reached, whoever left them (advance, step 5), and after a day
   * those that count for nothing.
   *
   * @param settled the {@code to} of a record that is durable
   * @param now by the filesystem's clock
   */
  void sweep(long settled, long now) throws IOException {
    for (String name : log.store().fs().list(log.layout().intents())) {
      OptionalLong reach = LogLayout.intentReach(name);
      if (reach.isPresent() && (reach.getAsLong() <= settled || isStale(name, reach, now))) {
        log.store().fresh().removeQuietly(path(name));
      }
    }
  }

  private boolean isStale(String name, OptionalLong reach, long now) {
    try {
      long changed = changed(name);
      return !canBeLeft(reach.getAsLong(), changed) && now - changed > STALE_NANOS;
    } catch (IOException e) {
      LOG.debug("{}: left: {}", name, e.toString());
      return false;
    }
  }
}
