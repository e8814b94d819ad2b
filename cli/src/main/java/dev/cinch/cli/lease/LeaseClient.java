package dev.cinch.cli.lease;

import dev.cinch.bag.Store;
import dev.cinch.bag.registry.StoreInstances;
import dev.cinch.cli.base.Failure;
import dev.cinch.cli.serve.ServeBackend;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseService;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.ServiceInfo;
import dev.cinch.lease.cell.net.CellFile;
import dev.cinch.lease.direct.DirectLeases;
import dev.cinch.lease.http.Credentials;
import dev.cinch.lease.http.LeaseDetail;
import dev.cinch.lease.http.ServerAddresses;
import dev.cinch.lease.http.ShardRouter;
import dev.cinch.lease.time.TimeSource;
import dev.cinch.lease.time.Waits;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Whom a command asks for leases: servers, or the nodes of a cell. */
public final class LeaseClient implements AutoCloseable {
  private final @Nullable ShardRouter servers;
  private final @Nullable DirectLeases cell;

  /** Of the cell, milliseconds. */
  private final long longestMs;

  private LeaseClient(@Nullable ShardRouter servers, @Nullable DirectLeases cell, long longestMs) {
    this.servers = servers;
    this.cell = cell;
    this.longestMs = longestMs;
  }

  /** A client of servers; connects to nothing yet. */
  static LeaseClient of(ServerAddresses servers, Credentials credentials) {
    return new LeaseClient(ShardRouter.of(servers, credentials), null, 0);
  }

  /**
   * A client of either; of servers it connects to nothing yet.
   *
   * @param credentials shown to servers
   * @param store that the command works with; a cell needs one
   */
  public static LeaseClient open(
      LeasePlace place, Credentials credentials, @Nullable Store store, TimeSource time)
      throws IOException {
    if (place.cell() == null) {
      return of(Objects.requireNonNull(place.servers()), credentials);
    }
    if (store == null) {
      throw new Failure.Refusal(
          "--cell needs the store that the cell serves: --store DIR, or CINCH_STORE");
    }
    CellFile file = CellFile.read(place.cell(), store.context().identity().id());
    long longestMs =
        Math.min(
            store.settings().longestLeaseMs(),
            TimeUnit.NANOSECONDS.toMillis(file.algorithm().longest()));
    long apartMs = ServeBackend.apartMs(store);
    StoreInstances registry =
        StoreInstances.ofCellClient(store.context(), file.instance())
            .clockWithin(file.algorithm().clockWithin());
    return new LeaseClient(
        null, DirectLeases.open(file, registry, longestMs, apartMs, time), longestMs);
  }

  public LeaseService service() {
    return servers == null ? Objects.requireNonNull(cell) : servers;
  }

  /**
   * How long leases last if nobody says: so long, unless they may not last as long.
   *
   * @throws LeaseUnavailableException if nobody says how long they may last
   */
  public Duration usual(Duration most) throws LeaseUnavailableException {
    long longest = servers == null ? longestMs : servers.info().longestLeaseMs();
    return Duration.ofMillis(Math.min(most.toMillis(), longest));
  }

  /** The same as far as a store says. */
  public static Duration usual(Duration most, Store store) {
    long longest = store.settings().longestLeaseMs();
    return Duration.ofMillis(Math.min(enough(most, store).toMillis(), longest));
  }

  /** So long, or longer where the store fences nothing in so short a time. */
  static Duration enough(Duration usual, Store store) {
    return Duration.ofMillis(Math.max(usual.toMillis(), 2 * store.settings().leaseAboveMs()));
  }

  /** What is known about a name; a cell does not say who waits. */
  Optional<LeaseDetail> detail(LeaseName name) throws LeaseUnavailableException {
    return servers == null ? service().show(name).map(LeaseDetail::of) : servers.detail(name);
  }

  /**
   * What to say of a name of which nothing is known: somebody may have it from before the service
   * was started, and then it is refused.
   *
   * @param free what follows from it where nobody can
   */
  Failure.Refusal unknown(LeaseName name, String free) throws LeaseUnavailableException {
    String then = free;
    if (servers != null) {
      ServiceInfo info = servers.info();
      long left = TimeUnit.MILLISECONDS.toNanos(info.quarantineLeftMs());
      then =
          left == 0
              ? free
              : ": it was started anew and grants again " + Waits.inWords(left, info.now());
    }
    return new Failure.Refusal("the service knows nothing of " + name + then);
  }

  /** What is known about names, as {@link LeaseService#list}; of servers alone. */
  List<LeaseDetail> details(String prefix, Optional<LeaseName> after, int limit)
      throws LeaseUnavailableException {
    return Objects.requireNonNull(servers).details(prefix, after, limit);
  }

  /** What time it is, to say how long ago something was; of a cell by this machine's clock. */
  long now() throws LeaseUnavailableException {
    return cell == null ? service().now() : cell.clock();
  }

  /** The instances that may have a grant of which only the id is known. */
  public List<Long> instances() throws LeaseUnavailableException {
    return servers == null ? List.of(Objects.requireNonNull(cell).instance()) : servers.instances();
  }

  /**
   * Takes note of a grant of another process: servers know it by its id.
   *
   * @throws Failure.Refusal if a cell is asked and the names of its leases are not known
   */
  public void share(Id id, List<LeaseName> names) throws Failure.Refusal {
    if (cell == null) {
      return;
    }
    if (names.isEmpty()) {
      throw new Failure.Refusal(
          "nodes of a cell know leases by their names: name all that cinch lease acquire printed"
              + " with --grant-file");
    }
    cell.share(id, names);
  }

  @Override
  public void close() throws IOException {
    if (cell != null) {
      cell.close();
    }
  }
}
