package dev.cinch.bag;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.close.DataFileSweep;
import dev.cinch.bag.close.HorizonAdvance;
import dev.cinch.bag.close.HorizonChain.Link;
import dev.cinch.bag.close.IdleLog;
import dev.cinch.bag.close.OpinionNeededException;
import dev.cinch.bag.format.ForeignEntryException;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.InWords;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.bag.storage.StoreReplacedException;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.time.TimeSource;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Settles the logs of a store in rounds (section 4), as {@code cinch close} does. A log that fails
 * is told to the listener, and keeps no other from its turn. Also removes the data files that an
 * earlier round made needless.
 *
 * <p>One that goes on knows from round to round which logs are idle (rule H9), and leaves a log
 * alone that fails slowly. Any number of closers may work at once, in any number of processes. Not
 * thread-safe; holds no resources.
 */
@CheckReturnValue
public final class Closer {
  private static final Logger LOG = LoggerFactory.getLogger(Closer.class);

  /** How long until the next round where the storage is full. */
  private static final long FULL_NANOS = 1_000_000_000;

  /**
   * Where a lock is missing, who looks for it waits until every cache has expired. A log whose turn
   * took so long and failed is tried again after nine times as long: it takes a tenth of the time
   * at most.
   */
  private static final long SLOW_NANOS = 1_000_000_000;

  private static final int PAUSE_TIMES = 9;

  /** How many logs are named that miss a third opinion. */
  private static final int NAMED = 3;

  private final Store store;
  private final TimeSource time;
  private final List<LogName> named;
  private final @Nullable Opinion opinion;
  private final Listener listener;
  private final Map<LogName, IdleLog> idle = new HashMap<>();

  /** Until when logs are left alone, by the monotonic clock. */
  private final Map<LogName, Long> left = new HashMap<>();

  private final Map<Id, DataFileSweep> sweeps = new HashMap<>();
  private boolean restored;

  /**
   * What was settled of a log.
   *
   * @param through the time through which it is settled now, nanoseconds since the Unix epoch
   * @param record the number of the last record
   * @param buckets how many were closed
   */
  public record Settled(LogName log, long through, long record, long buckets) {}

  /** What somebody else says the time is: a third opinion (section 5). */
  @FunctionalInterface
  public interface Opinion {
    /** Nanoseconds since the Unix epoch. Asked once a round at most, where a log needs it. */
    long now() throws LeaseUnavailableException;
  }

  /** Told what becomes of the logs, on the closer's thread. What it throws ends the round. */
  public interface Listener {
    /**
     * A log could not be settled, or not as far as it should be; the next round tries it again.
     * Unless overridden, the round ends with the failure.
     *
     * @param log null: the whole store
     * @param why a {@link ForeignEntryException} if all was settled but what is no file; further
     *     ones of the same log are its suppressed exceptions
     */
    default void failed(@Nullable LogName log, Exception why) throws IOException {
      throw why instanceof IOException e ? e : new IOException(why);
    }

    /** A log was settled further. */
    default void settled(Settled log) throws IOException {}

    /** A round begins, which tries again what failed in the one before. */
    default void begins() throws IOException {}

    /** So many buckets of a log were closed so far in its turn. */
    default void closing(LogName log, long buckets) {}

    /**
     * It is too early for a log that is waited for: told again and again, each second at least.
     *
     * @param through the time to settle through, nanoseconds since the Unix epoch
     * @param nanos how long it is until then
     */
    default void early(LogName log, long through, long nanos) {}
  }

  /**
   * @param logs the logs to settle; empty: all that there are in a round
   * @param opinion asked before a log is settled more than an hour past its newest bucket and what
   *     is settled; null: such a log fails, settled as far as it can be without
   */
  public Closer(Store store, List<LogName> logs, @Nullable Opinion opinion, Listener listener) {
    this.store = store;
    this.time = store.context().time();
    this.named = List.copyOf(logs);
    this.opinion = opinion;
    this.listener = listener;
  }

