package dev.cinch.lease.etcd;

import io.etcd.jetcd.api.Event;
import io.etcd.jetcd.api.KeyValue;
import io.etcd.jetcd.api.WatchResponse;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.BiConsumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells of all that is put below a prefix, by one stream of events after the other, each from where
 * the one before ended. Tells what etcd remembers: what it compacted meanwhile is left out.
 * Thread-safe.
 */
final class EtcdWatch {
  /** A stream lasts so long, since one whose other side is gone is as quiet as any. */
  private static final long STREAM_NANOS = 15_000_000_000L;

  private static final Logger log = LoggerFactory.getLogger(EtcdWatch.class);

  private final EtcdCalls calls;
  private final Keys keys;
  private final List<BiConsumer<String, byte[]>> listeners = new CopyOnWriteArrayList<>();
  private final List<Runnable> losses = new CopyOnWriteArrayList<>();
  private boolean started; // guarded by this

  /** The first revision that was not told; 0 for what comes. Streams come one after the other. */
  private volatile long next;

  private volatile long retry = EtcdCalls.RETRY_NANOS;

  EtcdWatch(EtcdCalls calls, Keys keys) {
    this.calls = calls;
    this.keys = keys;
  }

  void listen(BiConsumer<String, byte[]> listener) {
    listeners.add(listener);
    synchronized (this) {
      if (started) {
        return;
      }
      started = true;
    }
    connect();
  }

  /** Has somebody told where events may be left out. */
  void onLoss(Runnable lost) {
    losses.add(lost);
  }

  /** Whether a stream has begun, so that what is put from then on will be told. */
  boolean hears() {
    return next != 0;
  }

  private void connect() {
    if (!calls.isClosed()) {
      calls.watch(keys.watch(next), this::message, this::reconnect, STREAM_NANOS);
    }
  }

  private void reconnect() {
    long nanos = retry;
    retry = Math.min(2 * nanos, EtcdCalls.MOST_RETRY_NANOS);
    calls.later(nanos, this::connect);
  }

  /**
   * One message.
   *
   * @return whether the stream goes on
   */
  private boolean message(WatchResponse message) {
    if (message.getCanceled()) {
      log.debug("{} ends a watch: {}", calls, message.getCancelReason());
      if (message.getCompactRevision() > 0) {
        next = message.getCompactRevision();
        losses.forEach(Runnable::run);
      }
      return false;
    }
    retry = EtcdCalls.RETRY_NANOS;
    if (message.getCreated() && next == 0) {
      next = message.getHeader().getRevision() + 1;
    }
    for (Event event : message.getEventsList()) {
      KeyValue pair = event.getKv();
      next = Math.max(next, pair.getModRevision() + 1);
      try {
        String name = keys.name(pair);
        byte[] value = pair.getValue().toByteArray();
        listeners.forEach(listener -> listener.accept(name, value));
      } catch (RuntimeException e) {
        log.warn("an event of {} can't be told: {}", calls, e.toString());
        losses.forEach(Runnable::run);
      }
    }
    return true;
  }
}
