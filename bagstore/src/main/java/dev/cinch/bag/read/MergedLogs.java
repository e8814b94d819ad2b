package dev.cinch.bag.read;

import static java.util.Objects.requireNonNull;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.file.OpenFiles;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.Message;
import dev.cinch.bag.storage.Freshness;
import dev.cinch.bag.store.LogContext;
import java.io.Closeable;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;
import org.jspecify.annotations.Nullable;

/**
 * Logs of a store as one: their settled messages in the order of (timestamp, log's name, file,
 * position), through the <em>cut</em>, the time through which all of them are settled. So whoever
 * reads through a cut sees all that there ever is before it, in every one of them.
 *
 * <p>A heap of cursors. Holds a block of each log in memory and at most 64 files open, none of them
 * behind the last message. Not thread-safe.
 */
@CheckReturnValue
public final class MergedLogs implements Closeable {
  private static final Comparator<Message> IN_LOG =
      Comparator.<Message, String>comparing(m -> m.file().toString())
          .thenComparingLong(Message::position);

  private static final int SHARED = 2;

  private final long to;
  private final OpenFiles files = new OpenFiles(SHARED);
  private final List<LogCursor> logs = new ArrayList<>();

  /** Those that have a message, the first of which is next. */
  private final PriorityQueue<LogCursor> heads = new PriorityQueue<>(MergedLogs::compare);

  /** Those that have none by the last look; and those that may have one. */
  private final List<LogCursor> dry = new ArrayList<>();

  private final ArrayDeque<LogCursor> due = new ArrayDeque<>();

  private @Nullable LogCursor given;
  private long cut = Long.MIN_VALUE;

  /**
   * @param to nothing from this time on is given
   */
  public MergedLogs(long to) {
    this.to = to;
  }

  /**
   * Adds a log, before the next look.
   *
   * @param log of the same store, and none that was added
   * @param from nanoseconds since the Unix epoch
   * @param objection told of what no lease permits
   */
  public void add(LogContext log, long from, LogReader.Objection objection) {
    var cursor = new LogCursor(log, from, to, Freshness.PERMITTED, false, objection);
    cursor.share(files);
    logs.add(cursor);
    dry.add(cursor);
  }

  private static int compare(LogCursor a, LogCursor b) {
    Message first = requireNonNull(a.current());
    Message second = requireNonNull(b.current());
    int order = Long.compare(first.timestamp(), second.timestamp());
    if (order == 0) {
      order = a.name().compareTo(b.name());
    }
    return order != 0 ? order : IN_LOG.compare(first, second);
  }

  /**
   * Looks how far all logs are settled by now, as fresh as this user may look; before the first
   * look nothing is given.
   *
   * @return the cut, nanoseconds since the Unix epoch; {@link Long#MIN_VALUE} if there is a log of
   *     which nothing is settled
   */
  @CanIgnoreReturnValue
  public long look() throws IOException {
    return look(Long.MAX_VALUE);
  }

  /**
   * As {@link #look()}, with a cut that is no later than a time.
   *
   * @param most nanoseconds since the Unix epoch
   */
  @CanIgnoreReturnValue
  public long look(long most) throws IOException {
    long all = most;
    for (LogCursor log : logs) {
      long settled = log.look();
      if (settled == Long.MIN_VALUE) {
        log.log().requireSame(); // one that was made anew may have no records yet
      }
      all = Math.min(all, settled);
    }
    due.addAll(dry);
    dry.clear();
    cut = all;
    return cut;
  }

  /**
   * Those that are settled to the last boundary there is, by the last look: nothing comes there any
   * more, as where they were removed (rule H8).
   */
  public List<LogName> over() {
    return logs.stream()
        .filter(log -> log.settled() > Long.MAX_VALUE - 2 * log.log().bucketWidth())
        .map(LogCursor::name)
        .toList();
  }

  /** The log that is settled less far than all others, by the last look. */
  public LogName last() {
    return logs.stream().min(Comparator.comparingLong(LogCursor::settled)).orElseThrow().name();
  }

  /** What {@link #look} gave last. */
  public long cut() {
    return cut;
  }

  /** The log of the message that was given last. */
  public LogName log() {
    LogCursor of = given;
    if (of == null) {
      throw new IllegalStateException("no message");
    }
    return of.name();
  }

  /**
   * The next message before the cut.
   *
   * @return null if there is none: all was given; else valid until the call after it
   * @throws ExpiredException if messages behind those that were given expired; of this log or
   *     another one, nothing more is given
   */
  public @Nullable Message next() throws IOException {
    if (given != null) {
      due.add(given);
      given = null;
    }
    while (!due.isEmpty()) {
      LogCursor log = due.element();
      if (log.next() == null) {
        dry.add(log);
      } else {
        heads.add(log);
      }
      due.remove();
    }
    LogCursor first = heads.peek();
    Message message = first == null ? null : first.current();
    if (message == null || message.timestamp() >= cut) {
      files.closeAll(); // or what was retired could not go while a follower waits
      return null;
    }
    given = heads.remove();
    return message;
  }

  /** As {@link LogCursor#end}, of all of them. */
  public void end() throws IOException {
    for (LogCursor log : logs) {
      log.end();
    }
  }

  @Override
  public void close() throws IOException {
    for (LogCursor log : logs) {
      log.close();
    }
  }
}
