package dev.cinch.bag.store;

import dev.cinch.bag.fs.Fresh;
import dev.cinch.bag.fs.FsClock;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.layout.MachineName;
import dev.cinch.bag.layout.StoreLayout;
import dev.cinch.lease.time.TimeSource;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.file.Path;
import java.util.random.RandomGenerator;

/**
 * What everything that works on an open store needs. Thread-safe.
 *
 * @param fs the filesystem
 * @param fresh the same, past its caches
 * @param layout where things stand
 * @param identity what {@code store.json} says
 * @param machine the name under which this process writes
 * @param time clocks and waits
 * @param fsClock the filesystem's clock
 * @param random draws incarnations and temporary names; thread-safe
 */
public record StoreContext(
    StoreFs fs,
    Fresh fresh,
    StoreLayout layout,
    StoreIdentity identity,
    MachineName machine,
    TimeSource time,
    FsClock fsClock,
    RandomGenerator random) {

  /** The longest {@code store.json} that is read, bytes. */
  public static final int MAX_SETTINGS = 1 << 16;

  public StoreSettings settings() {
    return identity.settings();
  }

  public int fileMode() {
    return settings().fileMode();
  }

  public int directoryMode() {
    return settings().directoryMode();
  }

  /**
   * Waits a second, for a cache: longer than a FUSE client remembers attributes unless it is
   * mounted otherwise (rule N6), and often enough for what others are about to do.
   *
   * @param what is waited for
   */
  public void awaitCaches(Object what) throws InterruptedIOException {
    try {
      time.sleepNanos(1_000_000_000L);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("interrupted while waiting for caches of " + what);
    }
  }

  /**
   * Looks whether the store at this path is still the one that was opened: before anything is
   * published, and after the temporary file that it is linked from was made (section 1).
   *
   * @throws StoreReplacedException if it is another one
   * @throws java.nio.file.NoSuchFileException if none is there, as where a mount has gone
   */
  public void requireSame() throws IOException {
    Path file = layout.settings();
    StoreIdentity now = StoreIdentity.decode(fresh.readAllGrowing(file, MAX_SETTINGS), file);
    if (!now.id().equals(identity.id())) {
      throw new StoreReplacedException(file, "store", identity.id(), now.id());
    }
  }

  /**
   * Compares this machine's clock with the filesystem's (section 5).
   *
   * @return the filesystem's now, nanoseconds since the Unix epoch
   * @throws ClockException if they are further apart than the store allows
   */
  public long checkedNow() throws IOException {
    long before = time.wallNanos();
    long now = fsClock.now();
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
}
