package dev.cinch.bag;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.lease.Id;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;

/**
 * One writer a log, shared by all sessions of a process, so that one batch carries messages of
 * several (rule A5). Thread-safe.
 */
@CheckReturnValue
public final class Writers implements AutoCloseable {
  private final Store store;
  private final Durability durability;
  private final ConcurrentHashMap<Id, LogWriter> byLog = new ConcurrentHashMap<>();

  public Writers(Store store, Durability durability) {
    this.store = store;
    this.durability = durability;
  }

  public Store store() {
    return store;
  }

  /**
   * The writer of a log.
   *
   * @throws IllegalArgumentException if the log was opened from another {@link Store}: the
   *     timestamps of that are not these, and leases would be given back with a bound below them
   */
  public LogWriter writer(Log log) {
    if (log.context().store() != store.context()) {
      throw new IllegalArgumentException(
          "log %s was opened from another Store object: open a store once, and its logs from that"
              .formatted(log.name()));
    }
    return byLog.computeIfAbsent(log.id(), id -> log.writer(durability));
  }

  /**
   * Waits for every verdict.
   *
   * @throws IllegalStateException if a writer failed, once the others have theirs
   */
  public void flush() {
    forAll(LogWriter::flush);
  }

  /**
   * Closes all.
   *
   * @throws IllegalStateException if one had failed, once the others are closed
   */
  @Override
  public void close() {
    forAll(LogWriter::close);
  }

  private void forAll(Consumer<LogWriter> action) {
    Throwable failure = null;
    for (LogWriter writer : byLog.values()) {
      try {
        action.accept(writer);
      } catch (RuntimeException | Error e) {
        failure = e;
      }
    }
    if (failure instanceof Error e) {
      throw e;
    }
    if (failure instanceof RuntimeException e) {
      throw e;
    }
  }
}
