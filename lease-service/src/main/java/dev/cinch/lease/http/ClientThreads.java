package dev.cinch.lease.http;

import java.lang.ref.WeakReference;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A few daemon threads for one {@link java.net.http.HttpClient}, all started at once and none
 * later, whatever the tasks throw. The client's own start and end with the load; and when one can't
 * be started, for want of memory or of a free place in the limits, the client's selector ends for
 * good, and every later request times out.
 *
 * <p>Has no end to call, since lease services have none: the threads end by themselves a while
 * after nobody refers to this any more. Thread-safe.
 */
public final class ClientThreads implements Executor {
  /** How many; tasks do not wait for the network but for names to be resolved. */
  static final int COUNT = 4;

  /** How often an idle thread looks whether it is needed, milliseconds. */
  private static final long LOOK_MS = 10_000;

  private static final Logger log = LoggerFactory.getLogger(ClientThreads.class);

  private final BlockingQueue<Runnable> tasks;

  private ClientThreads(BlockingQueue<Runnable> tasks) {
    this.tasks = tasks;
  }

  /**
   * Starts them.
   *
   * @throws OutOfMemoryError if the system allows no more threads; those started end again
   */
  public static ClientThreads start() {
    return start(
        task -> {
          var thread = new Thread(task, "cinch-lease-client");
          thread.setDaemon(true);
          return thread;
        },
        LOOK_MS);
  }

  /** With threads from a factory that look so often whether they are needed. */
  static ClientThreads start(ThreadFactory threads, long lookMs) {
    var tasks = new LinkedBlockingQueue<Runnable>();
    var started = new ClientThreads(tasks);
    // The threads must not keep alive what tells them by its end that they may end.
    var user = new WeakReference<>(started);
    for (int i = 0; i < COUNT; i++) {
      threads.newThread(() -> work(tasks, user, lookMs)).start();
    }
    return started;
  }

  @Override
  public void execute(Runnable task) {
    tasks.add(task);
  }

  private static void work(
      BlockingQueue<Runnable> tasks, WeakReference<ClientThreads> user, long lookMs) {
    while (true) {
      try {
        Runnable task = tasks.poll(lookMs, TimeUnit.MILLISECONDS);
        if (task != null) {
          task.run();
        } else if (user.refersTo(null)) {
          return;
        }
      } catch (InterruptedException e) {
        // Nobody's wish: these threads are known to none but their tasks.
      } catch (RuntimeException | Error e) {
        failed(e);
      }
    }
  }

  private static void failed(Throwable e) {
    try {
      log.error("a task of the HTTP client failed", e);
    } catch (RuntimeException | Error unlogged) {
      // For want of memory, probably. The thread has to live, since no other takes its place.
    }
  }
}
