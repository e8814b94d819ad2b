package dev.cinch.bag.close;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.store.LogContext;
import dev.cinch.lease.Id;
import java.io.IOException;
import java.nio.file.Path;

/**
 * A closer's announcement that it is about to settle up to a boundary (section 4, steps 2 and 5):
 * an empty file that tells writers not to believe that they were early enough. Not thread-safe.
 */
@CheckReturnValue
final class Intent implements AutoCloseable {
  private final LogContext log;
  private final long to;
  private final Id closer;
  private final Path file;
  private boolean mustStay;

  /** Draws its name, and leaves no mark yet. */
  Intent(LogContext log, long to) {
    this.log = log;
    this.to = to;
    this.closer = Id.random(log.store().random());
    this.file = log.layout().intent(to, closer);
  }

  /** The boundary that it announces; nanoseconds since the Unix epoch. */
  long to() {
    return to;
  }

  Id closer() {
    return closer;
  }

  void leave() throws IOException {
    log.store().fs().create(file, log.store().fileMode()).close();
    log.store().fs().forceDirectory(log.layout().intents());
  }

  /** A record was asked for, and may come into existence whenever its server gets to it. */
  void linking() {
    mustStay = true;
  }

  /** The record with that number is there, ours or another one: ours can't come any more. */
  void linked() {
    mustStay = false;
  }

  /**
   * Removes it, unless a link was asked for and not answered: a server may carry that out later (a
   * soft mount gave it up), and until then writers must not believe the horizon. Whoever gets a
   * record so far sweeps it.
   */
  @Override
  public void close() {
    if (!mustStay) {
      log.store().fresh().removeQuietly(file);
    }
  }
}
