package dev.cinch.cli.read;

import dev.cinch.bag.Log;
import dev.cinch.bag.NotAStoreException;
import dev.cinch.bag.model.DataFileName;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.Message;
import dev.cinch.bag.read.LogReader;
import dev.cinch.bag.read.MessageSink;
import dev.cinch.bag.store.RemovedLogs;
import dev.cinch.bag.store.StoreContext;
import dev.cinch.cli.base.Output;
import dev.cinch.lease.time.TimeSource;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.Predicate;

/** Goes on with what comes to a log, until the end of its range is settled. Not thread-safe. */
final class Follower {
  private static final long LONGEST_PAUSE_NANOS = 1_000_000_000;
  private static final long SHORTEST_PAUSE_NANOS = 50_000_000;

  private final Log log;
  private final LogReader reader;
  private final TimeSource time;
  private final long end;
  private final MessageSink sink;
  private final LogReader.Objection ignored;
  private final Output out;

  /** Of each data file: how many of its messages were met, and the timestamp of the last. */
  private final Map<DataFileName, Met> met = new HashMap<>();

  private boolean begun;

  /** Told of the log that is waited for, before each pause. */
  @FunctionalInterface
  interface Waiting {
    void goesOn(Log log) throws IOException;
  }

  private static final class Met {
    private long next;
    private long last;
  }

  /**
   * @param end of the range
   */
  Follower(Log log, long end, MessageSink sink, LogReader.Objection ignored, Output out) {
    this.log = log;
    this.reader = log.reader();
    this.time = log.context().store().time();
    this.end = end;
    this.sink = sink;
    this.ignored = ignored;
    this.out = out;
  }

  /** How long to wait before the next look. */
  static long pause(Log log) {
    long width = log.context().bucketWidth();
    return Math.max(SHORTEST_PAUSE_NANOS, Math.min(LONGEST_PAUSE_NANOS, width));
  }

  /**
   * With what becomes settled. The next record is waited for by listing (rule N3).
   *
   * @param goesOn whether something was read before, so that nothing may have expired since
   * @param waiting says what is waited for, where that takes long
   */
  void settled(long start, boolean goesOn, Waiting waiting)
      throws IOException, InterruptedException {
    long next = start;
    begun = goesOn;
    while (true) {
      long through = reader.settled(next, end, sink, going(m -> true, ignored));
      next = Math.max(next, through);
      begun = true;
      out.flush();
      if (next >= end) {
        return;
      }
      refuseTheEnd(log, through);
      waiting.goesOn(log);
      time.sleepNanos(pause(log));
    }
  }

  /**
   * With what is written, each message once. What is not settled is read again in each round, since
   * one with a lower timestamp may come yet; so a long read is followed by a longer pause.
   *
   * @param goesOn as for {@link #settled}
   */
  void live(long start, boolean goesOn) throws IOException, InterruptedException {
    long next = start;
    begun = goesOn;
    while (true) {
      long began = time.monotonicNanos();
      long whole = reader.live(next, end, m -> !isNew(m) || sink.accept(m), once(ignored));
      begun = true;
      out.flush();
      next = Math.max(next, whole);
      if (next >= end) {
        return;
      }
      refuseTheEnd(log, whole);
      long settled = next;
      met.values().removeIf(file -> file.last < settled);
      time.sleepNanos(Math.max(pause(log), 2 * (time.monotonicNanos() - began)));
    }
  }

  /**
   * A log that was removed is settled to the last boundary there is: nothing comes any more. One
   * that was made anew at its path may have no records yet.
   */
  private static void refuseTheEnd(Log log, long settled) throws IOException {
    if (settled > Long.MAX_VALUE - 2 * log.context().bucketWidth()) {
      refuseRemoved(log.context().store(), log.name());
    } else if (settled == Long.MIN_VALUE) {
      log.context().storage().requireSame();
    }
  }

  static void refuseRemoved(StoreContext store, LogName log) throws IOException {
    Optional<String> removed = new RemovedLogs(store).told(log);
    if (removed.isPresent()) {
      throw new NotAStoreException(removed.get());
    }
  }

  /** Tells of each message once. */
  LogReader.Objection once(LogReader.Objection objection) {
    return going(this::isNew, objection);
  }

  private LogReader.Objection going(Predicate<Message> which, LogReader.Objection objection) {
    return new LogReader.Objection() {
      @Override
      public void ignored(Message m, Path file, String why) {
        if (which.test(m)) {
          objection.ignored(m, file, why);
        }
      }

      @Override
      public boolean needsAll() {
        return begun;
      }
    };
  }

  /** Leaves a message out of what {@link #live} prints. */
  void meet(Message m) {
    boolean unused = isNew(m);
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
}
