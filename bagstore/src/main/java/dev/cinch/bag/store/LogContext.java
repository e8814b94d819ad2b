package dev.cinch.bag.store;

import dev.cinch.bag.layout.LogLayout;
import dev.cinch.bag.storage.LogStorage;
import dev.cinch.bag.storage.StoreStorage;
import dev.cinch.lease.Id;
import java.io.IOException;

/**
 * What everything that works on one log needs. Thread-safe.
 *
 * @param store its store
 * @param layout where things stand
 * @param id drawn at random when the log was made
 * @param created the filesystem's clock then
 * @param storage where its bags are
 */
public record LogContext(
    StoreContext store, LogLayout layout, Id id, long created, LogStorage storage) {
  /** The type of the envelope that a log's identity is. */
  public static final String IDENTITY = "log";

  public long bucketWidth() {
    return store.settings().bucketWidthNanos();
  }

  /** What there is of documents: the log's, and the store's own. */
  public StoreStorage documents() {
    return store.storage();
  }

  /** See {@link LogStorage#requireSame}. */
  public void requireSame() throws IOException {
    storage.requireSame();
  }
}
