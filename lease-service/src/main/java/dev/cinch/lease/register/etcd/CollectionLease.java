package dev.cinch.lease.register.etcd;

import com.fasterxml.jackson.databind.JsonNode;
import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.time.TimeSource;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The etcd lease to which all that is written meanwhile is attached, so that etcd collects it when
 * nobody has replaced it for long. It is garbage collection alone: no lease of ours ends by it.
 *
 * <p>It lasts for one and a half of what is kept, and another one is taken after a quarter. So what
 * is attached to it lasts for one and a quarter by etcd's clock: for what is kept by a clock that
 * goes a fifth slower. etcd counts on the leader, and begins anew with each leader: it may collect
 * later, and no sooner. Thread-safe.
 */
@CheckReturnValue
final class CollectionLease {
  /**
   * A lease of etcd's.
   *
   * @param monotonic when it was asked for
   * @param wall likewise: a machine that was suspended may have missed it by the other clock
   */
  private record Granted(String id, long monotonic, long wall) {}

  private final Gateway gateway;
  private final long keepNanos;

  private @Nullable Granted granted; // guarded by this, as is what follows
  private @Nullable CompletableFuture<String> asked;

  /**
   * @param keepNanos for so long what is written is kept at the least
   */
  CollectionLease(Gateway gateway, long keepNanos) {
    this.gateway = gateway;
    this.keepNanos = keepNanos;
  }

  /** Its id, for what is written at once. Ends with an {@link EtcdFailure} if there is none. */
  CompletableFuture<String> current(long giveUpAt) {
    TimeSource time = gateway.time();
    CompletableFuture<String> id;
    synchronized (this) {
      Granted last = granted;
      if (last != null
          && isFresh(time.monotonicNanos() - last.monotonic())
          && isFresh(time.wallNanos() - last.wall())) {
        return CompletableFuture.completedFuture(last.id());
      }
      if (asked != null) {
        return asked;
      }
      id = new CompletableFuture<>();
      asked = id;
    }
    grant(time, giveUpAt, id);
    return id;
  }

  private boolean isFresh(long age) {
    return age >= 0 && age < keepNanos / 4;
  }

  private void grant(TimeSource time, long giveUpAt, CompletableFuture<String> id) {
    long monotonic = time.monotonicNanos();
    long wall = time.wallNanos();
    long seconds = TimeUnit.NANOSECONDS.toSeconds(keepNanos / 2 * 3) + 1;
    var unused =
        gateway
            .ask("/v3/lease/grant", Keys.grant(seconds), false, giveUpAt)
            .whenComplete(
                (answer, broken) -> {
                  synchronized (this) {
                    asked = null;
                    if (broken == null) {
                      granted = new Granted(id(answer), monotonic, wall);
                    }
                  }
                  if (broken == null) {
                    id.complete(id(answer));
                  } else {
                    id.completeExceptionally(Gateway.failure(broken));
                  }
                });
  }

  private static String id(JsonNode answer) {
    return answer.path("ID").asText();
  }

  /** etcd does not have it any more. */
  synchronized void gone(String id) {
    if (granted != null && granted.id().equals(id)) {
      granted = null;
    }
  }
}
