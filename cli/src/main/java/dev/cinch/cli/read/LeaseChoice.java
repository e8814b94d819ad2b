package dev.cinch.cli.read;

import dev.cinch.bag.Store;
import dev.cinch.bag.model.Message;
import dev.cinch.bag.registry.StoreInstances;
import dev.cinch.cli.base.Failure;
import dev.cinch.cli.base.Misuse;
import dev.cinch.cli.base.ServerOptions;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseInfo;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.Witness;
import dev.cinch.lease.client.HttpLeaseClient;
import dev.cinch.lease.client.ShardRouter;
import java.io.IOException;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Only the messages of one lease name, or of its last lease, and where these can be. */
@SuppressWarnings("NullAway.Init") // picocli sets the fields
final class LeaseChoice {

  @Option(
      names = "--lease",
      paramLabel = "LEASE",
      description = "Only what was written under a lease of this name, as far as it permits that.")
  @Nullable LeaseName name;

  @Option(
      names = "--last-lease",
      description =
          "Only what was written under the last lease of that name, which may be held: nothing"
              + " earlier is read. Needs the lease service.")
  boolean last;

  @Mixin ServerOptions server;

  /**
   * Which messages.
   *
   * @param from no message of them is before this; nanoseconds since the Unix epoch
   * @param name of their lease; empty for all messages
   * @param correlation of their lease; empty for all of the name
   */
  record Chosen(long from, Optional<LeaseName> name, Optional<Id> correlation) {
    static final Chosen ALL = new Chosen(Long.MIN_VALUE, Optional.empty(), Optional.empty());

    boolean has(Message message) {
      return name.isEmpty()
          || message.permitted() && message.leases().stream().anyMatch(s -> isOf(s.witness()));
    }

    private boolean isOf(Witness w) {
      return w.name().equals(name.orElseThrow())
          && correlation.map(c -> c.equals(w.correlation())).orElse(true);
    }
  }

  /** Refuses what makes no sense together. */
  void check(boolean tail) {
    if (last && (name == null || !server.isGiven())) {
      throw new Misuse("--last-lease needs --lease and a lease service: --server URL");
    }
    if (name != null && tail) {
      throw new Misuse("--tail counts messages of all leases; leave it or --lease out");
    }
  }

  /**
   * Asks the lease service where that can narrow the read.
   *
   * @throws Failure.Refusal if the last lease is asked for, and can't be known
   */
  Chosen chosen(Store store) throws IOException, LeaseUnavailableException {
    if (name == null || !last) {
      return new Chosen(Long.MIN_VALUE, Optional.ofNullable(name), Optional.empty());
    }
    Witness w =
        known(name, store)
            .orElseThrow(
                () ->
                    new Failure.Refusal(
                        "the store's lease service knows no lease on "
                            + name
                            + "; without --last-lease all that was written under it is read"))
            .witness();
    // Not by where its holder said that messages stand: that is never all (rule L7).
    long bound = w.lowerBound();
    long from = bound == Long.MAX_VALUE ? bound : bound + 1;
    return new Chosen(from, Optional.of(name), Optional.of(w.correlation()));
  }

  /**
   * The last lease of the name, as far as the answer may be relied on: by the latest instance of
   * this store's service that has the name (rules L7, L16). Another one may know nothing of a later
   * lease.
   */
  private Optional<LeaseInfo> known(LeaseName of, Store store)
      throws IOException, LeaseUnavailableException {
    // Both from the same server: where one of a shard was, another store's may be by now.
    HttpLeaseClient client = ShardRouter.of(server.required(), server.credentials.get()).server(of);
    String served = client.health().store();
    String id = store.context().identity().id().toString();
    if (!served.equals(id)) {
      throw new Failure.Refusal(
          "the lease server of %s serves %s, and %s is store %s; ask that one's"
              .formatted(
                  of,
                  served.isEmpty() ? "no store" : "another store, " + served,
                  store.context().layout().root(),
                  id));
    }
    Optional<LeaseInfo> info = client.show(of);
    // Only now: a later instance that took its number meanwhile is listed, or had granted nothing.
    long latest = StoreInstances.latest(store.context(), of).map(i -> i.number()).orElse(0L);
    return info.filter(i -> i.witness().instance() == latest);
  }
}
