package dev.cinch.bag;

import static java.util.Objects.requireNonNull;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.model.DataFileName;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.Message;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.read.LogCursor;
import dev.cinch.bag.read.LogReader;
import dev.cinch.bag.read.MergedLogs;
import dev.cinch.bag.store.RemovedLogs;
import dev.cinch.bag.store.StoreContext;
import java.io.Closeable;
import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Reads logs of a store as one, in rounds: after each {@link #look} what has come since. It does
 * not wait between them. Not thread-safe.
 *
 * <p>Settled messages come in order, through the cut. Of one log a reader may have <em>live</em>
 * ones: each message once, as soon as it is there. What is not settled is read again in each round,
 * since one with a lower timestamp may come yet.
 */
@CheckReturnValue
public final class Following implements Closeable {
  private static final long LONGEST_PAUSE_NANOS = 1_000_000_000;
  private static final long SHORTEST_PAUSE_NANOS = 50_000_000;

  private final TreeMap<LogName, Log> logs = new TreeMap<>();
  private final StoreContext store;
  private final long first;
  private final long to;
  private final LogReader.Objection objection;
  private final boolean live;
  private Joining joining = known -> List.of();

  /** Where the next round begins, of live ones; and where the first one of settled ones does. */
  private long from;

  /** Whether nothing from there on may have expired. */
  private boolean goesOn;

  /** What the first round leaves out at its beginning, and from a time on. */
  private long skipped;

  private long most = Long.MAX_VALUE;

  private @Nullable MergedLogs settled;
  private @Nullable LogCursor newest;

  /** Of each data file: how many of its messages were met, and the timestamp of the last. */
  private final Map<DataFileName, Met> met = new HashMap<>();

  /** Whether what was met comes in this round, behind those that are left out. */
  private boolean again;

  private long began;

  private static final class Met {
    private long next;
    private long last;
  }

  /** Tells which logs were made since. */
  @FunctionalInterface
  public interface Joining {
    /**
     * @param known those that are read already
     */
    List<Log> beside(Set<LogName> known) throws IOException;
  }

  /**
   * @param logs of one store, each once; at least one, and just one if it is live
   * @param from nanoseconds since the Unix epoch
   * @param to nothing from this time on is given
   * @param live whether to give also what is not settled
   * @param objection told of each message that no lease permits
   */
  public Following(
      List<Log> logs, long from, long to, boolean live, LogReader.Objection objection) {
    for (Log log : logs) {
      this.logs.put(log.name(), log);
    }
    if (logs.isEmpty() || this.logs.size() < logs.size()) {
      throw new IllegalArgumentException("name at least one log, and each once");
    }
    if (live && logs.size() > 1) {
      throw new IllegalArgumentException("what is not settled is read of one log");
    }
    this.store = logs.get(0).context().store();
    this.first = from;
    this.from = from;
    this.to = to;
    this.live = live;
    this.objection = objection;
  }

  /**
   * Has logs that are made later join at a look. All that they have comes, though some of it may
   * lie before the cut of an earlier look.
   */
  public void join(Joining with) {
    joining = with;
  }

  /**
   * Leaves out all but the last so many of those that are there, before the first look.
   *
   * @param messages not negative; 0 if several logs are read
   */
  public void tail(long messages) throws IOException {
    if (messages > 0 && logs.size() > 1) {
      throw new IllegalArgumentException("the last messages are those of one log");
    }
    if (!live && messages == 0) {
      goesOn = true;
      try (MergedLogs now = merged()) {
        from = Math.max(from, now.look());
      }
      return;
    }
    LogReader reader = logs.firstEntry().getValue().reader();
    long start = messages == 0 ? reader.settledThrough() : reader.startOfLast(messages, to);
    long count = count(Math.max(from, start));
    // More are looked for where no lease permits some of the last ones.
    for (long n = 2 * messages; count < messages && start > from; n = 2 * n) {
      start = reader.startOfLast(n, to);
      count = count(Math.max(from, start));
    }
    from = Math.max(from, start);
    skipped = Math.max(0, count - messages);
    again = live;
  }

  /** How many there are from a time on, by now; of live ones all are met. */
  private long count(long start) throws IOException {
    long count = 0;
    met.clear();
    Log log = logs.firstEntry().getValue();
    try (LogCursor there = log.reader().cursor(start, to, live, objecting())) {
      most = there.look();
      for (Message m = there.next(); m != null; m = there.next()) {
        boolean unused = live && isNew(m);
        count++;
      }
    }
    return count;
  }

  private MergedLogs merged() {
    var merged = new MergedLogs(to);
    for (Log log : logs.values()) {
      merged.add(log.context(), from, objecting());
    }
    return merged;
  }

  /**
   * Begins a round.
   *
   * @return the cut, the time through which all logs are settled; {@link Long#MIN_VALUE} if there
   *     is one of which nothing is
   * @throws dev.cinch.bag.format.DamagedException if the last round met something that was lost, or
   *     records are missing
   */
  @CanIgnoreReturnValue
  public long look() throws IOException {
    began = store.time().monotonicNanos();
    return live ? lookLive() : lookSettled();
  }

  private long lookSettled() throws IOException {
    MergedLogs merged = settled;
    if (merged == null) {
      merged = merged();
      settled = merged;
      return merged.look(most);
    }
    merged.end();
    for (Log log : joining.beside(logs.keySet())) {
      logs.put(log.name(), log);
      merged.add(log.context(), first, objection);
    }
    skipped = 0;
    return merged.look();
  }

  private long lookLive() throws IOException {
    if (newest != null) {
      from = Math.max(from, newest.whole());
      newest.end();
      newest.close();
      met.values().removeIf(file -> file.last < from);
      goesOn = true;
      again = false;
    }
    newest = logs.firstEntry().getValue().reader().cursor(from, to, true, objecting());
    return newest.look();
  }

  private LogReader.Objection objecting() {
    boolean all = goesOn;
    return new LogReader.Objection() {
      @Override
      public void ignored(Message m, Name file, String why) {
        if (!live || isNew(m)) {
          objection.ignored(m, file, why);
        }
      }

      @Override
      public boolean needsAll() {
        return all;
      }
    };
  }

  /** The next message of this round, valid until the call after it; null if there is none. */
  public @Nullable Message next() throws IOException {
    MergedLogs merged = settled;
    if (merged != null) {
      Message m = merged.next();
      while (m != null && skipped > 0) {
        skipped--;
        m = merged.next();
      }
      return m;
    }
    LogCursor cursor = newest;
    Message m = cursor == null ? null : cursor.next();
    while (cursor != null && m != null && !isGiven(m)) {
      m = cursor.next();
    }
    return m;
  }

  private boolean isGiven(Message m) {
    return isNew(m) || again && skipped-- <= 0;
  }

  /** Whether it was not met before. Those of a file come in the order of their positions. */
  private boolean isNew(Message m) {
    Met file = met.computeIfAbsent(m.file(), name -> new Met());
    if (m.position() < file.next) {
      return false;
    }
    file.next = m.position() + 1;
    file.last = m.timestamp();
    return true;
  }

  /**
   * Whether the end of the range is settled, so that nothing comes once this round was read.
   *
   * @throws LogRemovedException if a log was removed, to which nothing comes
   */
  public boolean isOver() throws IOException {
    long cut = live ? requireNonNull(newest).whole() : requireNonNull(settled).cut();
    if (cut >= to) {
      return true;
    }
    List<LogName> over = live && cut > lastBoundary() ? List.copyOf(logs.keySet()) : List.of();
    for (LogName log : settled == null ? over : settled.over()) {
      Optional<String> removed = new RemovedLogs(store).told(log);
      if (removed.isPresent()) {
        throw new LogRemovedException(removed.get());
      }
    }
    return false;
  }

  /** Only where a log was removed it is settled so far. */
  private long lastBoundary() {
    return Long.MAX_VALUE - 2 * store.settings().bucketWidthNanos();
  }

  /** The log of the message that was given last. */
  public LogName log() {
    return settled == null ? logs.firstKey() : settled.log();
  }

  /** The log that is settled less far than the others. */
  public Log last() {
    return settled == null
        ? logs.firstEntry().getValue()
        : requireNonNull(logs.get(settled.last()));
  }

  /** How long to wait before the next look: longer where a round takes long. Nanoseconds. */
  public long pauseNanos() {
    long width = store.settings().bucketWidthNanos();
    // What is settled comes a bucket at a time, and a look at an object store is paid for.
    long longest = live ? LONGEST_PAUSE_NANOS : Math.max(LONGEST_PAUSE_NANOS, width / 4);
    long pause = Math.max(SHORTEST_PAUSE_NANOS, Math.min(longest, width));
    return live ? Math.max(pause, 2 * (store.time().monotonicNanos() - began)) : pause;
  }

  /**
   * To be called when no more is wanted.
   *
   * @throws dev.cinch.bag.format.DamagedException if some of what was met was lost before its
   *     bucket was closed (rule C4)
   */
  public void end() throws IOException {
    if (settled != null) {
      settled.end();
    }
    if (newest != null) {
      newest.end();
    }
  }

  @Override
  public void close() throws IOException {
    if (settled != null) {
      settled.close();
    }
    if (newest != null) {
      newest.close();
    }
  }
}
