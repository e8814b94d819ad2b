package dev.cinch.lease.register.etcd;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.databind.JsonNode;
import dev.cinch.lease.JsonTree;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Flow;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells of all that is put below a prefix, by one stream of events after the other, each from where
 * the one before ended. Tells what etcd remembers: what it compacted meanwhile is left out.
 * Thread-safe.
 */
final class Watch {
  /** A stream lasts so long, since one whose other side is gone is as quiet as any. */
  private static final long STREAM_NANOS = 15_000_000_000L;

  private static final Logger log = LoggerFactory.getLogger(Watch.class);
  private static final JsonTree JSON = JsonTree.of(JsonFactory.builder(), false);

  private final Gateway gateway;
  private final Keys keys;
  private final List<BiConsumer<String, byte[]>> listeners = new CopyOnWriteArrayList<>();
  private final List<Runnable> losses = new CopyOnWriteArrayList<>();
  private boolean started; // guarded by this

  /** The first revision that was not told; 0 for what comes. Streams come one after the other. */
  private volatile long next;

  private volatile long retry = Gateway.RETRY_NANOS;

  Watch(Gateway gateway, Keys keys) {
    this.gateway = gateway;
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
    if (gateway.isClosed()) {
      return;
    }
    var ended = new CompletableFuture<Boolean>();
    gateway.stream("/v3/watch", keys.watch(next), new Lines(ended), ended, STREAM_NANOS);
    var unused =
        ended.thenRun(
            () -> {
              long nanos = retry;
              retry = Math.min(2 * nanos, Gateway.MOST_RETRY_NANOS);
              gateway.later(nanos, this::connect);
            });
  }

  /**
   * One message.
   *
   * @return whether the stream goes on
   */
  private boolean message(String line) throws IOException {
    JsonNode result = JSON.read(line).path("result");
    if (result.isMissingNode()) {
      log.debug("{} ends a watch: {}", gateway, line);
      return false;
    }
    if (result.path("canceled").asBoolean()) {
      next = result.path("compact_revision").asLong(); // 0 if that is not why
      losses.forEach(Runnable::run);
      return false;
    }
    retry = Gateway.RETRY_NANOS;
    if (result.path("created").asBoolean() && next == 0) {
      next = result.path("header").path("revision").asLong() + 1;
    }
    for (JsonNode event : result.path("events")) {
      JsonNode kv = event.path("kv");
      next = Math.max(next, kv.path("mod_revision").asLong() + 1);
      String name = keys.name(kv);
      byte[] value = Stored.value(kv);
      listeners.forEach(listener -> listener.accept(name, value));
    }
    return true;
  }

  /** The messages of one stream, a line each. */
  private final class Lines implements Flow.Subscriber<String> {
    private final CompletableFuture<Boolean> ended;
    private Flow.@Nullable Subscription subscription;

    Lines(CompletableFuture<Boolean> ended) {
      this.ended = ended;
    }

    @Override
    public void onSubscribe(Flow.Subscription given) {
      subscription = given;
      given.request(1);
    }

    @Override
    public void onNext(String line) {
      boolean goesOn = false;
      try {
        goesOn = line.isEmpty() || message(line);
      } catch (IOException | RuntimeException e) {
        log.warn("an event of {} can't be told: {}", gateway, e.toString());
        losses.forEach(Runnable::run);
      }
      if (goesOn && subscription != null) {
        subscription.request(1);
      } else {
        ended.complete(false);
      }
    }

    @Override
    public void onError(Throwable broken) {
      log.debug("{} ends a watch: {}", gateway, broken.toString());
    }

    @Override
    public void onComplete() {}
  }
}
