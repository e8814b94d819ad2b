package dev.cinch.bag;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.StoredMessage;
import dev.cinch.bag.read.ExpiredException;
import dev.cinch.bag.read.MergedLogs;
import dev.cinch.bag.store.LogContext;
import dev.cinch.bag.store.RemovedLogs;
import dev.cinch.bag.store.StoreContext;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Instant;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The settled messages of a log in order, each once; of several logs those before the {@link #cut},
 * in the order of (timestamp, log's name, file, position). Opened by {@link Log#messages}, {@link
 * Log#follow}, {@link Store#messages} and {@link Store#follow}. Holds some thousands of messages in
 * memory at a time, and no file open between them.
 *
 * <p>What can't be read ends it with {@link UncheckedIOException}, whose cause is a {@link
 * dev.cinch.bag.format.DamagedException} where bytes are damaged, a {@link LogRemovedException}
 * where one that is followed was removed, and a {@link dev.cinch.bag.store.StoreReplacedException}
 * where it was made anew. Where messages expired while they were read (rule R4) it is an {@link
 * ExpiredException}, which says from when on to read. Not thread-safe, but for {@link #close} and
 * {@link #cut}.
 */
@CheckReturnValue
public final class Messages implements Iterator<StoredMessage>, AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Messages.class);

  private static final long LONGEST_PAUSE_NANOS = 1_000_000_000;

  private final StoreContext store;
  private final MergedLogs logs;
  private final long to;
  private final boolean follow;
  private MergedLogs.@Nullable Found next;
  private boolean looked;
  private boolean ended;
  private volatile long cut = Long.MIN_VALUE;
  private volatile boolean closed;

  Messages(List<LogContext> logs, Instant from, Instant to, boolean follow) {
    this.store = logs.get(0).store();
    this.to = nanos(to);
    this.follow = follow;
    this.logs =
        new MergedLogs(
            logs,
            nanos(from),
            this.to,
            false,
            message -> true,
            (m, file, why) ->
                LOG.warn("{}: the message at {} does not exist: {}", file, m.timestamp(), why));
  }

  private static long nanos(Instant time) {
    try {
      return Math.addExact(
          Math.multiplyExact(time.getEpochSecond(), 1_000_000_000L), time.getNano());
    } catch (ArithmeticException e) {
      return time.getEpochSecond() < 0 ? Long.MIN_VALUE : Long.MAX_VALUE;
    }
  }

  /**
   * The time through which all of the logs were settled when {@link #hasNext} looked last. What is
   * given of each lies before it, and is all that it ever has there. {@link Instant#MIN} if there
   * is a log of which nothing is settled, or nobody asked yet.
   */
  public Instant cut() {
    return cut == Long.MIN_VALUE ? Instant.MIN : Instant.EPOCH.plusNanos(cut);
  }

  /**
   * Whether there is another message. One that follows waits until there is, or until it is closed,
   * its end is settled, or its thread is interrupted, which stays so.
   */
  @Override
  public boolean hasNext() {
    try {
      while (next == null && !ended && !closed) {
        next = logs.next();
        if (next == null && looked && (!follow || cut >= to)) {
          ended = true;
        } else if (next == null) {
          look();
        }
      }
    } catch (IOException e) {
      ended = true;
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      ended = true;
    }
    return next != null && !closed;
  }

  private void look() throws IOException, InterruptedException {
    if (looked) {
      refuseTheEnd();
      store.time().sleepNanos(Math.min(LONGEST_PAUSE_NANOS, store.settings().bucketWidthNanos()));
    }
    cut = logs.look();
    looked = true;
  }

  /** Nothing comes to a log that was removed: whoever follows would wait for ever. */
  private void refuseTheEnd() throws IOException {
    for (LogName over : logs.over()) {
      Optional<String> removed = new RemovedLogs(store).told(over);
      if (removed.isPresent()) {
        throw new LogRemovedException(removed.get());
      }
    }
  }

  @Override
  public StoredMessage next() {
    MergedLogs.Found found = hasNext() ? next : null;
    if (found == null) {
      throw new NoSuchElementException("no more messages");
    }
    next = null;
    return new StoredMessage(
        found.log(),
        found.timestamp(),
        found.file(),
        found.position(),
        found.payload(),
        found.leases().stream().map(signed -> signed.witness().name()).toList());
  }

  /** Ends it; a thread that waits for a message is told within a second that there is none. */
  @Override
  public void close() {
    closed = true;
  }
}
