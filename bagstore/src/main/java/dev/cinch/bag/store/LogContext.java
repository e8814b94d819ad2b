package dev.cinch.bag.store;

import dev.cinch.bag.format.Envelope;
import dev.cinch.bag.layout.LogLayout;
import dev.cinch.lease.Id;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/**
 * What everything that works on one log needs. Thread-safe.
 *
 * @param store its store
 * @param layout where things stand
 * @param id drawn at random when the log was made
 * @param created the filesystem's clock then
 */
public record LogContext(StoreContext store, LogLayout layout, Id id, long created) {
  /** The type of the envelope that a log's identity is. */
  public static final String IDENTITY = "log";

  public long bucketWidth() {
    return store.settings().bucketWidthNanos();
  }

  /**
   * As {@link StoreContext#requireSame}, for the log too. One that was removed meanwhile is not
   * another one: its last record leaves no place for a further one.
   */
  public void requireSame() throws IOException {
    store.requireSame();
    Path file = layout.identity();
    Id now;
    try {
      byte[] bytes = store.fresh().readAllGrowing(file, StoreContext.MAX_SETTINGS);
      now = Envelope.decode(IDENTITY, bytes, file).id("log");
    } catch (NoSuchFileException e) {
      if (new RemovedLogs(store).find(layout.name()).isEmpty()) {
        throw e;
      }
      return;
    }
    if (!now.equals(id)) {
      throw new StoreReplacedException(file, "log", id, now);
    }
  }
}
