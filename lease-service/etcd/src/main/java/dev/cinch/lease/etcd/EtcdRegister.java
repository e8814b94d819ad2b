package dev.cinch.lease.etcd;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.register.StateRegister;
import dev.cinch.lease.register.StateRegister.ChangeQueue;
import dev.cinch.lease.rules.Refusals;
import dev.cinch.lease.time.TimeSource;
import io.etcd.jetcd.api.KVGrpc;
import io.etcd.jetcd.api.KeyValue;
import io.etcd.jetcd.api.LeaseGrantRequest;
import io.etcd.jetcd.api.LeaseGrpc;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BiConsumer;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * The values of names in etcd, 3.4 or later, each under a key of its own. A change reads the value
 * and replaces it by a transaction that compares the key's revision.
 *
 * <p>What is not replaced for {@link #KEPT_MS} and the longest lease etcd collects. That is all its
 * leases are for: by then whatever was written has been over for minutes. A value counts from when
 * its change was asked for: until {@code longestLeaseMs} later, and it is kept from later on.
 *
 * <p>Assumed of etcd: that it forgets nothing by itself; that the clock by which it counts its
 * leases runs at most a fifth faster than others; and that it is not emptied, nor a backup restored
 * below an instance of the lease service. A process that sees that stops. Thread-safe.
 */
@CheckReturnValue
public final class EtcdRegister implements StateRegister, AutoCloseable {
  /** What etcd keeps beyond the longest time that a value counts, milliseconds. */
  public static final long KEPT_MS = 120_000;

  /** So many names there may be before no new one is taken. */
  static final int MOST_NAMES = 200_000;

  /** For how long a change is tried. */
  static final long PATIENCE_NANOS = 3_000_000_000L;

  /** What one answer has at most: with the longest values it is some megabytes. */
  static final int PAGE = 64;

  private static final int LONGEST_VALUE = 65_536;

  /** How soon one may ask again, nanoseconds. */
  static final long RETRY_AFTER = 200_000_000L;

  private final EtcdCalls calls;
  private final Keys keys;
  private final CollectionLease lease;
  private final EtcdWatch watch;
  private final long keepNanos;
  private final ChangeQueue queue = new ChangeQueue();
  private final AtomicBoolean changed = new AtomicBoolean();
  private final AtomicBoolean counting = new AtomicBoolean();
  private volatile int most = MOST_NAMES;
  private volatile boolean full;

  private EtcdRegister(EtcdCalls calls, Keys keys, long keepNanos) {
    this.calls = calls;
    this.keys = keys;
    this.keepNanos = keepNanos;
    this.lease = new CollectionLease(calls, keepNanos);
    this.watch = new EtcdWatch(calls, keys);
  }

  /**
   * A register, which asks for nothing before it is asked.
   *
   * @param prefix of its keys, of which no other register may have others below: 1 to 1,000
   *     characters of ASCII without spaces
   * @param longestLeaseMs for so long what is written counts at most, milliseconds
   * @param random spreads out attempts
   * @throws IllegalArgumentException if one of them is none
   */
  public static EtcdRegister of(
      EtcdCluster etcd,
      String prefix,
      long longestLeaseMs,
      TimeSource time,
      RandomGenerator random) {
    if (longestLeaseMs < 1) {
      throw new IllegalArgumentException("the longest lease lasts 1 ms or more");
    }
    var keys = new Keys(prefix); // before there is what has to be closed
    return new EtcdRegister(
        new EtcdCalls(etcd, time, random),
        keys,
        TimeUnit.MILLISECONDS.toNanos(Math.addExact(KEPT_MS, longestLeaseMs)));
  }

  EtcdCalls calls() {
    return calls;
  }

  Keys keys() {
    return keys;
  }

  CollectionLease lease() {
    return lease;
  }

  Found found(Keys.Stored stored) {
    return stored.value().isPresent()
        ? new Found(stored.value(), true, 0)
        : new Found(stored.value(), false, keepNanos);
  }

  private long giveUpAt() {
    return calls.now() + PATIENCE_NANOS;
  }

  /** Whether there were as many names as there may be, a moment ago. */
  boolean isFull() {
    return full;
  }

  /** How many names there may be. */
  int most() {
    return most;
  }

  /** Sets that. */
  void limit(int names) {
    most = names;
  }

  /** Counts the names, if there may be others than there were, and nobody counts them now. */
  @Override
  public void sweep() {
    if ((full || changed.get()) && counting.compareAndSet(false, true)) {
      changed.set(false);
      var unused =
          calls
              .ask(KVGrpc.getRangeMethod(), keys.count(), giveUpAt())
              .whenComplete(
                  (answer, broken) -> {
                    if (broken == null) {
                      full = answer.getCount() >= most;
                    } else {
                      changed.set(true);
                    }
                    counting.set(false);
                  });
    }
  }

  @Override
  public CompletableFuture<Boolean> change(LeaseName name, Change change) {
    changed.set(true);
    long giveUpAt = giveUpAt();
    return queue.next(name, done -> new EtcdChange(this, name, change, giveUpAt).run(done));
  }

  @Override
  public CompletableFuture<Found> look(LeaseName name) {
    return refusing(
        calls
            .ask(KVGrpc.getRangeMethod(), keys.range(name), giveUpAt())
            .thenApply(answer -> found(Keys.Stored.single(answer))),
        name + " can't be looked at");
  }

  @Override
  public CompletableFuture<?> reach() {
    return refusing(
        calls.ask(KVGrpc.getRangeMethod(), keys.range(new LeaseName("0")), giveUpAt()),
        "etcd can't be asked");
  }

  /** {@inheritDoc} In pages. */
  @Override
  public CompletableFuture<NavigableMap<String, byte[]>> list(
      String prefix, String after, int limit) {
    return refusing(
        page(new TreeMap<>(), prefix, after, limit, giveUpAt()),
        "the names from \"" + prefix + "\" can't be listed");
  }

  private CompletableFuture<NavigableMap<String, byte[]>> page(
      NavigableMap<String, byte[]> found, String prefix, String after, int limit, long giveUpAt) {
    return calls
        .ask(
            KVGrpc.getRangeMethod(),
            keys.page(prefix, after, Math.min(limit - found.size(), PAGE)),
            giveUpAt)
        .thenCompose(
            answer -> {
              for (KeyValue pair : answer.getKvsList()) {
                found.put(keys.name(pair), pair.getValue().toByteArray());
              }
              return answer.getMore() && found.size() < limit
                  ? page(found, prefix, found.lastKey(), limit, giveUpAt)
                  : CompletableFuture.completedFuture(found);
            });
  }

  private static <T> CompletableFuture<T> refusing(CompletableFuture<T> asked, String what) {
    var answer = new CompletableFuture<T>();
    var unused =
        asked.whenComplete(
            (got, broken) -> {
              if (broken == null) {
                answer.complete(got);
              } else {
                answer.completeExceptionally(
                    Refusals.notYet(
                        what + ": " + EtcdFailure.of(broken).getMessage(), RETRY_AFTER));
              }
            });
    return answer;
  }

  @Override
  public void listen(BiConsumer<String, byte[]> listener) {
    watch.listen(listener);
  }

  @Override
  public void onLoss(Runnable lost) {
    watch.onLoss(lost);
  }

  @Override
  public boolean hears() {
    return watch.hears();
  }

  @Override
  public int longestValue() {
    return LONGEST_VALUE;
  }

  /** Ends what is under way, without an answer; what is asked later is refused. */
  @Override
  public void close() {
    calls.close();
  }

  /** Where it is, for a message. */
  @Override
  public String toString() {
    return calls.toString();
  }

  /**
   * The etcd lease to which all that is written meanwhile is attached, so that etcd collects it
   * when nobody has replaced it for long. It is garbage collection alone: no lease of ours ends by
   * it.
   *
   * <p>It lasts for one and a half of what is kept, and another one is taken after a quarter. So
   * what is attached to it lasts for one and a quarter by etcd's clock: for what is kept by a clock
   * that goes a fifth slower. etcd counts on the leader, and begins anew with each leader: it may
   * collect later, and no sooner. Thread-safe.
   */
  static final class CollectionLease {
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
}
