package dev.cinch.bag.close;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.storage.Freshness;
import dev.cinch.bag.storage.Storage;
import dev.cinch.bag.store.LogContext;
import dev.cinch.lease.Id;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;
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
  private final Storage storage;

  /** What this has left last: an advance that failed goes by it again. */
  private volatile @Nullable Left last;

  public Intents(LogContext log) {
    this.log = log;
    this.storage = log.storage();
  }

  /**
   * One that somebody left: its name says all.
   *
   * @param to the boundary that it reaches; {@link Long#MAX_VALUE} for the end of time
   */
  public record Left(long to, Name document) {}

  /**
   * A closer's own.
   *
   * @param to the boundary up to which it settles
   * @param closer drawn for it
   * @param left withdrawn only once a record has reached it that is durable: a link that a closer
   *     asked for and gave up may still be carried out, and a lock that neither a record nor an
   *     intent reaches proves that records are missing
   */
  record Intent(long to, Id closer, Left left) {}

  /**
   * Leaves one: advance, step 2. One that an advance to the same boundary left, and that is there,
   * serves again: on a full disk an append tries for days.
   *
   * @throws TooEarlyException if the storage's clock was set back since it was read, so that it
   *     would count for nothing; it is gone then, and nothing was done under it
   */
  Intent leave(long to) throws IOException {
    Left before = last;
    if (before != null && before.to() == to && madeAt(before).isPresent()) {
      return new Intent(to, Id.random(log.store().random()), before);
    }
    Intent intent = leave(to, to);
    OptionalLong made = madeAt(intent.left()); // none: swept, a record has reached it
    if (made.isPresent() && !canBeLeft(to, made.getAsLong())) {
      withdraw(intent);
      throw new TooEarlyException(to, to - made.getAsLong() + log.store().settings().graceNanos());
    }
    last = intent.left();
    return intent;
  }

  /**
   * Of whoever removes the log: it counts whatever the time is (rule H8).
   *
   * @param to the last boundary there is
   */
  Intent leaveLast(long to) throws IOException {
    return leave(to, Long.MAX_VALUE);
  }

  private Intent leave(long to, long reach) throws IOException {
    LogLayout layout = log.layout();
    Id closer = Id.random(log.store().random());
    Name document =
        reach == Long.MAX_VALUE ? layout.endIntent(closer) : layout.intent(reach, closer);
    log.store().publish(document, new byte[0]);
    return new Intent(to, closer, new Left(reach, document));
  }

  /** Removes one's own (advance, step 5). What stays behind is swept by others. */
  void withdraw(Intent intent) {
    storage.removeQuietly(intent.left().document());
  }

  /** Those there are. */
  public List<Left> left(Freshness freshness) throws IOException {
    Name place = log.layout().intents();
    List<String> names =
        freshness == Freshness.CERTAIN
            ? storage.list(place, freshness)
            : storage.listIfThere(place, freshness);
    var all = new ArrayList<Left>();
    for (String name : names) {
      LogLayout.intentReach(name).ifPresent(to -> all.add(new Left(to, place.resolve(name))));
    }
    return all;
  }

  /**
   * The storage's time of its making, or an earlier one from a cache.
   *
   * @return empty if it was removed
   */
  public OptionalLong madeAt(Left intent) throws IOException {
    try {
      return OptionalLong.of(storage.changedAt(intent.document()));
    } catch (NoSuchFileException e) {
      return OptionalLong.empty();
    }
  }

  /** Whether one reaches past a bucket's start, past every cache: append, step 4. */
  boolean reachPast(Bucket bucket) throws IOException {
    return furthest(left(Freshness.CERTAIN), bucket.start()) > bucket.start();
  }

  /** How far the furthest one reaches, as fresh as this user may look; the lowest time if none. */
  long furthest() throws IOException {
    return furthest(left(Freshness.PERMITTED), Long.MIN_VALUE);
  }

  private long furthest(List<Left> intents, long least) {
    long furthest = least;
    for (Left intent : intents) {
      if (intent.to() > furthest && counts(intent)) {
        furthest = intent.to();
      }
    }
    return furthest;
  }

  /** In doubt it does: who believes one too many closes a bucket or waits for a record. */
  private boolean counts(Left intent) {
    try {
      OptionalLong made = madeAt(intent);
      return made.isEmpty() || canBeLeft(intent.to(), made.getAsLong());
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

  /**
   * Removes those that a record has reached, whoever left them (advance, step 5), and after a day
   * those that count for nothing.
   *
   * @param settled the {@code to} of a record that is durable
   * @param now by the storage's clock
   */
  void sweep(long settled, long now) throws IOException {
    for (Left intent : left(Freshness.CACHED)) {
      if (intent.to() <= settled || isStale(intent, now)) {
        storage.removeQuietly(intent.document());
      }
    }
  }

  private boolean isStale(Left intent, long now) {
    try {
      OptionalLong made = madeAt(intent);
      return made.isPresent()
          && !canBeLeft(intent.to(), made.getAsLong())
          && now - made.getAsLong() > STALE_NANOS;
    } catch (IOException e) {
      LOG.debug("intent to {}: left: {}", intent.to(), e.toString());
      return false;
    }
  }
}
