package dev.cinch.bag.store;

import dev.cinch.bag.fs.Fresh;
import dev.cinch.bag.fs.FsClock;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.layout.StoreLayout;
import dev.cinch.bag.model.MachineName;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.lease.time.TimeSource;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
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

  /** How often clocks are compared anew where the filesystem took too long. */
  private static final int COMPARISONS = 3;

  /** After so long every cache of a network filesystem has expired, nanoseconds (rule N2). */
  public static final long CACHE_EXPIRY_NANOS = 61_000_000_000L;

  public StoreSettings settings() {
    return identity.settings();
  }

  public int fileMode() {
    return settings().fileMode();
  }

  /** Of what its maker alone ever writes: group and others may read it as the store has it. */
  public int ownFileMode() {
    return fileMode() & ~0022;
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
    awaitCaches(what, 1_000_000_000L);
  }

  void awaitCaches(Object what, long nanos) throws InterruptedIOException {
    try {
      time.sleepNanos(nanos);
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
   * Lists a directory as it is now, past every cache (rule N2). A user who may make no entry there
   * waits for as long as caches are believed, 61 s; filesystems of one kernel need no wait.
   */
  public List<String> listNow(Path directory) throws IOException {
    Optional<List<String>> now = fresh.listIfPermitted(directory);
    if (now.isPresent()) {
      return now.get();
    }
    if (!fs.isLocal(directory)) {
      awaitCaches(directory, CACHE_EXPIRY_NANOS);
    }
    return fs.list(directory);
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
        "the filesystem takes too long to tell its time: this machine's clock may be %.3f s further off than the store allows; set the clock (NTP), or try again"
            .formatted(unsure / 1e9));
  }
}
