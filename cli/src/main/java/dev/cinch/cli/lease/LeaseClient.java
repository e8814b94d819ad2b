package dev.cinch.cli.lease;

import dev.cinch.bag.Store;
import dev.cinch.cli.base.Failure;
import dev.cinch.cli.base.Misuse;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseService;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.ServiceInfo;
import dev.cinch.lease.client.Credentials;
import dev.cinch.lease.client.ServerAddresses;
import dev.cinch.lease.client.ShardRouter;
import dev.cinch.lease.time.Waits;
import dev.cinch.lease.wire.LeaseDetail;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/** The lease servers that a command asks. */
public final class LeaseClient {
  private final ShardRouter servers;

  /** Connects to nothing yet. */
  public LeaseClient(ServerAddresses servers, Credentials credentials) {
    this.servers = ShardRouter.of(servers, credentials);
  }

  /**
   * Checks what a command line names.
   *
   * @throws Misuse if a lease is there twice: one of the two is most likely another's name
   */
  public static void checkNames(List<LeaseName> names) {
    for (int i = 1; i < names.size(); i++) {
      if (names.subList(0, i).contains(names.get(i))) {
        throw new Misuse("lease " + names.get(i) + " is named twice");
      }
    }
  }

  public LeaseService service() {
    return servers;
  }

  /**
   * How long leases last if nobody says: so long, unless they may not last as long.
   *
   * @throws LeaseUnavailableException if nobody says how long they may last
   */
  public Duration usual(Duration most) throws LeaseUnavailableException {
    return Duration.ofMillis(Math.min(most.toMillis(), servers.info().longestLeaseMs()));
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

  /** What is known about a name, and who waits for it. */
  Optional<LeaseDetail> detail(LeaseName name) throws LeaseUnavailableException {
    return servers.detail(name);
  }

  /**
   * What to say of a name of which nothing is known: somebody may have it from before the service
   * was started, and then it is refused.
   *
   * @param free what follows from it where nobody can
   */
  Failure.Refusal unknown(LeaseName name, String free) throws LeaseUnavailableException {
    ServiceInfo info = servers.info();
    long left = TimeUnit.MILLISECONDS.toNanos(info.quarantineLeftMs());
    String then =
        left == 0
            ? free
            : ": it was started anew and grants again " + Waits.inWords(left, info.now());
    return new Failure.Refusal("the service knows nothing of " + name + then);
  }

  /** What is known about names, as {@link LeaseService#list}. */
  List<LeaseDetail> details(String prefix, Optional<LeaseName> after, int limit)
      throws LeaseUnavailableException {
    return servers.details(prefix, after, limit);
  }

  /** What time it is, to say how long ago something was. */
  long now() throws LeaseUnavailableException {
    return servers.now();
  }

  /** The instances that may have a grant of which only the id is known. */
  public List<Long> instances() throws LeaseUnavailableException {
    return servers.instances();
  }
}
