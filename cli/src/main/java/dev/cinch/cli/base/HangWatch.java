package dev.cinch.cli.base;

import dev.cinch.bag.Store;
import dev.cinch.lease.time.SystemTime;
import dev.cinch.lease.time.TimeSource;
import java.nio.file.Path;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Says what a command waits for where a filesystem does not answer: a server that hangs blocks an
 * operation for as long as it likes, and nobody can end that from here. Thread-safe.
 */
public final class HangWatch {
  private static final Logger LOG = LoggerFactory.getLogger(HangWatch.class);

  /** Longer than a healthy filesystem ever takes. */
  static final long FIRST_NANOS = 10_000_000_000L;

  static final long AGAIN_NANOS = 60_000_000_000L;
  private static final long LOOK_NANOS = 1_000_000_000L;

  /** That of the process, which warns in the log, on standard error. */
  private static final HangWatch OF_PROCESS = new HangWatch(SystemTime.INSTANCE, LOG::warn);

  private final TimeSource time;
  private final Consumer<String> say;
  private final Set<Waiting> current = ConcurrentHashMap.newKeySet();
  private final AtomicBoolean watching = new AtomicBoolean();

  /**
   * @param time its monotonic clock says how long something takes
   * @param say told of each that takes long: after ten seconds, then each minute
   */
  HangWatch(TimeSource time, Consumer<String> say) {
    this.time = time;
    this.say = say;
  }

  /** An operation that has begun. Each is another one. */
  static final class Waiting {
    private final String what;
    private final Path path;
    private final long since;
    private volatile long next = FIRST_NANOS;

    private Waiting(String what, Path path, long since) {
      this.what = what;
      this.path = path;
      this.since = since;
    }
  }

  /** The same environment, watched by a thread of this process. */
  public static Store.Environment watched(Store.Environment e) {
    var fs = new WatchedFs(e.fs(), ofProcess());
    return new Store.Environment(fs, e.machine(), e.time(), e.random());
  }

  public static HangWatch ofProcess() {
    OF_PROCESS.start();
    return OF_PROCESS;
  }

  private void start() {
    if (watching.compareAndSet(false, true)) {
      var thread = new Thread(this::run, "cinch-hang-watch");
      thread.setDaemon(true);
      thread.start();
    }
  }

  private void run() {
    try {
      while (true) {
        time.sleepNanos(LOOK_NANOS);
        look();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt(); // nobody does
    }
  }

  Waiting begin(String what, Path path) {
    var waiting = new Waiting(what, path, time.monotonicNanos());
    current.add(waiting);
    return waiting;
  }

  void end(Waiting waiting) {
    current.remove(waiting);
  }

  /** Says which operations take long. */
  void look() {
    long now = time.monotonicNanos();
    for (Waiting w : current) {
      long lasted = now - w.since;
      if (lasted >= w.next) {
        w.next = lasted + AGAIN_NANOS;
        say.accept(
            "waiting for the filesystem: %s %s (%d s)"
                .formatted(w.what, w.path, lasted / 1_000_000_000L));
      }
    }
  }
}
