package dev.cinch.lease.register.etcd;

import com.fasterxml.jackson.databind.JsonNode;
import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.register.StateRegister;
import dev.cinch.lease.register.Turns;
import dev.cinch.lease.table.Refusals;
import dev.cinch.lease.time.TimeSource;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BiConsumer;
import java.util.random.RandomGenerator;

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
  private static final long RETRY_AFTER = 200_000_000L;

  private final Gateway gateway;
  private final Keys keys;
  private final CollectionLease lease;
  private final Watch watch;
  private final long keepNanos;
  private final Turns turns = new Turns();
  private final AtomicBoolean changed = new AtomicBoolean();
  private volatile int most = MOST_NAMES;
  private volatile boolean full;

  private EtcdRegister(Gateway gateway, Keys keys, long keepNanos) {
    this.gateway = gateway;
    this.keys = keys;
    this.keepNanos = keepNanos;
    this.lease = new CollectionLease(gateway, keepNanos);
    this.watch = new Watch(gateway, keys);
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
    return new EtcdRegister(
        new Gateway(etcd, time, random),
        new Keys(prefix),
        TimeUnit.MILLISECONDS.toNanos(Math.addExact(KEPT_MS, longestLeaseMs)));
  }

  Gateway gateway() {
    return gateway;
  }

  Keys keys() {
    return keys;
  }

  CollectionLease lease() {
    return lease;
  }

  Found found(Stored stored) {
    return stored.found(keepNanos);
  }

  private long giveUpAt() {
    return gateway.now() + PATIENCE_NANOS;
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

  /** Counts the names, if there may be others than there were. */
  @Override
  public void sweep() {
    if (full || changed.getAndSet(false)) {
      var unused =
          gateway
              .ask("/v3/kv/range", keys.count(), false, giveUpAt())
              .thenAccept(answer -> full = answer.path("count").asLong() >= most);
    }
  }

  @Override
  public CompletableFuture<Boolean> change(LeaseName name, Change change) {
    changed.set(true);
    long giveUpAt = giveUpAt();
    return turns.next(name, done -> new EtcdChange(this, name, change, giveUpAt, done).read());
  }

  @Override
  public CompletableFuture<Found> look(LeaseName name) {
    return refusing(
        gateway
            .ask("/v3/kv/range", keys.range(name), true, giveUpAt())
            .thenApply(answer -> found(Stored.single(answer))),
        name + " can't be looked at");
  }

  @Override
  public CompletableFuture<?> reach() {
    return refusing(
        gateway.ask("/v3/kv/range", keys.range(new LeaseName("0")), true, giveUpAt()),
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
    return gateway
        .ask(
            "/v3/kv/range",
            keys.page(prefix, after, Math.min(limit - found.size(), PAGE)),
            true,
            giveUpAt)
        .thenCompose(
            answer -> {
              for (JsonNode kv : answer.path("kvs")) {
                found.put(keys.name(kv), Stored.value(kv));
              }
              return answer.path("more").asBoolean() && found.size() < limit
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
                        what + ": " + Gateway.failure(broken).getMessage(), RETRY_AFTER));
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
    gateway.close();
  }

  /** Where it is, for a message. */
  @Override
  public String toString() {
    return gateway.toString();
  }
}
