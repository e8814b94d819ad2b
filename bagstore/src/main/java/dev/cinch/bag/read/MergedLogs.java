package dev.cinch.bag.read;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.model.DataFileName;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.Message;
import dev.cinch.bag.store.LogContext;
import dev.cinch.lease.SignedWitness;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Logs of a store as one: their settled messages in the order of (timestamp, log's name, file,
 * position), through the <em>cut</em>, the time through which all of them are settled. So whoever
 * reads through a cut sees all that there ever is before it, in every one of them.
 *
 * <p>Takes some messages of each log at a time, so it holds some megabytes of them in memory, and
 * no file open between them. What takes more than its share of that in a bucket is read from the
 * bucket's start more than once. Not thread-safe.
 */
@CheckReturnValue
public final class MergedLogs {
  /** How many are taken at a time: few first, for whoever wants only some. */
  private static final int FIRST = 256;

  /** All that is taken at a time, of all logs together. */
  private static final int MOST = 1 << 16;

  private static final long MOST_BYTES = 16 << 20;

  private final long to;
  private final Predicate<Message> which;
  private final LogReader.Objection objection;
  private final int most;
  private final long mostBytes;
  private final List<Tail> tails = new ArrayList<>();

  /** Those that have a message, the first of which is next. */
  private final PriorityQueue<Tail> heads =
      new PriorityQueue<>(Comparator.comparing(tail -> tail.taken.element()));

  /** Those that have none now, and may get one before the cut. */
  private final ArrayDeque<Tail> dry = new ArrayDeque<>();

  private long cut = Long.MIN_VALUE;

  /**
   * @param logs of one store, each once; at least one
   * @param from nanoseconds since the Unix epoch
   * @param to nothing from this time on is given
   * @param goesOn whether something was read before {@code from}, so that nothing behind it may
   *     have expired
   * @param which messages are wanted
   * @param objection told of what no lease permits, in each log
   */
  public MergedLogs(
      List<LogContext> logs,
      long from,
      long to,
      boolean goesOn,
      Predicate<Message> which,
      LogReader.Objection objection) {
    this.to = to;
    this.which = which;
    this.objection = objection;
    this.most = Math.max(FIRST, MOST / logs.size());
    this.mostBytes = MOST_BYTES / logs.size();
    for (LogContext log : logs) {
      tails.add(new Tail(log, from, goesOn));
    }
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
    long all = Long.MAX_VALUE;
    for (Tail tail : tails) {
      tail.look();
      all = Math.min(all, tail.settled);
    }
    cut = all;
    dry.clear();
    tails.stream().filter(tail -> tail.taken.isEmpty()).forEach(dry::add);
    return cut;
  }

  /**
   * Those that are settled to the last boundary there is, by the last look: nothing comes there any
   * more, as where they were removed (rule H8).
   */
  public List<LogName> over() {
    return tails.stream().filter(Tail::isOver).map(tail -> tail.name).toList();
  }

  /** The log that is settled less far than all others, by the last look. */
  public LogName last() {
    return tails.stream().min(Comparator.comparingLong(t -> t.settled)).orElseThrow().name;
  }

  /**
   * The next message before the cut.
   *
   * @return null if there is none: all was given
   * @throws ExpiredException if messages behind those that were taken expired; of this log or
   *     another one, nothing more is given
   */
  public @Nullable Found next() throws IOException {
    while (!dry.isEmpty()) {
      Tail tail = dry.remove();
      if (tail.fill(Math.min(cut, to))) {
        heads.add(tail);
      }
    }
    Tail first = heads.poll();
    if (first == null) {
      return null;
    }
    Found found = first.taken.remove();
    (first.taken.isEmpty() ? dry : heads).add(first);
    return found;
  }

  /** One of the logs: what was taken of it, and where to go on. */
  private final class Tail implements LogReader.Objection {
    private final LogContext log;
    private final LogName name;
    private final LogReader reader;
    private final ArrayDeque<Found> taken = new ArrayDeque<>();
    private int room = FIRST;
    private long bytes;
    private @Nullable Found last;
    private long settled = Long.MIN_VALUE;

    /** All before this was taken, but for what has the timestamp of the last one. */
    private long from;

    /** Whether something was read before, so that nothing behind it may have expired. */
    private boolean begun;

    Tail(LogContext log, long from, boolean goesOn) {
      this.log = log;
      this.name = log.layout().name();
      this.reader = new LogReader(log);
      this.from = from;
      this.begun = goesOn;
    }

    /** As a read that has nothing left to give, so that it fails where records are missing, too. */
    void look() throws IOException {
      settled = reader.settled(Long.MAX_VALUE, Long.MAX_VALUE, m -> true, this);
      if (settled == Long.MIN_VALUE) {
        log.storage().requireSame(); // one that was made anew may have no records yet
      }
    }

    boolean isOver() {
      return settled > Long.MAX_VALUE - 2 * log.bucketWidth();
    }

    /** Takes what follows; false if there is nothing before the end. */
    boolean fill(long end) throws IOException {
      while (taken.isEmpty()) {
        if (from >= end) {
          return false;
        }
        take(end);
      }
      return true;
    }

    private void take(long end) throws IOException {
      bytes = 0;
      long unused = reader.settled(from, end, this::accept, this);
      begun = true;
      if (last != null && isFull()) {
        from = last.timestamp(); // others may have the same
        room = Math.min(most, 2 * room);
      } else {
        from = end;
      }
    }

    private boolean isFull() {
      return taken.size() >= room || bytes >= mostBytes;
    }

    private boolean accept(Message message) {
      if (isDone(message) || !which.test(message)) {
        return true;
      }
      last = new Found(name, message);
      taken.add(last);
      bytes += last.length();
      return !isFull();
    }

    /** Of those with the last one's timestamp, some were taken already. */
    private boolean isDone(Message message) {
      Found given = last;
      if (given == null || message.timestamp() != given.timestamp()) {
        return false;
      }
      int order = message.file().toString().compareTo(given.file().toString());
      return order < 0 || (order == 0 && message.position() <= given.position());
    }

    @Override
    public void ignored(Message message, Path file, String why) {
      if (!isDone(message)) {
        objection.ignored(message, file, why);
      }
    }

    @Override
    public boolean needsAll() {
      return begun;
    }
  }

  /** A message of one of them; a copy, and the receiver's to keep. */
  @SuppressWarnings("ArrayRecordComponent") // compared by its place alone
  public record Found(
      LogName log,
      long timestamp,
      DataFileName file,
      long position,
      byte[] payload,
      List<SignedWitness> leases,
      boolean permitted)
      implements Message, Comparable<Found> {
    private static final Comparator<Found> ORDER =
        Comparator.comparingLong(Found::timestamp)
            .thenComparing(Found::log)
            .thenComparing(found -> found.file().toString())
            .thenComparingLong(Found::position);

    Found(LogName log, Message m) {
      this(log, m.timestamp(), m.file(), m.position(), m.payload(), m.leases(), m.permitted());
    }

    @Override
    public int compareTo(Found other) {
      return ORDER.compare(this, other);
    }

    @Override
    public boolean settled() {
      return true;
    }

    @Override
    public int length() {
      return payload.length;
    }

    @Override
    public void writeTo(OutputStream out) throws IOException {
      out.write(payload);
    }
  }
}
