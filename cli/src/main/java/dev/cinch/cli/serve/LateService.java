package dev.cinch.cli.serve;

import dev.cinch.bag.registry.StoreShards;
import dev.cinch.bag.store.StoreContext;
import dev.cinch.lease.ChangeListener;
import dev.cinch.lease.LeaseHost;
import dev.cinch.lease.LeaseInfo;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseService;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Outcome;
import dev.cinch.lease.ServiceCounts;
import dev.cinch.lease.ServiceInfo;
import dev.cinch.lease.ShardServers;
import dev.cinch.lease.instance.ServiceInstance;
import dev.cinch.lease.time.TimeSource;
import dev.cinch.lease.wire.Health;
import java.io.IOException;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * A lease service that starts after its server listens: starting it takes a number, which stops the
 * one before it for good, so nothing may go wrong after that. Until it is there it answers that it
 * is not. Thread-safe.
 */
public final class LateService implements LeaseHost {
  /** How long calls may take to end that were cut off, nanoseconds. */
  private static final long END_NANOS = 2_000_000_000L;

  /** How long the store may take for last words: as long as they may take to count there. */
  private static final long LEAVE_SECONDS = 5;

  private final CompletableFuture<ServiceInstance> started = new CompletableFuture<>();
  private final @Nullable StoreContext store;

  /**
   * @param store which says who has which shard, also before it is started and when another one has
   *     taken over; null without one
   */
  public LateService(@Nullable StoreContext store) {
    this.store = store;
  }

  /** Starts the service; once. */
  public void start(ServiceInstance.Builder builder) throws IOException {
    try {
      boolean unused = started.complete(builder.start());
    } finally {
      started.cancel(false); // who waits for a service that did not start is let go
    }
  }

  private boolean isStarted() {
    return started.isDone() && !started.isCompletedExceptionally();
  }

  private LeaseService service() throws LeaseUnavailableException {
    if (!isStarted()) {
      throw new LeaseUnavailableException("the lease service is starting", null);
    }
    return started.join();
  }

  /** How it is; never waits. */
  public Health health(String store) {
    if (!isStarted()) {
      return Health.starting(store);
    }
    ServiceInstance service = started.join();
    return new Health(OptionalLong.of(service.number()), store, service.obstacle());
  }

  /** Which instance has taken over for good, in words; empty if none has. */
  public Optional<String> supersededBy() {
    return isStarted() ? started.join().supersededBy() : Optional.empty();
  }

  /** What the service says about itself; waited for, since there is no answer without it. */
  public ServiceInfo info() {
    return started.join().info();
  }

  /** The service's maintenance, if it is there; and whether those can be reached that it needs. */
  public void maintain() {
    if (isStarted()) {
      started.join().probe();
      started.join().maintain();
    }
  }

  /**
   * Ends the service for good, and leaves last words to the next one (rule L19). Calls that were
   * cut off get a moment to end, since what they do is to be known.
   *
   * @return why the next one may have to wait, for a person; empty if it need not, or as always
   *     where the leases are not in this process's memory
   */
  Optional<String> end(TimeSource time) throws InterruptedException {
    if (!isStarted()) {
      return Optional.empty();
    }
    ServiceInstance service = started.join();
    long from = time.monotonicNanos();
    while (!service.end()) {
      if (time.monotonicNanos() - from > END_NANOS) {
        return Optional.of("requests that were cut off go on");
      }
      time.sleepNanos(END_NANOS / 100);
    }
    try {
      // A store that hangs keeps no server from its end.
      boolean unused = service.leaveLastWords().get(LEAVE_SECONDS, TimeUnit.SECONDS);
      return Optional.empty();
    } catch (ExecutionException e) {
      return Optional.of(String.valueOf(Objects.requireNonNull(e.getCause()).getMessage()));
    } catch (TimeoutException e) {
      return Optional.of("the store does not answer");
    }
  }

  @Override
  public boolean hears() {
    return isStarted() && started.join().hears();
  }

  @Override
  public ServiceCounts counts() {
    return isStarted() ? started.join().counts() : ServiceCounts.NONE;
  }

  @Override
  public List<Outcome> carryOut(List<Operation> operations) throws LeaseUnavailableException {
    return service().carryOut(operations);
  }

  @Override
  public boolean waits() {
    return isStarted() ? started.join().waits() : true;
  }

  @Override
  public List<CompletableFuture<List<Outcome>>> begin(List<List<Operation>> requests) {
    return started.join().begin(requests);
  }

  @Override
  public boolean listen(ChangeListener listener) {
    var unused =
        started.thenAccept(
            service -> {
              boolean told = service.listen(listener);
              assert told;
            });
    return true;
  }

  @Override
  public Optional<LeaseInfo> show(LeaseName name) throws LeaseUnavailableException {
    return service().show(name);
  }

  @Override
  public List<LeaseInfo> list(String prefix, Optional<LeaseName> after, int limit)
      throws LeaseUnavailableException {
    return service().list(prefix, after, limit);
  }

  @Override
  public ShardServers shards() throws LeaseUnavailableException {
    try {
      return store == null ? ShardServers.ALONE : StoreShards.look(store).servers();
    } catch (IOException e) {
      throw new LeaseUnavailableException("the store does not tell: " + e.getMessage(), e);
    }
  }

  @Override
  public long now() throws LeaseUnavailableException {
    return service().now();
  }
}
