package dev.cinch.lease.instance;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.ChangeListener;
import dev.cinch.lease.Correlation;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseHost;
import dev.cinch.lease.LeaseInfo;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Outcome;
import dev.cinch.lease.ServiceCounts;
import dev.cinch.lease.ServiceInfo;
import dev.cinch.lease.rules.LastWords;
import dev.cinch.lease.rules.Moment;
import dev.cinch.lease.rules.Refusals;
import dev.cinch.lease.table.LeaseBackend;
import dev.cinch.lease.table.LeaseBackend.UnansweredException;
import dev.cinch.lease.table.MemoryLeases;
import dev.cinch.lease.table.TableLimits;
import dev.cinch.lease.time.SignedClock;
import dev.cinch.lease.time.SignedClock.Reading;
import dev.cinch.lease.time.TimeBounds;
import dev.cinch.lease.time.TimeSource;
import dev.cinch.lease.time.Waits;
import dev.cinch.lease.witness.GrantSigner;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The lease service in one process's memory, which may be lost at any time (section 6).
 * Thread-safe.
 *
 * <p>No grant does I/O: it compares a ceiling that was published, and waits for the next one if it
 * has to. {@link #maintain} called every second keeps that ahead. A call takes the time of one
 * signature a name.
 */
@CheckReturnValue
public final class ServiceInstance implements LeaseHost {
  /** The longest lease unless told otherwise, milliseconds. */
  public static final long DEFAULT_LONGEST_LEASE_MS = 60_000;

  /** The longest that the longest lease may be, milliseconds: a day. */
  public static final long MAX_LONGEST_LEASE_MS = 86_400_000;

  /** How far above what is granted ceilings are published at most, unless told otherwise; ms. */
  public static final long DEFAULT_CEILING_AHEAD_MS = 30_000;

  private static final int MAX_LIST = 10_000;

  /** How long the store's thread waits for its next task, seconds. */
  private static final long IDLE_S = 10;

  private static final long NANOS_PER_MS = 1_000_000;
  private static final Logger log = LoggerFactory.getLogger(ServiceInstance.class);

  private final GrantSigner signer;
  private final SignedClock clock;
  private final long longestLeaseMs;

  /** The longest lease that was granted, here or before. */
  private final long longestNanos;

  private final Publisher publisher;
  private final InstanceGuard guard;
  private final LeaseBackend table;
  private final TimeBounds bounds;
  private final BoundRule inTime;
  private final Operations operations;
  private final Requests requests;

  /** That it serves, or {@link Correlation#NO_STORE}. */
  private final Id store;

  private ServiceInstance(Builder b) throws IOException {
    signer = b.signer;
    clock = new SignedClock(b.time);
    longestLeaseMs = b.longestLeaseMs;
    Reading start = clock.read();
    publisher =
        Publisher.start(
            b.registry,
            b.fresh,
            longestLeaseMs * NANOS_PER_MS,
            b.ceilingAheadMs * NANOS_PER_MS,
            clock,
            start,
            b.backend == null ? b.limits.maxEntries() / 2 : -1,
            b.storeThread == null ? ownThread() : b.storeThread);
    guard = publisher.guard();
    bounds = b.bounds;
    TableLimits limits =
        b.registry == null ? b.limits : b.limits.allowing(b.registry.timestampsOffNanos());
    EarlierInstances earlier = guard.earlier();
    longestNanos =
        Math.max(
            longestLeaseMs * NANOS_PER_MS, earlier.words().map(LastWords::longestNanos).orElse(0L));
    store = b.registry == null ? Correlation.NO_STORE : b.registry.store();
    table =
        b.backend == null
            ? inMemory(limits, earlier, b.registry)
            : b.backend.create(
                new LeaseBackend.Setting(
                    guard.number(),
                    store,
                    earlier.origin(),
                    limits.watermarks(),
                    limits.metadataKept(),
                    () -> clock.read().now()));
    inTime = new BoundRule(bounds, limits.watermarks());
    operations =
        new Operations(table, guard, clock, inTime, longestLeaseMs, store, publisher::maintain);
    requests = new Requests(operations, publisher, signer);
    log.info(
        "lease service instance {} with {} {}",
        guard.number(),
        guard.hasCeilings()
            ? "ceilings in the store"
            : b.fresh
                ? "no store, said to be the first: relies on that"
                : "no store: a restart relies on quarantine and clocks alone",
        earlier.waitLeft(start) == 0
            ? "grants leases"
            : "grants again " + Waits.inWords(earlier.waitLeft(start), start.now()));
  }

  private MemoryLeases inMemory(
      TableLimits limits, EarlierInstances earlier, @Nullable InstanceRegistry registry) {
    Optional<Id> served = Optional.ofNullable(registry).map(InstanceRegistry::store);
    var leases =
        new MemoryLeases(
            limits, guard.number(), earlier.origin(), earlier.signed(), longestNanos, served);
    long apart = registry == null ? 0 : registry.clocksApartNanos();
    earlier.words().ifPresent(words -> leases.take(words, earlier.start(), apart));
    return leases;
  }

  private static Executor ownThread() {
    var thread =
        new ThreadPoolExecutor(
            1,
            1,
            IDLE_S,
            TimeUnit.SECONDS,
            new LinkedBlockingQueue<>(),
            task -> {
              var made = new Thread(task, "cinch-lease-store");
              made.setDaemon(true); // a store that hangs keeps no process from its end
              return made;
            });
    thread.allowCoreThreadTimeOut(true);
    return thread;
  }

  /**
   * Prepares a service.
   *
   * @param signer makes the witnesses
   * @param time its clocks
   */
  public static Builder builder(GrantSigner signer, TimeSource time) {
    return new Builder(signer, time);
  }

  /** What a service is made of; not thread-safe. */
  public static final class Builder {
    private final GrantSigner signer;
    private final TimeSource time;
    private @Nullable InstanceRegistry registry;
    private TimeBounds bounds = TimeBounds.ASSUMED;
    private boolean fresh;
    private long longestLeaseMs = DEFAULT_LONGEST_LEASE_MS;
    private long ceilingAheadMs = DEFAULT_CEILING_AHEAD_MS;
    private LeaseBackend.@Nullable Factory backend;
    private @Nullable Executor storeThread;
    private TableLimits limits = TableLimits.forHeap(Runtime.getRuntime().maxMemory());

    private Builder(GrantSigner signer, TimeSource time) {
      this.signer = signer;
      this.time = time;
    }

    /**
     * Where numbers and ceilings are kept; without it there is only the quarantine. Watermarks may
     * be as far from the service's clock as it says, if that is more than {@link #limits} has.
     */
    @CanIgnoreReturnValue
    public Builder registry(InstanceRegistry registry) {
      this.registry = registry;
      return this;
    }

    /**
     * Between which times it is, by whoever knows better than the clocks alone: no watermark may be
     * further ahead of that than of the clock (rule L2). Without it the clock is assumed to be
     * right, but for {@link TimeBounds#ASSUMED_NANOS}.
     */
    @CanIgnoreReturnValue
    public Builder bounds(TimeBounds bounds) {
      this.bounds = bounds;
      return this;
    }

    /**
     * Skips the quarantine of a service without a registry: its user vouches that no lease of an
     * earlier instance is valid and no write under one is under way. Nothing with a registry.
     */
    @CanIgnoreReturnValue
    public Builder fresh(boolean fresh) {
      this.fresh = fresh;
      return this;
    }

    /**
     * The longest lease, milliseconds.
     *
     * @throws IllegalArgumentException unless from 1 to a day
     */
    @CanIgnoreReturnValue
    public Builder longestLeaseMs(long ms) {
      if (ms < 1 || ms > MAX_LONGEST_LEASE_MS) {
        throw new IllegalArgumentException(
            "the longest lease is 1 to " + MAX_LONGEST_LEASE_MS + " ms, not " + ms);
      }
      this.longestLeaseMs = ms;
      return this;
    }

    /**
     * How far above what is granted ceilings are published in the registry at most, milliseconds
     * (rule L3): as far as the longest lease that is asked for lasts, a second at least, and no
     * further than this. One is published each time half of that is used up; and after a restart
     * nothing is granted for so much longer.
     *
     * @throws IllegalArgumentException unless from 1 to a day
     */
    @CanIgnoreReturnValue
    public Builder ceilingAheadMs(long ms) {
      if (ms < 1 || ms > MAX_LONGEST_LEASE_MS) {
        throw new IllegalArgumentException(
            "ceilings lie 1 to " + MAX_LONGEST_LEASE_MS + " ms ahead, not " + ms);
      }
      this.ceilingAheadMs = ms;
      return this;
    }

    /**
     * Sizes and bounds; unless told otherwise the defaults, with as many names as the heap holds.
     */
    @CanIgnoreReturnValue
    public Builder limits(TableLimits limits) {
      this.limits = limits;
      return this;
    }

    /**
     * What calls the registry from the start on, one task after the other; a thread of the service
     * unless told otherwise, which ends when it has had nothing to do for a while.
     */
    @CanIgnoreReturnValue
    public Builder storeThread(Executor thread) {
      this.storeThread = thread;
      return this;
    }

    /** Calls the registry in the threads that call the service: for tests, which set clocks. */
    @CanIgnoreReturnValue
    public Builder storeInCallers() {
      var lock = new Object();
      return storeThread(
          task -> {
            synchronized (lock) {
              task.run();
            }
          });
    }

    /** Where it keeps who has which lease; in this process's memory unless told otherwise. */
    @CanIgnoreReturnValue
    public Builder backend(LeaseBackend.Factory backend) {
      this.backend = backend;
      return this;
    }

    /**
     * Takes the instance's number and starts.
     *
     * @throws IOException if the registry can't be reached, or finds the clock to be off
     */
    @CheckReturnValue
    public ServiceInstance start() throws IOException {
      return new ServiceInstance(this);
    }
  }

  @Override
  public List<Outcome> carryOut(List<Operation> wanted) throws LeaseUnavailableException {
    return requests.carryOut(wanted);
  }

  @Override
  public boolean waits() {
    return table.waits();
  }

  @Override
  public List<CompletableFuture<List<Outcome>>> begin(List<List<Operation>> wanted) {
    return requests.begin(wanted);
  }

  @Override
  public ServiceCounts counts() {
    return new ServiceCounts(
        table.countHeld(inTime.moment(clock.read())), OptionalLong.of(requests.signatures()));
  }

  @Override
  public Optional<LeaseInfo> show(LeaseName name) throws LeaseUnavailableException {
    try {
      return table.show(name, inTime.moment(clock.read()));
    } catch (LeaseRefusedException | UnansweredException e) {
      throw new LeaseUnavailableException(String.valueOf(e.getMessage()), e);
    }
  }

  /**
   * {@inheritDoc}
   *
   * @throws IllegalArgumentException if the limit is out of range
   */
  @Override
  public List<LeaseInfo> list(String prefix, Optional<LeaseName> after, int limit)
      throws LeaseUnavailableException {
    if (limit < 1 || limit > MAX_LIST) {
      throw new IllegalArgumentException("a page has 1 to " + MAX_LIST + " names, not " + limit);
    }
    try {
      return table.list(prefix, after, limit, inTime.moment(clock.read()));
    } catch (LeaseRefusedException | UnansweredException e) {
      throw new LeaseUnavailableException(String.valueOf(e.getMessage()), e);
    }
  }

  @Override
  public long now() {
    return clock.read().now();
  }

  @Override
  public boolean listen(ChangeListener listener) {
    table.listen(listener);
    return true;
  }

  /** What it says about itself. */
  public ServiceInfo info() {
    Reading at = clock.read();
    return new ServiceInfo(
        guard.number(),
        signer.publicKey().toString(),
        longestLeaseMs,
        at.now(),
        roundedUp(guard.earlier().waitLeft(at)),
        roundedUp(at.behindNanos()),
        guard.hasCeilings(),
        guard.isPublished() ? OptionalLong.of(guard.ceiling()) : OptionalLong.empty(),
        guard.isSuperseded(),
        Optional.of(bounds.at(at.wall(), at.monotonic())),
        bounds.problems());
  }

  /** The number of this instance. */
  public long number() {
    return guard.number();
  }

  /** Which instance has taken over for good, in words; empty if none has. Never waits. */
  public Optional<String> supersededBy() {
    return guard.supersededBy();
  }

  /** Why no leases are granted at the moment; empty if they are. Never waits. */
  public Optional<LeaseRefusedException> obstacle() {
    try {
      Reading at = clock.read();
      operations.requireClock(at);
      operations.requireWaited(at);
      if (at.now() >= guard.keyEnd()) {
        return Optional.of(Refusals.keyEnds(guard.keyEnd()));
      }
    } catch (LeaseRefusedException e) {
      return Optional.of(e);
    }
    return guard
        .failure()
        .map(why -> Refusals.notYet("the store can't be used: " + why, 1_000 * NANOS_PER_MS))
        .or(table::obstacle);
  }

  @Override
  public boolean hears() {
    return table.hears();
  }

  private static long roundedUp(long nanos) {
    return nanos == 0 ? 0 : Refusals.millis(nanos);
  }

  /**
   * Has a ceiling published that is due, and forgets what is long over. To be called about every
   * second by whoever started the service; never throws for the registry's I/O.
   */
  public void maintain() {
    if (requests.hasEnded()) {
      return;
    }
    Reading at = clock.read();
    publisher.maintain(at);
    table.sweep(at.now());
  }

  /**
   * Finds out whether the machines can be reached that keep the leases, for {@link #obstacle} and
   * {@link #hears}. To be called about every second by whoever serves others; does not wait.
   */
  public void probe() {
    table.probe();
  }

  /**
   * Ends the service for good, if no call is under way: from then on it signs nothing, and whatever
   * it is asked for is refused.
   *
   * @return whether it has ended
   */
  public boolean end() {
    return requests.end();
  }

  /**
   * Leaves last words to the next instance, so that this one grants at once what is free (rule
   * L19). Once, after {@link #end}.
   *
   * @return whether they are there. Not if it has no registry, granted nothing, holds too much, or
   *     keeps its leases elsewhere; nor if another instance has taken over. It fails with an {@link
   *     IOException} if that is unknown: the next instance may wait for the ceilings
   * @throws IllegalStateException if the service has not ended
   */
  public CompletableFuture<Boolean> leaveLastWords() {
    if (!requests.hasEnded()) {
      throw new IllegalStateException("the service goes on");
    }
    Moment now = inTime.moment(clock.read());
    return publisher.leave(() -> table.lastWords(now, longestNanos));
  }

  int grantsRemembered() {
    return table.grantsRemembered();
  }
}
