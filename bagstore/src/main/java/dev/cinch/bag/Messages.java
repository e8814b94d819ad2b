package dev.cinch.bag;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.model.Message;
import dev.cinch.bag.model.StoredMessage;
import dev.cinch.bag.read.ExpiredException;
import dev.cinch.bag.store.StoreContext;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Instant;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.concurrent.Semaphore;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The settled messages of a log in order, each once; of several logs those before the {@link #cut},
 * in the order of (timestamp, log's name, file, position). Opened by {@link Log#messages}, {@link
 * Log#follow}, {@link Store#messages} and {@link Store#follow}. Holds a block of each log in memory
 * and at most 64 files open, until it ends or is closed.
 *
 * <p>What can't be read ends it with {@link UncheckedIOException}, whose cause is a {@link
 * dev.cinch.bag.format.DamagedException} where bytes are damaged, a {@link LogRemovedException}
 * where one that is followed was removed, and a {@link
 * dev.cinch.bag.storage.StoreReplacedException} where it was made anew. Where messages expired
 * while they were read (rule R4) it is an {@link ExpiredException}, which says from when on to
 * read. Not thread-safe, but for {@link #close} and {@link #cut}.
 */
@CheckReturnValue
public final class Messages implements Iterator<StoredMessage>, AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Messages.class);

  private final StoreContext store;
  private final Following logs;
  private final boolean follow;
  private final Semaphore reading = new Semaphore(1);
  private @Nullable StoredMessage next;
  private boolean looked;
  private boolean ended;
  private volatile long cut = Long.MIN_VALUE;
  private volatile boolean closed;

  Messages(List<Log> logs, Instant from, Instant to, boolean follow) {
    this.follow = follow;
    this.logs =
        new Following(
            logs,
            nanos(from),
            nanos(to),
            false,
            (m, file, why) ->
                LOG.warn("{}: the message at {} does not exist: {}", file, m.timestamp(), why));
    this.store = logs.get(0).context().store();
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
    reading.acquireUninterruptibly();
    try {
      while (next == null && !ended && !closed) {
        Message message = logs.next();
        if (message != null) {
          next = copy(message);
        } else if (looked && (!follow || logs.isOver())) {
          ended = true;
          logs.end();
        } else {
          look();
        }
      }
    } catch (IOException e) {
      ended = true;
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      ended = true;
    } finally {
      if (ended || closed) {
        closeFiles();
      }
      reading.release();
    }
    return next != null && !closed;
  }

  private void look() throws IOException, InterruptedException {
    if (looked) {
      store.time().sleepNanos(logs.pauseNanos());
    }
    cut = logs.look();
    looked = true;
  }

  private StoredMessage copy(Message m) {
    return new StoredMessage(
        logs.log(),
        m.timestamp(),
        m.file(),
        m.position(),
        m.payload(),
        m.leases().stream().map(signed -> signed.witness().name()).toList());
  }

  @Override
  public StoredMessage next() {
    StoredMessage found = hasNext() ? next : null;
    if (found == null) {
      throw new NoSuchElementException("no more messages");
    }
    next = null;
    return found;
  }

  /** Ends it; a thread that waits for a message is told within a second that there is none. */
  @Override
  public void close() {
    closed = true;
    if (reading.tryAcquire()) { // else the thread that reads closes them
      try {
        closeFiles();
      } finally {
        reading.release();
      }
    }
  }

  private void closeFiles() {
    try {
      logs.close();
    } catch (IOException e) {
      LOG.debug("not closed: {}", e.toString());
    }
  }
}
