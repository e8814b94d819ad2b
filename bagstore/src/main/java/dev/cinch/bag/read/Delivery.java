package dev.cinch.bag.read;

import dev.cinch.bag.file.DataFiles;
import dev.cinch.bag.file.LeaseSet;
import dev.cinch.bag.file.SegmentCursor;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.Floor;
import dev.cinch.bag.model.DataFileName;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.Message;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.bag.read.LogReader.Objection;
import dev.cinch.bag.store.LogContext;
import java.io.IOException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Hands messages in a time range to a sink, with rule F3 applied, and knows how far it came, so
 * that a bucket that is retired while it is read is gone on with from its segment. Not thread-safe.
 */
final class Delivery {
  private static final Logger LOG = LoggerFactory.getLogger(Delivery.class);
  private final LogName log;
  private final long from;
  private final long to;
  private final MessageSink sink;
  private final Objection objection;
  private final boolean required;
  private long lastTimestamp;
  private @Nullable DataFileName lastFile;
  private long lastPosition;
  private final Map<String, DamagedException> lost = new LinkedHashMap<>();
  private boolean again;
  private boolean sinkFailed;

  Delivery(LogContext log, long from, long to, MessageSink sink, Objection objection) {
    this.log = log.layout().name();
    this.from = from;
    this.to = to;
    this.sink = sink;
    this.objection = objection;
    this.required = log.store().settings().leases() == StoreSettings.Leases.REQUIRED;
  }

  /** What comes now begins again, in the same order: the messages up to the last are skipped. */
  void again() {
    again = true;
  }

  private boolean isDone(Message m) {
    DataFileName file = lastFile;
    if (file == null || m.timestamp() != lastTimestamp) {
      return file != null && m.timestamp() < lastTimestamp;
    }
    int order = m.file().toString().compareTo(file.toString());
    return order < 0 || order == 0 && m.position() <= lastPosition;
  }

  /** Before a floor nothing is kept, and it lies behind what was delivered (rule R4). */
  void expired(Floor floor) throws ExpiredException {
    if (floor.messages() > 0 && (lastFile != null || objection.needsAll())) {
      throw new ExpiredException(log, floor.to());
    }
  }

  /** No message before this is still to be delivered; nanoseconds. */
  long reached() {
    return lastFile == null ? from : Math.max(from, lastTimestamp);
  }

  /** Whether the exception on its way came from the sink, and not from the store. */
  boolean sinkFailed() {
    return sinkFailed;
  }

  /** All of a settled file; false if the sink wants no more. */
  boolean acceptAll(SegmentCursor m) throws IOException {
    boolean more = true;
    while (more && m.next()) {
      more = accept(m, m.leaseSet(), m.path());
    }
    for (DamagedException e : m.lost()) {
      if (lost.putIfAbsent("" + e.getMessage(), e) == null && lost.size() > 1) {
        LOG.warn("{}", e.getMessage()); // the first one is thrown
      }
    }
    return more;
  }

  /** All of a bucket's data files; false if the sink wants no more. */
  boolean acceptAll(DataFiles files) throws IOException {
    for (var m = files.next(); m.isPresent(); m = files.next()) {
      if (!accept(m.get(), m.get().leaseSet(), m.get().path())) {
        return false;
      }
    }
    return true;
  }

  /**
   * Called when all was delivered that there is.
   *
   * @throws DamagedException if some of it was lost before its bucket was closed (rule C4)
   */
  void end() throws DamagedException {
    for (DamagedException e : lost.values()) {
      throw e;
    }
  }

  /** False if the sink wants no more. */
  private boolean accept(Message m, @Nullable LeaseSet set, Path path) throws IOException {
    long timestamp = m.timestamp();
    if (timestamp < from || timestamp >= to) {
      return true;
    }
    if (again) {
      if (isDone(m)) {
        return true;
      }
      again = false;
    }
    lastTimestamp = timestamp;
    lastFile = m.file();
    lastPosition = m.position();
    String why = null;
    if (required) {
      why = set == null ? LogReader.NAMES_NO_LEASE : set.objection(timestamp);
    }
    sinkFailed = true;
    boolean more = true;
    if (why != null) {
      objection.ignored(m, path, why);
    } else {
      more = sink.accept(m);
    }
    sinkFailed = false;
    return more;
  }
}
