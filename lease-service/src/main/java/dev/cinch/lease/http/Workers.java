package dev.cinch.lease.http;

import java.util.ArrayDeque;
import java.util.EnumMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Threads that carry out requests: those of holders first, what costs much memory only a few at
 * once, and never on all threads what may have to wait for a file server. What waits is bounded.
 * Thread-safe.
 */
final class Workers implements AutoCloseable {
  /** What kind of work. */
  enum Lane {
    /** Renewals and the like: leases are lost without them. Bounded by the connections. */
    HOLDERS,
    /** Everything else. */
    OTHERS,
    /** What makes megabytes of its body or of its answer. */
    LARGE
  }

  /** Requests of others that wait; more are told to come back. */
  static final int MAX_WAITING = 1_000;

  /** Large ones that wait, with up to 1 MiB each. */
  static final int MAX_LARGE_WAITING = 16;

  /** Large ones carried out at once, each of which may take some tens of megabytes. */
  static final int MAX_LARGE = 2;

  /** Threads that only holders get. */
  static final int RESERVED = 2;

  private static final Logger log = LoggerFactory.getLogger(Workers.class);

  /** A task and when it came. */
  private record Waiting(long turn, Lane lane, Runnable task) {}

  private final int threads;
  private final Map<Lane, ArrayDeque<Waiting>> lanes = new EnumMap<>(Lane.class);
  private final Map<Lane, Integer> running = new EnumMap<>(Lane.class);
  private long turns;
  private boolean closed;

  /**
   * Starts the threads.
   *
   * @param threads how many, above {@link #RESERVED}
   */
  Workers(int threads) {
    this.threads = threads;
    for (Lane lane : Lane.values()) {
      lanes.put(lane, new ArrayDeque<>());
      running.put(lane, 0);
    }
    for (int i = 1; i <= threads; i++) {
      var thread = new Thread(this::work, "cinch-lease-worker-" + i);
      thread.setDaemon(true);
      thread.start();
    }
  }

  /** Hands over a task; false if too much waits already. */
  synchronized boolean submit(Lane lane, Runnable task) {
    int most =
        switch (lane) {
          case HOLDERS -> Integer.MAX_VALUE;
          case OTHERS -> MAX_WAITING;
          case LARGE -> MAX_LARGE_WAITING;
        };
    ArrayDeque<Waiting> waiting = lane(lane);
    if (closed || waiting.size() >= most) {
      return false;
    }
    waiting.add(new Waiting(turns++, lane, task));
    notifyAll();
    return true;
  }

  private void work() {
    for (Waiting next = take(); next != null; next = take()) {
      try {
        next.task().run();
      } catch (RuntimeException e) {
        log.error("a request could not be carried out", e);
      } finally {
        ended(next.lane());
      }
    }
  }

  private synchronized @Nullable Waiting take() {
    while (!closed) {
      Waiting next = next();
      if (next != null) {
        running.merge(next.lane(), 1, Integer::sum);
        return next;
      }
      try {
        wait();
      } catch (InterruptedException e) {
        // Nobody's wish: these threads are known to none but their tasks.
      }
    }
    return null;
  }

  private @Nullable Waiting next() {
    Waiting holder = lane(Lane.HOLDERS).poll();
    if (holder != null) {
      return holder;
    }
    if (running(Lane.OTHERS) + running(Lane.LARGE) >= threads - RESERVED) {
      return null;
    }
    Waiting other = lane(Lane.OTHERS).peek();
    Waiting large = running(Lane.LARGE) < MAX_LARGE ? lane(Lane.LARGE).peek() : null;
    Waiting first = other == null || (large != null && large.turn() < other.turn()) ? large : other;
    return first == null ? null : lane(first.lane()).poll();
  }

  private synchronized void ended(Lane lane) {
    running.merge(lane, -1, Integer::sum);
    notifyAll();
  }

  private ArrayDeque<Waiting> lane(Lane lane) {
    return lanes.getOrDefault(lane, new ArrayDeque<>());
  }

  private int running(Lane lane) {
    return running.getOrDefault(lane, 0);
  }

  /** Ends the threads once their tasks have ended; what waits is forgotten. */
  @Override
  public synchronized void close() {
    closed = true;
    lanes.values().forEach(ArrayDeque::clear);
    notifyAll();
  }
}
