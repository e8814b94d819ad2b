package dev.cinch.bag.store;

import dev.cinch.bag.layout.LogLayout;
import dev.cinch.lease.Id;

/**
 * What everything that works on one log needs. Thread-safe.
 *
 * @param store its store
 * @param layout where things stand
 * @param id drawn at random when the log was made
 * @param created the filesystem's clock then
 */
public record LogContext(StoreContext store, LogLayout layout, Id id, long created) {
  public long bucketWidth() {
    return store.settings().bucketWidthNanos();
  }
}
