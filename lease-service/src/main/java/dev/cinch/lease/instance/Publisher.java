package dev.cinch.lease.instance;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.ClockOffException;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.Revocation;
import dev.cinch.lease.Shard;
import dev.cinch.lease.instance.InstanceRegistry.End;
import dev.cinch.lease.instance.StoreCalls.StoreNeededException;
import dev.cinch.lease.rules.LastWords;
import dev.cinch.lease.rules.Refusals;
import dev.cinch.lease.rules.Unreleased;
import dev.cinch.lease.time.SignedClock;
import dev.cinch.lease.time.SignedClock.Reading;
import dev.cinch.lease.witness.PublicKey;
import dev.cinch.lease.witness.TrustedKeys;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * All that an instance of the service does in its store: ceilings, which it keeps ahead of what is
 * granted, looks for later instances, ends of leases (rules L3, L9, L11). It tells {@link
 * InstanceGuard} what it found. Thread-safe; after {@link #start} one thread alone calls the
 * registry.
 */
@CheckReturnValue
final class Publisher implements StoreCalls {
  /** How often a service in use by nobody looks for a later instance, nanoseconds. */
  static final long LOOK_EVERY = 5_000_000_000L;

  /**
   * The store hangs that has not answered for so long, nanoseconds: whoever comes then is refused.
   */
  static final long HANGS_AFTER = 1_000_000_000L;

  private static final Logger log = LoggerFactory.getLogger(Publisher.class);

  /** Null if there is no store: then there is nothing to do. */
  private final @Nullable InstanceRegistry registry;

  private final InstanceGuard guard;
  private final SignedClock clock;
  private final Executor thread;
  private final AtomicBoolean upkeep = new AtomicBoolean();

  /** What concerns ceilings, without which others lose leases; before all else. */
  private final Queue<Task> urgent = new ConcurrentLinkedQueue<>();

  private final Queue<Task> tasks = new ConcurrentLinkedQueue<>();

  /** When the thread began what it does, monotonic nanoseconds; empty while it does nothing. */
  private volatile OptionalLong busySince = OptionalLong.empty();

  /** When a later instance was looked for last, monotonic nanoseconds. */
  private volatile long lookedAt;

  /** What kind of error was logged and has not passed; by that thread. */
  private @Nullable Class<?> trouble;

  private Publisher(
      @Nullable InstanceRegistry registry,
      InstanceGuard guard,
      SignedClock clock,
      Reading start,
      Executor thread) {
    this.registry = registry;
    this.guard = guard;
    this.clock = clock;
    this.thread = thread;
    this.lookedAt = start.monotonic();
  }

  /**
   * Takes a number and learns what earlier instances may have signed.
   *
   * @param registry null if there is no store
   * @param fresh without a registry: there was no instance before, or all its leases are known to
   *     be over and fenced
   * @param longestNanos the longest lease, which is waited for without a registry
   * @param aheadNanos how far above what is asked for ceilings are published at most
   * @param clock the service's time, which is trusted once the registry has compared it
   * @param start a reading of it, when the instance was started
   * @param mostLeft so many names of the instance before it can take over (rule L19)
   * @param thread makes all calls of the registry from then on, one after the other
   * @throws IOException if the registry can't be reached, or the clock is off; in that case no
   *     number was taken
   */
  static Publisher start(
      @Nullable InstanceRegistry registry,
      boolean fresh,
      long longestNanos,
      long aheadNanos,
      SignedClock clock,
      Reading start,
      int mostLeft,
      Executor thread)
      throws IOException {
    InstanceGuard guard;
    if (registry == null) {
      guard =
          new InstanceGuard(
              Math.max(1, start.now() / 1_000_000),
              EarlierInstances.guessed(fresh, longestNanos, start),
              Shard.WHOLE,
              null,
              PublicKey.NEVER,
              aheadNanos,
              start);
    } else {
      registry.checkClock(start.wall());
      // In this order: whoever publishes after the second step sees the number of the first.
      long number = registry.takeNumber();
      OptionalLong ceiling = registry.highestEarlierCeiling();
      EarlierInstances earlier =
          EarlierInstances.of(
              ceiling,
              ceiling.isEmpty() ? Optional.empty() : words(registry, mostLeft),
              registry.clocksApartNanos(),
              start);
      guard =
          new InstanceGuard(
              number,
              earlier,
              registry.shard(),
              registry::lastEarlierInstance,
              registry.keyEnd(),
              aheadNanos,
              start);
      clock.trust(start);
    }
    return new Publisher(registry, guard, clock, start, thread);
  }

  /** A hint for whoever waits: what can't be read is as if it were not there. */
  private static Optional<LastWords> words(InstanceRegistry registry, int mostNames) {
    try {
      Optional<byte[]> left = registry.lastWords();
      Optional<LastWords> words = left.flatMap(LastWords::decode);
      if (left.isPresent() && words.filter(w -> w.leases().size() <= mostNames).isEmpty()) {
        log.warn("the last words of the instance before can't be used: waiting for its ceiling");
        return Optional.empty();
      }
      return words;
    } catch (IOException e) {
      log.warn("the last words of the instance before can't be read: {}", e.toString());
      return Optional.empty();
    }
  }

  /** What it tells what it found. */
  InstanceGuard guard() {
    return guard;
  }

  /**
   * Meets what an operation needs. The result fails with a {@link LeaseRefusedException} if the
   * store does not do that, or is behind: then nobody queues for long. Nothing is begun for whoever
   * has given up.
   */
  CompletableFuture<Boolean> meet(StoreNeededException needed) {
    var met = new CompletableFuture<Boolean>();
    boolean begun =
        !isBehind(needed) && run(new Task(needed.isUrgent(), now(), met, () -> meet(needed, met)));
    if (!begun) {
      boolean unused = met.completeExceptionally(notAnswered());
    }
    return met;
  }

  private void meet(StoreNeededException needed, CompletableFuture<Boolean> met) {
    Throwable failure = null;
    try {
      needed.need().meet(this);
    } catch (LeaseRefusedException | RuntimeException | Error e) {
      failure = e;
    }
    busySince = OptionalLong.empty(); // before anybody goes on, and may need it again
    boolean unused = failure == null ? met.complete(true) : met.completeExceptionally(failure);
  }

  /** What whoever waits for it is told while the store hangs. */
  static LeaseRefusedException notAnswered() {
    return Refusals.notYet(
        "the lease service waits for the store, which does not answer", InstanceGuard.RETRY_AFTER);
  }

  private long now() {
    return clock.read().monotonic();
  }

  /**
   * Whether the store hangs; or, for what concerns single leases, has so much to do that whoever
   * came first waits for too long. Ceilings come before all that.
   */
  private boolean isBehind(StoreNeededException needed) {
    OptionalLong began = busySince;
    if (began.isPresent() && now() - began.getAsLong() >= HANGS_AFTER) {
      return true;
    }
    Task first = needed.isUrgent() ? null : tasks.peek();
    return first != null && now() - first.since() >= HANGS_AFTER;
  }

  /**
   * What the store's thread is to do.
   *
   * @param since when it was asked for, monotonic nanoseconds
   * @param done completed once nobody wants it any more
   */
  private record Task(boolean urgent, long since, CompletableFuture<?> done, Runnable what) {}

  /** Has the store's thread do something; false if it takes nothing more. */
  private boolean run(Task task) {
    Queue<Task> queue = task.urgent() ? urgent : tasks;
    queue.add(task);
    try {
      thread.execute(this::runNext);
      return true;
    } catch (RejectedExecutionException e) {
      boolean unused = queue.remove(task);
      return false;
    }
  }

  private void runNext() {
    Task task = urgent.poll();
    if (task == null) {
      task = tasks.poll();
    }
    if (task == null || task.done().isDone()) {
      return;
    }
    busySince = OptionalLong.of(now());
    try {
      task.what().run();
    } finally {
      busySince = OptionalLong.empty();
    }
  }

  /**
   * Has done what is due: a ceiling, a look for a later instance, or at the clock. Does not wait
   * for that.
   */
  void maintain(Reading at) {
    InstanceRegistry store = registry;
    if (store == null || guard.isSuperseded()) {
      return;
    }
    guard.noteAlive(at);
    boolean due = guard.isDue(at) || isLookDue(at) || isCompareDue(at);
    if (due && upkeep.compareAndSet(false, true)) {
      Runnable keepsUp =
          () -> {
            upkeep.set(false); // what becomes due from now on asks again
            keepUp(store);
          };
      if (!run(new Task(true, at.monotonic(), new CompletableFuture<>(), keepsUp))) {
        upkeep.set(false);
      }
    }
  }

  private boolean isLookDue(Reading at) {
    return at.monotonic() - lookedAt >= LOOK_EVERY && !guard.isPutOff(at);
  }

  private boolean isCompareDue(Reading at) {
    return guard.compared().mustLook(at) && !guard.isPutOff(at);
  }

  private void keepUp(InstanceRegistry store) {
    compareClock();
    Reading at = clock.read();
    try {
      if (guard.isDue(at)) {
        publish(store, at, 0);
      } else if (isLookDue(at)) {
        look(store, at);
      }
    } catch (IOException | UncheckedIOException e) {
      guard.putOff(at.monotonic());
      failed(e);
    }
  }

  @Override
  public void cover(long expiry) throws LeaseRefusedException {
    InstanceRegistry store = registry;
    if (store == null) {
      return;
    }
    try {
      Reading at = clock.read();
      if (guard.mustLook()) {
        look(store, at);
      }
      if (guard.ceiling() < expiry && !guard.isSuperseded()) {
        publish(store, at, expiry - at.now());
      }
      if (guard.compared().isOld(at)) {
        compare(store);
      }
    } catch (IOException | UncheckedIOException e) {
      failed(e);
      throw Refusals.notYet(
          "the lease service can't publish a ceiling in the store; it says: " + e.getMessage(),
          InstanceGuard.RETRY_AFTER);
    }
  }

  /**
   * @param durationNanos what somebody asks for beside what was granted
   */
  private void publish(InstanceRegistry to, Reading at, long durationNanos) throws IOException {
    long paused = guard.pauses();
    long longest = guard.reach().longest(durationNanos);
    long ceiling = Math.min(guard.keyEnd(), at.now() + longest + guard.reach().ahead(longest));
    if (ceiling <= guard.ceiling()) {
      return;
    }
    // What is published can't be taken back: a later instance fences up to it, whenever that is.
    compare(to);
    if (!to.publishCeiling(ceiling)) {
      stop(to);
      return;
    }
    lookedAt = at.monotonic();
    // Only now: after an error it is unknown whether the file is there, and nothing relies on it.
    guard.published(ceiling, at, longest);
    guard.looked(paused);
    succeeded();
  }

  private void look(InstanceRegistry in, Reading at) throws IOException {
    long paused = guard.pauses();
    if (in.isLatest()) {
      guard.looked(paused);
      lookedAt = at.monotonic();
      if (guard.isPublished() && guard.compared().isDue(at)) {
        compare(in);
      }
    } else {
      stop(in);
    }
  }

  private void stop(InstanceRegistry in) {
    guard.stop(); // before anything that may fail
    Optional<String> by = Optional.empty();
    try {
      by = Optional.of(in.latest());
    } catch (IOException | UncheckedIOException e) {
      log.debug("the later instance could not be looked at", e);
    }
    guard.stoppedBy(by);
    log.info(
        "{} has taken over: instance {} grants nothing any more",
        guard.supersededBy().orElseThrow(),
        guard.number());
  }

  /** Compares, and goes by this machine's clock from now on if it agrees. */
  private void compare(InstanceRegistry with) throws IOException {
    Reading now = clock.read();
    try {
      with.checkClock(now.wall());
    } catch (ClockOffException e) {
      guard.compared().differs(now, e.getMessage());
      throw e;
    }
    clock.trust(now);
    guard.compared().agreed(now);
  }

  /**
   * {@inheritDoc}
   *
   * <p>That clock may be right all the same: the machine slept, or its clock was set. A call that
   * went on with the old time would be refused a watermark that is right, and be granted an expiry
   * too early. Where the store does not say, the service's time goes on by the monotonic clock.
   */
  @Override
  public void compareClock() {
    InstanceRegistry with = registry;
    Reading at = clock.read();
    if (with == null || !isCompareDue(at)) {
      return; // without a store no clock is trusted, and all are followed
    }
    try {
      compare(with);
      succeeded();
    } catch (IOException | UncheckedIOException e) {
      guard.putOff(clock.read().monotonic()); // from now: it may have taken long to fail
      failed(e);
    }
  }

  @Override
  public void end(List<Unreleased> leases) throws LeaseRefusedException {
    List<End> ends = leases.stream().map(t -> new End(t.correlation(), guard.number())).toList();
    if (registry != null && !areMine(registry, ends)) {
      stop(registry); // nobody else resumes them
    }
    guard.requireLatest();
  }

  @Override
  public void takeOver(List<End> ends) throws LeaseRefusedException {
    if (registry != null && !areMine(registry, ends)) {
      throw Refusals.notHeld("another instance of the lease service ended it; acquire anew");
    }
  }

  private static boolean areMine(InstanceRegistry store, List<End> ends)
      throws LeaseRefusedException {
    return answer(() -> store.end(ends)).containsAll(ends);
  }

  @Override
  public TrustedKeys trustedKeys() throws LeaseRefusedException {
    InstanceRegistry store = registry;
    return store == null ? TrustedKeys.NONE : answer(store::trustedKeys);
  }

  @Override
  public Revocation keep(Revocation revocation) throws LeaseRefusedException {
    InstanceRegistry store = registry;
    return store == null ? revocation : answer(() -> store.revoked(revocation));
  }

  private interface StoreCall<T> {
    T get() throws IOException;
  }

  private static <T> T answer(StoreCall<T> call) throws LeaseRefusedException {
    try {
      return call.get();
    } catch (IOException | UncheckedIOException e) {
      log.warn("the store does not tell whose leases are: {}", e.toString());
      throw Refusals.notYet(
          "the lease service can't tell in the store whose leases these are; it says: "
              + e.getMessage(),
          InstanceGuard.RETRY_AFTER);
    }
  }

  /**
   * Leaves last words (rule L19), once nothing is signed any more.
   *
   * @return whether they are there; not if no ceiling was ever published, since then they say
   *     nothing, nor if another instance has taken over
   */
  CompletableFuture<Boolean> leave(Supplier<Optional<byte[]>> words) {
    var left = new CompletableFuture<Boolean>();
    Runnable leaves =
        () -> {
          try {
            boolean unused = left.complete(leaveNow(words));
          } catch (IOException | RuntimeException | Error e) {
            boolean unused = left.completeExceptionally(e);
          }
        };
    boolean begun = run(new Task(false, now(), left, leaves));
    if (!begun) {
      boolean unused = left.completeExceptionally(new IOException("the store does not answer"));
    }
    return left;
  }

  private boolean leaveNow(Supplier<Optional<byte[]>> words) throws IOException {
    InstanceRegistry to = registry;
    if (to == null || guard.isSuperseded() || !guard.isPublished()) {
      return false;
    }
    Optional<byte[]> bytes = words.get();
    if (bytes.isPresent()) {
      to.leave(bytes.get());
    }
    return bytes.isPresent();
  }

  /** Says so once, and again when the reason is another one. */
  private void failed(Exception e) {
    guard.failed(String.valueOf(e.getMessage()));
    if (!e.getClass().equals(trouble)) {
      trouble = e.getClass();
      log.warn(
          "no ceilings can be published in the store, and nothing is granted above {}: {}",
          guard.isPublished() ? Long.toString(guard.ceiling()) : "none",
          e.toString());
    }
  }

  private void succeeded() {
    guard.succeeded();
    if (trouble != null) {
      trouble = null;
      log.info("ceilings can be published in the store again");
    }
  }
}
