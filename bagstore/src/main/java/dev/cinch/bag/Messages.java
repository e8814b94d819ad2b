package dev.cinch.bag;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.model.StoredMessage;
import dev.cinch.bag.read.Gap;
import dev.cinch.bag.read.GapException;
import dev.cinch.bag.read.LogReader;
import dev.cinch.bag.read.Message;
import dev.cinch.bag.store.LogContext;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.Iterator;
import java.util.NoSuchElementException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The settled messages of a log in order, each once. Opened by {@link Log#messages} and {@link
 * Log#follow}. Holds some thousands of messages in memory at a time, and no file open between them.
 *
 * <p>Messages may expire while they are read (rule R4). Then {@link #hasNext} and {@link #next}
 * throw {@link UncheckedIOException} once, at the hole, whose cause is a {@link GapException} that
 * says what is missing. Whoever asks again is given what follows.
 *
 * <p>Anything else that can't be read ends it with {@link UncheckedIOException}, whose cause is a
 * {@link dev.cinch.bag.format.DamagedException} where bytes are damaged. Not thread-safe, but for
 * {@link #close}.
 */
@CheckReturnValue
public final class Messages implements Iterator<StoredMessage>, AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Messages.class);

  /** How many are taken at a time: few first, for whoever wants only some. */
  private static final int FIRST = 256;

  private static final int MOST = 1 << 16;
  private static final long MOST_BYTES = 16 << 20;
  private static final long LONGEST_PAUSE_NANOS = 1_000_000_000;

  private final LogContext log;
  private final LogReader reader;
  private final long to;
  private final boolean follow;
  private final ArrayDeque<StoredMessage> taken = new ArrayDeque<>();
  private long from;
  private int most = FIRST;
  private @Nullable StoredMessage last;
  private boolean ended;

  /** Whether something was read before, so that what expired since is a hole. */
  private boolean begun;

  /** A hole behind what was taken, which its user was not told of yet. */
  private @Nullable GapException hole;

  private volatile boolean closed;

  Messages(LogContext log, Instant from, Instant to, boolean follow) {
    this.log = log;
    this.reader = new LogReader(log);
    this.from = nanos(from);
    this.to = nanos(to);
    this.follow = follow;
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
   * Whether there is another message. One that follows waits until there is, or until it is closed,
   * its end is settled, or its thread is interrupted, which stays so.
   */
  @Override
  public boolean hasNext() {
    try {
      while (taken.isEmpty() && !ended && !closed) {
        GapException untold = hole;
        if (untold != null) {
          hole = null;
          throw new UncheckedIOException(untold);
        }
        take();
        if (taken.isEmpty() && !ended && hole == null) {
          log.store()
              .time()
              .sleepNanos(Math.min(LONGEST_PAUSE_NANOS, log.store().settings().bucketWidthNanos()));
        }
      }
    } catch (IOException e) {
      ended = true;
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      ended = true;
    }
    return !taken.isEmpty() && !closed;
  }

  @Override
  public StoredMessage next() {
    if (!hasNext()) {
      throw new NoSuchElementException("no more messages");
    }
    return taken.remove();
  }

  /** Ends it; a thread that waits for a message is told within a second that there is none. */
  @Override
  public void close() {
    closed = true;
  }

  /** Takes what follows the last one, as far as there is room. */
  private void take() throws IOException {
    var full = new boolean[1];
    var bytes = new long[1];
    long settled;
    try {
      settled = take(full, bytes);
    } catch (GapException e) {
      hole = e;
      from = e.gap().to();
      return;
    } finally {
      begun = true;
    }
    if (full[0] && last != null) {
      from = last.timestamp(); // others may have the same
      most = Math.min(MOST, 2 * most);
    } else {
      from = Math.max(from, settled);
      ended = !follow || from >= to;
    }
  }

  private long take(boolean[] full, long[] bytes) throws IOException {
    return reader.settled(
        from,
        to,
        message -> {
          if (isDone(message)) {
            return true;
          }
          StoredMessage copy = copy(message);
          taken.add(copy);
          last = copy;
          bytes[0] += copy.payload().length;
          full[0] = taken.size() >= most || bytes[0] >= MOST_BYTES;
          return !full[0];
        },
        new LogReader.Objection() {
          @Override
          public void ignored(Message message, Path file, String why) {
            LOG.warn("{}: the message at {} does not exist: {}", file, message.timestamp(), why);
          }

          @Override
          public void expired(Gap gap) throws IOException {
            if (begun || gap.inside()) {
              throw new GapException(gap.asInside());
            }
          }
        });
  }

  /** Of those with the last one's timestamp, some were given already. */
  private boolean isDone(Message message) {
    StoredMessage given = last;
    if (given == null || message.timestamp() != given.timestamp()) {
      return false;
    }
    int order = message.file().toString().compareTo(given.file().toString());
    return order < 0 || (order == 0 && message.position() <= given.position());
  }

  private static StoredMessage copy(Message message) {
    return new StoredMessage(
        message.timestamp(),
        message.file(),
        message.position(),
        message.payload(),
        message.leases().stream().map(signed -> signed.witness().name()).toList());
  }
}
