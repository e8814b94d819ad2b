package dev.cinch.bag.session;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.Log;
import dev.cinch.bag.Store;
import dev.cinch.bag.write.Durability;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.lease.Id;
import java.util.concurrent.ConcurrentHashMap;

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

  public LogWriter writer(Log log) {
    return byLog.computeIfAbsent(log.id(), id -> log.writer(durability));
  }

  /** Waits for every verdict. */
  public void flush() {
    byLog.values().forEach(LogWriter::flush);
  }

  @Override
  public void close() {
    byLog.values().forEach(LogWriter::close);
  }
}
