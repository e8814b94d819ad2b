package dev.cinch.lease.etcd;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.time.TimeSource;
import io.etcd.jetcd.api.LeaseGrantRequest;
import io.etcd.jetcd.api.LeaseGrpc;
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
  private record Granted(long id, long monotonic, long wall) {}

  private final EtcdCalls calls;
  private final long keepNanos;

  private @Nullable Granted granted; // guarded by this, as is what follows
  private @Nullable CompletableFuture<Long> asked;

  /**
   * @param keepNanos for so long what is written is kept at the least
   */
  CollectionLease(EtcdCalls calls, long keepNanos) {
    this.calls = calls;
    this.keepNanos = keepNanos;
  }

  /** Its id, for what is written at once. Ends with an {@link EtcdFailure} if there is none. */
  synchronized CompletableFuture<Long> current(long giveUpAt) {
    TimeSource time = calls.time();
    Granted last = granted;
    if (last != null
        && isFresh(time.monotonicNanos() - last.monotonic())
        && isFresh(time.wallNanos() - last.wall())) {
      return CompletableFuture.completedFuture(last.id());
    }
    if (asked == null || asked.isDone()) {
      asked = grant(time.monotonicNanos(), time.wallNanos(), giveUpAt);
    }
    return asked;
  }

  private boolean isFresh(long age) {
    return age >= 0 && age < keepNanos / 4;
  }

  private CompletableFuture<Long> grant(long monotonic, long wall, long giveUpAt) {
    long seconds = TimeUnit.NANOSECONDS.toSeconds(keepNanos / 2 * 3) + 1;
    LeaseGrantRequest request = LeaseGrantRequest.newBuilder().setTTL(seconds).build();
    return calls
        .ask(LeaseGrpc.getLeaseGrantMethod(), request, giveUpAt)
        .thenApply(
            answer -> {
              synchronized (this) {
                granted = new Granted(answer.getID(), monotonic, wall);
              }
              return answer.getID();
            });
  }

  /** etcd does not have it any more. */
  synchronized void gone(long id) {
    if (granted != null && granted.id() == id) {
      granted = null;
    }
  }
}
