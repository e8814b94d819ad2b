package dev.cinch.bag.close;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.store.LogContext;
import dev.cinch.lease.Id;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/**
 * A closer's announcement that it is about to settle up to a boundary (section 4, steps 2 and 5):
 * an empty file that tells writers not to believe that they were early enough.
 *
 * <p>It stays until a record has reached it, also when its closer fails: a lock that neither a
 * record nor an intent reaches proves that records are missing. And a link that a closer asked for
 * and gave up may still be carried out. Not thread-safe.
 */
@CheckReturnValue
final class Intent {
  private final LogContext log;
  private final long to;
  private final Id closer;
  private final Path file;

  /** Draws its name, and leaves no mark yet. */
  Intent(LogContext log, long to) {
    this(log, to, Id.random(log.store().random()), false);
  }

  private Intent(LogContext log, long to, Id closer, boolean end) {
    this.log = log;
    this.to = to;
    this.closer = closer;
    this.file = end ? log.layout().endIntent(closer) : log.layout().intent(to, closer);
  }

  /**
   * Of whoever removes the log: it counts whatever the time is.
   *
   * @param to the last boundary there is
   */
  static Intent end(LogContext log, long to) {
    return new Intent(log, to, Id.random(log.store().random()), true);
  }

  /** The boundary that it announces; nanoseconds since the Unix epoch. */
  long to() {
    return to;
  }

  Id closer() {
    return closer;
  }

  /**
   * Leaves the mark.
   *
   * @throws TooEarlyException if the filesystem's clock was set back since it was read, so that the
   *     mark would count for nothing; it is gone then, and nothing was done under it
   */
  void leave() throws IOException {
    log.store().fs().create(file, log.store().fileMode()).close();
    log.store().fs().forceDirectory(log.layout().intents());
    long changed;
    try {
      changed = log.store().fs().status(file).changeTime();
    } catch (NoSuchFileException e) {
      return; // swept: a record has reached it
    }
    boolean end = file.equals(log.layout().endIntent(closer));
    if (!end && !Intents.canBeLeft(to, changed)) {
      remove();
      throw new TooEarlyException(to, to - changed + log.store().settings().graceNanos());
    }
  }

  /** Only once a record has reached it that is durable, or if nothing was done under it. */
  void remove() {
    log.store().fresh().removeQuietly(file);
  }
}
