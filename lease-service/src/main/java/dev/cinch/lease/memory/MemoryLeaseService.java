package dev.cinch.lease.memory;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.AcquireRequest;
import dev.cinch.lease.Correlation;
import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.InstanceRegistry;
import dev.cinch.lease.LeaseEnd;
import dev.cinch.lease.LeaseInfo;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LeaseService;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.ResumeRequest;
import dev.cinch.lease.ServiceInfo;
import dev.cinch.lease.Witness;
import dev.cinch.lease.time.SignedClock;
import dev.cinch.lease.time.SignedClock.Reading;
import dev.cinch.lease.time.TimeSource;
import dev.cinch.lease.witness.GrantSigner;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The lease service in one process's memory, which may be lost at any time (section 6).
 * Thread-safe.
 *
 * <p>Calls may do the registry's I/O and take as long as that does; otherwise they take the time of
 * one signature a name. {@link #maintain} called every second keeps that I/O off their path.
 */
@CheckReturnValue
public final class MemoryLeaseService implements LeaseService {
  /** The longest lease unless told otherwise, milliseconds. */
  public static final long DEFAULT_LONGEST_LEASE_MS = 60_000;

  /** The longest that the longest lease may be, milliseconds: a day. */
  public static final long MAX_LONGEST_LEASE_MS = 86_400_000;

  /** How far above what is granted ceilings are published at most, unless told otherwise; ms. */
  public static final long DEFAULT_CEILING_AHEAD_MS = 30_000;

  /**
   * How long whoever asks for leases may still wait for the answer, nanoseconds. What is granted
   * later is held by nobody, and a release of it may have been forgotten.
   */
  private static final long HEARD_FOR = 60_000_000_000L;

  /** How often leases are ended for one request: others may expire meanwhile. */
  private static final int ATTEMPTS_TO_END = 4;

  private static final int MAX_LIST = 10_000;
  private static final long NANOS_PER_MS = 1_000_000;
  private static final Logger log = LoggerFactory.getLogger(MemoryLeaseService.class);

  private final GrantSigner signer;
  private final SignedClock clock;
  private final long longestLeaseMs;
  private final InstanceGuard guard;
  private final LeaseTable table;
  private final Id storeId;

  private MemoryLeaseService(Builder b) throws IOException {
    signer = b.signer;
    clock = new SignedClock(b.time);
    longestLeaseMs = b.longestLeaseMs;
    Reading start = clock.read();
    guard =
        new InstanceGuard(
            b.registry,
            b.fresh,
            longestLeaseMs * NANOS_PER_MS,
            b.ceilingAheadMs * NANOS_PER_MS,
            clock,
            start);
    TableLimits limits =
        b.registry == null ? b.limits : b.limits.allowing(b.registry.timestampsOffNanos());
    Optional<Id> store = Optional.ofNullable(b.registry).map(InstanceRegistry::store);
    storeId = store.orElse(Correlation.NO_STORE);
    table = new LeaseTable(limits, guard.number(), guard.origin(), store);
    log.info(
        "lease service instance {} with {} {}",
        guard.number(),
        guard.hasCeilings()
            ? "ceilings in the store"
            : b.fresh
                ? "no store, said to be the first: relies on that"
                : "no store: a restart relies on quarantine and clocks alone",
        guard.untilGranting(start));
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
    private boolean fresh;
    private long longestLeaseMs = DEFAULT_LONGEST_LEASE_MS;
    private long ceilingAheadMs = DEFAULT_CEILING_AHEAD_MS;
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
     * Takes the instance's number and starts.
     *
     * @throws IOException if the registry can't be reached, or finds the clock to be off
     */
    @CheckReturnValue
    public MemoryLeaseService start() throws IOException {
      return new MemoryLeaseService(this);
    }
  }

  @Override
  public Grant acquire(AcquireRequest request) throws LeaseRefusedException {
    Requests.check(request, longestLeaseMs);
    Reading at = read();
    requireClock(at);
    if (!table.knows(request.names())) {
      requireWaited(at); // what was resumed waits for no earlier instance's leases
    }
    long duration = request.durationMs() * NANOS_PER_MS;
    if (!guard.isCovered(at, duration)) {
      table.requireFree(request, at.now());
    }
    long ceiling = guard.permit(at, duration);
    List<Witness> witnesses = granted(request, at, ceiling);
    guard.noteGranted(at, duration);
    return signed(request.id(), witnesses);
  }

  private List<Witness> granted(AcquireRequest request, Reading at, long ceiling)
      throws LeaseRefusedException {
    for (int attempt = 1; attempt <= ATTEMPTS_TO_END; attempt++) {
      requireHeard(at);
      try {
        return table.acquire(request, at.now(), ceiling);
      } catch (UnendedException e) {
        guard.end(e.tenures());
        table.ended(e.tenures());
      }
    }
    throw Refusals.notYet("others expire as fast as these leases are ended", NANOS_PER_MS);
  }

  private void requireHeard(Reading asked) throws LeaseRefusedException {
    if (clock.read().monotonic() - asked.monotonic() > HEARD_FOR) {
      throw Refusals.notYet("the store took too long to answer; ask again", NANOS_PER_MS);
    }
  }

  @Override
  public Grant resume(ResumeRequest request) throws LeaseRefusedException {
    Requests.check(request, longestLeaseMs, storeId);
    guard.requireLatest();
    List<LeaseEnd> ends = guard.ends().resumable(request);
    // Its names are held, so nothing has to pass first, as it may have to for others (rule L3).
    Reading at = read();
    long duration = request.durationMs() * NANOS_PER_MS;
    long ceiling = guard.permit(at, duration);
    Optional<List<Witness>> witnesses = table.resume(request, false, at.now(), ceiling);
    if (witnesses.isEmpty()) {
      guard.ends().takeOver(ends);
      requireHeard(at);
      witnesses = table.resume(request, true, at.now(), ceiling);
    }
    guard.noteGranted(at, duration);
    return signed(request.id(), witnesses.orElseThrow());
  }

  @Override
  public Grant renew(Id id, long durationMs, LogSet addLogs, LeaseReport report)
      throws LeaseRefusedException {
    Requests.duration(durationMs, longestLeaseMs);
    Requests.logs(addLogs);
    Requests.check(report);
    // While the clock has stepped back the service's time stands still. Renewing by it moves no
    // expiry past what was possible before, and spares holders the loss of their leases.
    Reading at = read();
    long ceiling = permitKnown(id, report, at, durationMs);
    List<Witness> witnesses = table.renew(id, durationMs, addLogs, report, at.now(), ceiling);
    guard.noteGranted(at, durationMs * NANOS_PER_MS);
    return signed(id, witnesses);
  }

  @Override
  public Grant upgrade(Id id, long durationMs) throws LeaseRefusedException {
    Requests.duration(durationMs, longestLeaseMs);
    Reading at = read();
    requireClock(at);
    long ceiling = permitKnown(id, LeaseReport.NOTHING, at, durationMs);
    List<Witness> witnesses = table.upgrade(id, durationMs, at.now(), ceiling);
    guard.noteGranted(at, durationMs * NANOS_PER_MS);
    return signed(id, witnesses);
  }

  private long permitKnown(Id id, LeaseReport report, Reading at, long durationMs)
      throws LeaseRefusedException {
    long duration = durationMs * NANOS_PER_MS;
    if (!guard.isCovered(at, duration)) {
      guard.requireLatest();
      table.requireKnown(id, report);
    }
    return guard.permit(at, duration);
  }

  @Override
  public void release(Id id, LeaseReport report) throws LeaseRefusedException {
    Requests.check(report);
    guard.requireLatest();
    table.release(id, report, read().now());
  }

  @Override
  public Optional<LeaseInfo> show(LeaseName name) {
    return table.show(name, clock.read().now());
  }

  /**
   * {@inheritDoc}
   *
   * @throws IllegalArgumentException if the limit is out of range
   */
  @Override
  public List<LeaseInfo> list(String prefix, Optional<LeaseName> after, int limit) {
    if (limit < 1 || limit > MAX_LIST) {
      throw new IllegalArgumentException("a page has 1 to " + MAX_LIST + " names, not " + limit);
    }
    return table.list(prefix, after, limit, clock.read().now());
  }

  @Override
  public long now() {
    return clock.read().now();
  }

  /** What it says about itself. */
  public ServiceInfo info() {
    Reading at = clock.read();
    return new ServiceInfo(
        guard.number(),
        signer.publicKey().toString(),
        longestLeaseMs,
        at.now(),
        roundedUp(guard.quarantineLeft(at)),
        roundedUp(at.behindNanos()),
        guard.hasCeilings(),
        guard.publishedCeiling(),
        guard.isSuperseded());
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
      requireClock(at);
      requireWaited(at);
    } catch (LeaseRefusedException e) {
      return Optional.of(e);
    }
    return guard
        .failure()
        .map(why -> Refusals.notYet("the store can't be used: " + why, 1_000 * NANOS_PER_MS));
  }

  private static long roundedUp(long nanos) {
    return nanos == 0 ? 0 : Refusals.millis(nanos);
  }

  /**
   * Publishes a ceiling that is due and forgets what is long over. To be called about every second
   * by whoever started the service; may do the registry's I/O, and never throws for it.
   */
  public void maintain() {
    Reading at = read();
    guard.maintain(at);
    table.sweep(at.now());
  }

  int grantsRemembered() {
    return table.grantsRemembered();
  }

  /** The clocks, for what may do I/O: a wall clock that jumped ahead is looked at. */
  private Reading read() {
    Reading at = clock.read();
    return at.jumped() ? guard.afterJump(at) : at;
  }

  private void requireClock(Reading at) throws LeaseRefusedException {
    guard.requireLatest();
    if (at.behindNanos() > 0) {
      throw Refusals.notYet(
          "the service's clock stepped back by "
              + Refusals.millis(at.behindNanos())
              + " ms; nothing is granted until it has caught up",
          at.behindNanos());
    }
  }

  private void requireWaited(Reading at) throws LeaseRefusedException {
    long left = guard.quarantineLeft(at);
    if (left > 0) {
      throw Refusals.notYet("the service was started anew and " + guard.untilGranting(at), left);
    }
  }

  private Grant signed(Id id, List<Witness> witnesses) {
    return new Grant(id, signer.sign(witnesses));
  }
}