  /**
   * From now on settles also over locks whose records are missing: for a copy of a store alone, see
   * {@link HorizonAdvance#settleRestored}.
   */
  public void settleRestored() {
    restored = true;
  }

  /**
   * Settles what may be settled now, or through a time.
   *
   * @param through nanoseconds since the Unix epoch; a log for which that is too early fails, and
   *     stays as it is
   * @param idleToo whether also a log to which nobody appended; else such logs rest for twice as
   *     long each time, up to half an hour
   * @throws StoreReplacedException if the store was made anew at its path
   */
  public void round(OptionalLong through, boolean idleToo)
      throws IOException, InterruptedException {
    boolean unused = new Round(through, idleToo, false).run();
  }

  /**
   * Waits until all that was committed before, by whoever, can be read as settled, or all logs are
   * settled through a time. Goes on while the storage is full; ends where a log fails for another
   * reason, once the others are settled.
   *
   * @param through nanoseconds since the Unix epoch
   * @param together whether all logs are settled through the same time, to be read as one
   * @throws StoreReplacedException if the store was made anew at its path
   */
  public void await(OptionalLong through, boolean together)
      throws IOException, InterruptedException {
    while (new Round(through, together, true).run()) {
      time.sleepNanos(FULL_NANOS);
    }
  }

  /** One round over all logs, and what is known for as long as it lasts. */
  private final class Round {
    private final OptionalLong through;
    private final boolean all;
    private final boolean waits;
    private boolean full;
    private OptionalLong present = OptionalLong.empty();
    private @Nullable LeaseUnavailableException unavailable;
    private final Map<LogName, OpinionNeededException> without = new LinkedHashMap<>();

    Round(OptionalLong through, boolean all, boolean waits) {
      this.through = through;
      this.all = all;
      this.waits = waits;
    }

    /** Whether the storage was full. */
    boolean run() throws IOException, InterruptedException {
      listener.begins();
      var due = new TreeMap<LogName, Long>();
      try {
        store.context().requireSame(); // else each round would fail
        StoreSettings settings = store.settings();
        // A closer with a wrong clock refuses to work.
        long past = store.context().checkedNow() - settings.graceNanos();
        long reachable = Bucket.floor(past, settings.bucketWidthNanos());
        for (LogName log : named.isEmpty() ? store.freshLogs() : named) {
          due.put(log, through.orElse(reachable));
        }
      } catch (StoreReplacedException e) {
        throw e;
      } catch (IOException | RuntimeException e) {
        failed(null, e);
      }
      if (waits && through.isEmpty()) {
        due(due);
      }
      for (Map.Entry<LogName, Long> log : due.entrySet()) {
        if (waits || !isLeft(log.getKey())) {
          turn(log.getKey(), done -> close(log.getKey(), log.getValue(), done));
        }
      }
      if (!without.isEmpty()) {
        failed(null, unavailable != null ? unavailable : needed());
      }
      return full;
    }

    private void failed(@Nullable LogName log, Exception why) throws IOException {
      full |= InWords.isFull(why);
      listener.failed(log, why);
    }

    /** What is waited for: all that was committed so far, of whoever. */
    private void due(Map<LogName, Long> due) throws IOException, InterruptedException {
      for (LogName name : List.copyOf(due.keySet())) {
        due.remove(name);
        turn(
            name,
            done -> {
              for (Log log : open(name)) {
                due.put(name, log.horizon().written());
              }
            });
      }
      if (all && !due.isEmpty()) {
        long last = Collections.max(due.values());
        due.replaceAll((log, to) -> last);
      }
    }

    private void turn(LogName log, Turn turn) throws IOException, InterruptedException {
      long began = time.monotonicNanos();
      var done = new ArrayList<Settled>();
      Exception failure = null;
      try {
        turn.run(done);
      } catch (IOException | RuntimeException e) {
        failure = e;
        long now = time.monotonicNanos();
        if (now - began >= SLOW_NANOS) {
          left.put(log, now + PAUSE_TIMES * (now - began));
        }
      }
      for (Settled settled : done) { // also where it failed later
        listener.settled(settled);
      }
      if (failure != null) {
        failed(log, failure);
      }
    }

