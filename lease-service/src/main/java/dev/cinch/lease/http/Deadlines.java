package dev.cinch.lease.http;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.time.SystemTime;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * Ends at a moment what knows no time itself. One thread does so for all, while there is something
 * to end, and no process waits for it. Thread-safe.
 */
@CheckReturnValue
final class Deadlines {
  private static final long KEPT_MS = 1_000;
  private static final ScheduledThreadPoolExecutor CLOSERS = closers();

  private Deadlines() {}

  private static ScheduledThreadPoolExecutor closers() {
    var closers =
        new ScheduledThreadPoolExecutor(
            1,
            run -> {
              var thread = new Thread(run, "cinch-deadline");
              thread.setDaemon(true);
              return thread;
            });
    closers.setRemoveOnCancelPolicy(true);
    closers.setKeepAliveTime(KEPT_MS, TimeUnit.MILLISECONDS);
    closers.allowCoreThreadTimeOut(true);
    return closers;
  }

  /**
   * Closes a connection at a moment.
   *
   * @param deadline of {@link SystemTime#monotonicNanos}
   * @return cancels it, and says whether it came before
   */
  static Future<?> close(Connection late, long deadline) {
    long left = deadline - SystemTime.INSTANCE.monotonicNanos();
    return CLOSERS.schedule(late::close, left, TimeUnit.NANOSECONDS);
  }
}
