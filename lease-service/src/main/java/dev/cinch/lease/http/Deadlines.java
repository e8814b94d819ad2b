package dev.cinch.lease.http;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.time.SystemTime;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Closes connections that are late while they do what knows no time itself. One thread looks after
 * all of them while there are any, and no process waits for it. Thread-safe.
 */
@CheckReturnValue
final class Deadlines {
  /** How much later than it should one is closed, at most. */
  private static final long EVERY = 50_000_000;

  private static final Map<Connection, Long> RUNNING = new ConcurrentHashMap<>();
  private static final AtomicBoolean LOOKING = new AtomicBoolean();

  private Deadlines() {}

  /** From now on a connection is closed at a moment of {@link SystemTime#monotonicNanos}. */
  static void begin(Connection of, long deadline) {
    RUNNING.put(of, deadline);
    if (!LOOKING.get() && LOOKING.compareAndSet(false, true)) {
      var thread = new Thread(Deadlines::look, "cinch-deadline");
      thread.setDaemon(true);
      thread.start();
    }
  }

  /** Whether it came in time: the connection is not closed and will not be. */
  static boolean end(Connection of) {
    return RUNNING.remove(of) != null;
  }

  private static void look() {
    int idle = 0;
    do {
      // Rests first and for some rounds, since whoever writes once does so again.
      try {
        SystemTime.INSTANCE.sleepNanos(EVERY);
      } catch (InterruptedException e) {
        // Nobody does that; then it looks early.
      }
      long now = SystemTime.INSTANCE.monotonicNanos();
      RUNNING.forEach(
          (connection, deadline) -> {
            if (now - deadline >= 0 && end(connection)) {
              connection.close();
            }
          });
      idle = RUNNING.isEmpty() ? idle + 1 : 0;
    } while (idle < 20 || !hasEnded());
  }

  /** Whoever begins meanwhile starts a thread, or finds that this one goes on. */
  private static boolean hasEnded() {
    LOOKING.set(false);
    return RUNNING.isEmpty() || !LOOKING.compareAndSet(false, true);
  }
}
