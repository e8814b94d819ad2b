package dev.cinch.bag.store;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.Envelope;
import dev.cinch.bag.format.Removal;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.storage.Freshness;
import dev.cinch.bag.storage.Storage;
import dev.cinch.lease.IsoTime;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.util.Optional;

/** Which logs were removed (rule H8). Thread-safe. */
@CheckReturnValue
public final class RemovedLogs {
  private final StoreContext store;

  public RemovedLogs(StoreContext store) {
    this.store = store;
  }

  /**
   * What says that a log was removed; empty if it was not.
   *
   * @throws DamagedException if that is damaged, or of another log
   */
  public Optional<Removal> find(LogName name) throws IOException {
    return find(store.storage(), store.layout().log(name));
  }

  /** As {@link #find(LogName)}. */
  public static Optional<Removal> find(Storage storage, LogLayout layout) throws IOException {
    try {
      return Optional.of(
          storage.read(
              layout.removed(),
              Envelope.MAX_SMALL_BYTES,
              Freshness.CACHED,
              bytes -> decode(bytes, layout)));
    } catch (NoSuchFileException e) {
      return Optional.empty();
    }
  }

  private static Removal decode(byte[] bytes, LogLayout layout) throws DamagedException {
    Removal removal = Removal.decode(bytes, layout.removed());
    if (!removal.name().equals(layout.name().value())) {
      throw new DamagedException(
          layout.removed(), 0, "the removal of log " + layout.name(), "that of " + removal.name());
    }
    return removal;
  }

  /** Whether this machine sees that a log was removed; a "no" may come from a cache. */
  public boolean isSeen(LogLayout log) throws IOException {
    return store.storage().isThere(log.removed(), Freshness.CACHED);
  }

  /**
   * That a log was removed, in one line; empty if it was not.
   *
   * @throws DamagedException if what says so is damaged
   */
  public Optional<String> told(LogName name) throws IOException {
    return find(name)
        .map(
            removal ->
                "log \"%s\" was removed at %s by %s; its name is not used again"
                    .formatted(
                        name,
                        IsoTime.second(Math.floorDiv(removal.removed(), 1_000_000_000L)) + "Z",
                        removal.by()));
  }

  /**
   * Puts the tombstone in the place of a log's identity. The horizon must have reached the end of
   * time.
   *
   * @return what stands there: somebody else's if that was first
   */
  public Removal bury(LogContext log) throws IOException {
    LogLayout layout = log.layout();
    var mine =
        new Removal(log.id(), layout.name().value(), store.now(), store.machine().toString());
    store.publish(layout.removed(), mine.encode());
    Removal there = find(layout.name()).orElseThrow();
    finish(layout);
    return there;
  }

  /** Removes the identity of a log that has its tombstone: from then on nobody opens it. */
  public void finish(LogLayout layout) throws IOException {
    store.storage().remove(layout.identity());
    store.storage().secure(layout.root());
  }
}