    private boolean isLeft(LogName log) {
      Long until = left.get(log);
      return until != null && time.monotonicNanos() - until < 0;
    }

    /** None where nobody made it to its end, or somebody removed it. */
    private List<Log> open(LogName log) throws IOException {
      return named.isEmpty() ? store.whole(List.of(log)) : List.of(store.log(log));
    }

    private void close(LogName name, long to, List<Settled> done)
        throws IOException, InterruptedException {
      boolean idleToo = all || waits;
      IdleLog known = idle.get(name);
      if (!idleToo && known != null && !known.isDue(to)) {
        return; // not even opened; one that was made anew under its name has younger buckets
      }
      for (Log log : open(name)) {
        var look = new IdleLog(log.context());
        if (idleToo || known != null || look.isDue(to)) {
          close(log, to, done);
        }
        if (!idleToo) {
          idle.put(name, look);
        }
      }
    }

    private void close(Log log, long to, List<Settled> done)
        throws IOException, InterruptedException {
      sweeps
          .computeIfAbsent(log.id(), id -> new DataFileSweep(log.context()))
          .lately((bucket, e) -> LOG.debug("{}: data files stay: {}", bucket, e.toString()));
      var closed = new AtomicLong();
      var foreign = new ArrayList<ForeignEntryException>();
      var horizon =
          new HorizonAdvance(
              log.context(),
              n -> {
                closed.set(n);
                listener.closing(log.name(), n);
              },
              foreign::add);
      if (restored) {
        horizon.settleRestored();
      }
      long before = settled(horizon.chain().freshTip());
      if (before >= to) {
        return;
      }
      Optional<Link> last = advance(log.name(), horizon, to);
      if (settled(last) > before) {
        long record = last.orElseThrow().record().number();
        done.add(new Settled(log.name(), settled(last), record, closed.get()));
      }
      if (!foreign.isEmpty()) { // all else is settled, and somebody must look
        ForeignEntryException first = foreign.remove(0);
        foreign.forEach(first::addSuppressed);
        throw first;
      }
    }

    private static long settled(Optional<Link> tip) {
      return tip.map(t -> t.record().to()).orElse(Long.MIN_VALUE);
    }

    /** Advances as far as it may. The last record then; empty if there is none. */
    private Optional<Link> advance(LogName log, HorizonAdvance horizon, long to)
        throws IOException, InterruptedException {
      try {
        return Optional.of(
            waits
                ? horizon.await(to, OptionalLong.empty(), left -> listener.early(log, to, left))
                : horizon.advance(to, OptionalLong.empty()));
      } catch (OpinionNeededException e) {
        OptionalLong answer = ask();
        try {
          if (answer.isEmpty()) {
            throw e;
          }
          return Optional.of(horizon.advance(to, answer));
        } catch (OpinionNeededException missed) {
          without.put(log, missed);
          return horizon.chain().freshTip();
        }
      }
    }

    /** A lease service that is down or slow is asked once, or it would stop everybody. */
    private OptionalLong ask() {
      if (opinion != null && present.isEmpty() && unavailable == null) {
        try {
          present = OptionalLong.of(opinion.now());
        } catch (LeaseUnavailableException e) {
          unavailable = e;
        }
      }
      return present;
    }

    /** What the first one says, with the names of all. */
    private OpinionNeededException needed() {
      int more = without.size() - NAMED;
      String names =
          without.keySet().stream()
              .limit(NAMED)
              .map(LogName::value)
              .collect(Collectors.joining(", ", "", more <= 0 ? "" : " and " + more + " more"));
      return without.values().iterator().next().of(names);
    }
  }

  /** What is done with a log. */
  @FunctionalInterface
  private interface Turn {
    void run(List<Settled> done) throws IOException, InterruptedException;
  }
}
