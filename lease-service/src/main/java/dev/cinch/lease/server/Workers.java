package dev.cinch.lease.server;

import java.util.List;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Threads that carry out requests, some for each kind of work: so those of holders wait neither for
 * what hangs at a file server nor behind others. What waits is bounded. Thread-safe.
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

  private static final long IDLE_S = 10;
  private static final Logger log = LoggerFactory.getLogger(Workers.class);

  private final ThreadPoolExecutor holders;
  private final ThreadPoolExecutor others;
  private final ThreadPoolExecutor large;

  /**
   * @param threads of holders and of others, at most so many each
   */
  Workers(int threads) {
    holders = pool(threads, Integer.MAX_VALUE);
    others = pool(threads, MAX_WAITING);
    large = pool(MAX_LARGE, MAX_LARGE_WAITING);
  }

  private static ThreadPoolExecutor pool(int threads, int waiting) {
    var pool =
        new ThreadPoolExecutor(
            threads,
            threads,
            IDLE_S,
            TimeUnit.SECONDS,
            new LinkedBlockingQueue<>(waiting),
            task -> {
              var thread = new Thread(task, "cinch-lease-worker");
              thread.setDaemon(true);
              return thread;
            });
    pool.allowCoreThreadTimeOut(true);
    return pool;
  }

  /** Hands over a task; false if too much waits already. */
  boolean submit(Lane lane, Runnable task) {
    ThreadPoolExecutor pool =
        switch (lane) {
          case HOLDERS -> holders;
          case OTHERS -> others;
          case LARGE -> large;
        };
    try {
      pool.execute(() -> run(task));
      return true;
    } catch (RejectedExecutionException e) {
      return false;
    }
  }

  private static void run(Runnable task) {
    try {
      task.run();
    } catch (RuntimeException e) {
      log.error("a request could not be carried out", e);
    }
  }

  /** Ends the threads once their tasks have ended; what waits is forgotten. */
  @Override
  public void close() {
    for (ThreadPoolExecutor pool : List.of(holders, others, large)) {
      pool.shutdown();
      pool.getQueue().clear();
    }
  }
}
