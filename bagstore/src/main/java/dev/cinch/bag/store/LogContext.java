package dev.cinch.bag.store;

import dev.cinch.bag.format.Checkpoint;
import dev.cinch.bag.layout.LogLayout;
import dev.cinch.bag.storage.Buckets;
import dev.cinch.bag.storage.LogStorage;
import dev.cinch.bag.storage.StoreReplacedException;
import dev.cinch.bag.storage.StoreStorage;
import dev.cinch.lease.Id;
import java.io.IOException;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * What everything that works on one log needs. Thread-safe.
 *
 * @param store its store
 * @param layout where things stand
 * @param id drawn at random when the log was made
 * @param created the filesystem's clock then
 * @param storage where its bags are
 * @param checkpoint the last one that was read, so that each is decoded once: none ever changes
 */
public record LogContext(
    StoreContext store,
    LogLayout layout,
    Id id,
    long created,
    LogStorage storage,
    AtomicReference<@Nullable Checkpoint> checkpoint) {
  public long bucketWidth() {
    return store.settings().bucketWidthNanos();
  }

  /** What there is of documents: the log's, and the store's own. */
  public StoreStorage documents() {
    return store.storage();
  }

  /** The buckets that the log has. */
  public Buckets buckets() {
    return new Buckets(documents(), layout, bucketWidth());
  }

  /**
   * Why a read failed: what was made anew at its path, or is gone with its mount, looks damaged to
   * whoever goes by what was there.
   *
   * @return the failure itself, if the store and the log are still there
   * @throws StoreReplacedException if one is another
   * @throws java.nio.file.NoSuchFileException if no store is there
   */
  public IOException unlessReplaced(IOException failure) throws IOException {
    store.storage().requireSame();
    try {
      storage.requireSame();
    } catch (StoreReplacedException e) {
      throw e;
    } catch (IOException e) { // the log alone, which is damage
      failure.addSuppressed(e);
    }
    return failure;
  }

  /** See {@link LogStorage#requireSame}. */
  public void requireSame() throws IOException {
    storage.requireSame();
  }
}
