package dev.cinch.bag.store;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.cinch.bag.format.Checkpoint;
import dev.cinch.bag.format.Envelope;
import dev.cinch.bag.format.StoreIdentity;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.storage.Buckets;
import dev.cinch.bag.storage.Freshness;
import dev.cinch.bag.storage.Storage;
import dev.cinch.bag.storage.StoreReplacedException;
import dev.cinch.lease.Id;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * What everything that works on one log needs. Thread-safe.
 *
 * @param store its store
 * @param layout where things stand
 * @param id drawn at random when the log was made
 * @param created the filesystem's clock then
 * @param checkpoint the last one that was read, so that each is decoded once: none ever changes
 */
public record LogContext(
    StoreContext store,
    LogLayout layout,
    Id id,
    long created,
    AtomicReference<@Nullable Checkpoint> checkpoint) {
  public long bucketWidth() {
    return store.settings().bucketWidthNanos();
  }

  /** Where everything of it is. */
  public Storage storage() {
    return store.storage();
  }

  /** The buckets that the log has. */
  public Buckets buckets() {
    return new Buckets(storage(), layout, bucketWidth());
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
    store.requireSame();
    try {
      requireSame();
    } catch (StoreReplacedException e) {
      throw e;
    } catch (IOException e) { // the log alone, which is damage
      failure.addSuppressed(e);
    }
    return failure;
  }

  /**
   * Looks whether the store and the log there are still those that were opened: before anything is
   * published or deleted. A log that was removed meanwhile is not another one: its last record
   * leaves no place for a further one.
   *
   * @throws StoreReplacedException if one is another
   * @throws NoSuchFileException if none is there, as where a mount has gone
   */
  public void requireSame() throws IOException {
    store.requireSame();
    Name file = layout.identity();
    Id now;
    try {
      now =
          storage()
              .read(
                  file,
                  StoreIdentity.MAX_BYTES,
                  Freshness.PERMITTED,
                  bytes -> Envelope.decode(StoreIdentity.OF_LOG, bytes, file).id("log"));
    } catch (NoSuchFileException e) {
      if (!storage().isThere(layout.removed(), Freshness.PERMITTED)) {
        throw e;
      }
      return;
    }
    if (!now.equals(id)) {
      throw new StoreReplacedException(file, "log", id, now);
    }
  }

  /** Publishes a document of the same log: see {@link Storage#publish}. */
  @CanIgnoreReturnValue
  public boolean publish(Name document, byte[] content) throws IOException {
    return store.publish(document, content, this::requireSame);
  }
}
