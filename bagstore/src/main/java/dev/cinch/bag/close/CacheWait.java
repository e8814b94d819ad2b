package dev.cinch.bag.close;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.store.LogContext;
import dev.cinch.bag.store.StoreContext;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Patience with something that looks missing: who may make entries of one's own in a directory sees
 * past every cache and need not wait; who may only read looks again until every cache has expired
 * (rules N2, N3). Begins when it is first asked. Not thread-safe.
 */
@CheckReturnValue
public final class CacheWait {
  private static final Logger LOG = LoggerFactory.getLogger(CacheWait.class);

  private final StoreContext store;
  private final Path directory;
  private long deadline;
  private boolean begun;
  private boolean expired;

  /**
   * @param directory the one in which it is looked for
   */
  public CacheWait(LogContext log, Path directory) {
    this(log.store(), directory);
  }

  /** As {@link #CacheWait(LogContext, Path)}, for what is no log's. */
  public CacheWait(StoreContext store, Path directory) {
    this.store = store;
    this.directory = directory;
  }

  /** For one who looks again anyhow, at whatever there is of a log. */
  public static CacheWait ofAll(LogContext log) {
    return new CacheWait(log, log.layout().root());
  }

  private void begin() {
    if (!begun) {
      begun = true;
      deadline = store.time().monotonicNanos() + StoreContext.CACHE_EXPIRY_NANOS;
    }
  }

  /** Whether every cache has expired since this was first asked, or there is none. */
  public boolean isOver() {
    begin();
    try {
      return store.fs().isLocal(directory) || store.time().monotonicNanos() - deadline >= 0;
    } catch (IOException e) {
      return false;
    }
  }

  /**
   * Waits a while where another look may show more.
   *
   * @return false if it would not: what looked missing then is missing
   */
  public boolean again() throws IOException {
    begin();
    if (expired || seesPastCaches()) {
      return false;
    }
    LOG.info("{}: something is missing; looking again until caches have expired", directory);
    store.awaitCaches(directory);
    // Of the wait, so that one more look comes after.
    expired = store.time().monotonicNanos() - deadline >= 0;
    return true;
  }

  private boolean seesPastCaches() throws IOException {
    try {
      return store.fs().isLocal(directory) || store.fresh().listIfPermitted(directory).isPresent();
    } catch (NoSuchFileException e) {
      return false; // then another look must tell
    }
  }
}
