package dev.cinch.bag.store;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.cinch.bag.format.StoreIdentity;
import dev.cinch.bag.model.MachineName;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.StoreLayout;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.bag.storage.Freshness;
import dev.cinch.bag.storage.Patience;
import dev.cinch.bag.storage.Storage;
import dev.cinch.bag.storage.Storage.Draft;
import dev.cinch.bag.storage.StoreReplacedException;
import dev.cinch.lease.time.TimeSource;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Optional;
import java.util.random.RandomGenerator;

/**
 * What everything that works on an open store needs. Thread-safe.
 *
 * @param storage where its documents and its logs are
 * @param layout where things stand
 * @param identity what {@code store.json} says
 * @param machine the name under which this process writes
 * @param time clocks and waits
 * @param random draws incarnations and temporary names; thread-safe
 */
public record StoreContext(
    Storage storage,
    StoreLayout layout,
    StoreIdentity identity,
    MachineName machine,
    TimeSource time,
    RandomGenerator random) {

  /** How often clocks are compared anew where the filesystem took too long. */
  private static final int COMPARISONS = 3;

  public StoreSettings settings() {
    return identity.settings();
  }

  /** The storage's own clock: see {@link Storage#now}. */
  public long now() throws IOException {
    return storage.now();
  }

  /**
   * Looks whether the store there is still the one that was opened: before anything is published or
   * deleted.
   *
   * @throws StoreReplacedException if it is another one, or a backup
   * @throws java.nio.file.NoSuchFileException if none is there, as where a mount has gone
   */
  public void requireSame() throws IOException {
    Name file = layout.settings();
    StoreIdentity now =
        storage.read(
            file,
            StoreIdentity.MAX_BYTES,
            Freshness.PERMITTED,
            bytes -> StoreIdentity.decode(bytes, file));
    if (!now.id().equals(identity.id())) {
      throw new StoreReplacedException(file, "store", identity.id(), now.id());
    }
    if (now.backup()) {
      throw StoreReplacedException.backup(layout.root());
    }
  }

  /** Looks whether something is still what was opened. */
  @FunctionalInterface
  interface Look {
    void same() throws IOException;
  }

  /** Publishes a document of the same store: see {@link Storage#publish}. */
  @CanIgnoreReturnValue
  public boolean publish(Name document, byte[] content) throws IOException {
    return publish(document, content, this::requireSame);
  }

  /** Looks when the draft is there: what takes the store's place after that has no such draft. */
  boolean publish(Name document, byte[] content, Look look) throws IOException {
    if (content.length == 0) {
      look.same();
      return storage.publish(document, content);
    }
    try (Draft draft = storage.draft(document)) {
      draft.write(ByteBuffer.wrap(content));
      draft.finish();
      look.same();
      boolean made = draft.publish(document);
      storage.secure(document.parent());
      return made;
    }
  }

  /**
   * The names in a place, past every cache; who may not ask so waits until every cache has expired.
   */
  public List<String> listNow(Name place) throws IOException {
    Optional<List<String>> now = storage.listIfPermitted(place);
    if (now.isPresent()) {
      return now.get();
    }
    Patience wait = storage.patience(place);
    boolean more = true;
    while (more) {
      more = wait.again();
    }
    return storage.list(place, Freshness.CACHED);
  }

  /**
   * Waits a second, for a cache, and often enough for what others are about to do.
   *
   * @param what is waited for
   */
  public void awaitCaches(Object what) throws InterruptedIOException {
    Patience.sleep(time, what, 1_000_000_000L);
  }

  /**
   * Compares this machine's clock with the filesystem's (section 5).
   *
   * @return the filesystem's now, nanoseconds since the Unix epoch
   * @throws ClockException if they are further apart than the store allows
   */
  public long checkedNow() throws IOException {
    long before = time.wallNanos();
    long now = storage.now();
    long after = time.wallNanos();
    long ahead = before - now;
    long behind = now - after;
    if (ahead > settings().clockAheadMs() * 1_000_000) {
      throw new ClockException(ahead, settings().clockAheadMs(), "ahead of");
    }
    if (behind > settings().clockBehindMs() * 1_000_000) {
      throw new ClockException(behind, settings().clockBehindMs(), "behind");
    }
    return now;
  }

  /**
   * As {@link #checkedNow}, where it matters also how long the filesystem took to say it: what a
   * clock may be off beyond the bound unseen is {@link StoreSettings#CLOCK_COMPARED_MS} at most.
   *
   * @param within how far off it may be, if that is less than the store allows; nanoseconds
   * @return the filesystem's now, nanoseconds since the Unix epoch
   * @throws IOException also where the filesystem takes too long each time
   */
  public long comparedNow(long within) throws IOException {
    long mostAhead = Math.min(within, settings().clockAheadMs() * 1_000_000);
    long mostBehind = Math.min(within, settings().clockBehindMs() * 1_000_000);
    long unsure = 0;
    for (int i = 0; i < COMPARISONS; i++) {
      long before = time.wallNanos();
      long now = checkedNow();
      long after = time.wallNanos();
      if (before - now > within || now - after > within) {
        boolean ahead = before > now;
        throw new ClockException(
            ahead ? before - now : now - after, ahead ? "ahead of" : "behind", within, "the cell");
      }
      unsure = Math.max(after - now - mostAhead, now - before - mostBehind);
      if (unsure <= StoreSettings.CLOCK_COMPARED_MS * 1_000_000) {
        return now;
      }
    }
    throw new IOException(
        "the storage takes too long to tell its time: this machine's clock may be %.3f s further off than the store allows; set the clock (NTP), or try again"
            .formatted(unsure / 1e9));
  }
}
