package dev.cinch.cli.serve;

import dev.cinch.bag.model.MachineName;
import dev.cinch.bag.registry.InstanceFile;
import dev.cinch.bag.registry.StoreInstances;
import dev.cinch.bag.registry.StoreShards;
import dev.cinch.bag.store.StoreContext;
import dev.cinch.cli.base.Failure;
import dev.cinch.lease.HostPort;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.OneLine;
import dev.cinch.lease.Shard;
import dev.cinch.lease.client.Credentials;
import dev.cinch.lease.client.HttpLeaseClient;
import dev.cinch.lease.client.ServerAddresses;
import dev.cinch.lease.wire.Health;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.URI;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.Optional;
import javax.net.ssl.SSLException;

/**
 * The instance of a store's lease service that took the last number, and whether it still runs: it
 * is asked at the address that it left. Nothing but manners depends on the answer; what makes two
 * instances harmless is rule L3.
 */
public final class EarlierInstance {
  /** How long to wait for a connection, and for an answer, each of two times. */
  private static final Duration PATIENCE = Duration.ofSeconds(1);

  private static final int LONGEST = 200;

  private final StoreContext store;
  private final Shard shard;
  private final MachineName machine;

  private final Credentials credentials;

  /**
   * @param shard to be served
   * @param machine this one
   * @param credentials shown to the earlier one
   */
  public EarlierInstance(
      StoreContext store, Shard shard, MachineName machine, Credentials credentials) {
    this.credentials = credentials;
    this.store = store;
    this.shard = shard;
    this.machine = machine;
  }

  /**
   * Asks it.
   *
   * @return what is to be said about one that did not answer and may run all the same; empty if
   *     there is none, or it surely does not run
   * @throws Failure.Refusal if it runs
   */
  public Optional<String> requireGone() throws IOException {
    Optional<StoreShards.Instance> latest = StoreInstances.latest(store, shard);
    if (latest.isEmpty() || latest.get().where().isEmpty()) {
      return Optional.empty();
    }
    StoreShards.Instance earlier = latest.get();
    InstanceFile where = earlier.where().get();
    Optional<String> objection = Optional.empty();
    try {
      for (URI address : ServerAddresses.parse(where.address()).all()) {
        Optional<String> here = asked(earlier, address, where);
        objection = objection.isPresent() ? objection : here;
      }
    } catch (IllegalArgumentException e) {
      return Optional.of(
          earlier.inWords()
              + " left an address where it can't be asked ("
              + OneLine.of("" + e.getMessage(), LONGEST)
              + "): starting in its place");
    }
    return objection.map(why -> earlier.inWords() + " " + why + ": starting in its place");
  }

  private Optional<String> asked(StoreShards.Instance earlier, URI address, InstanceFile where)
      throws IOException {
    boolean here = where.machine().equals(machine.value());
    if (!here && isLoopback(address)) {
      return Optional.of("can be asked only there");
    }
    HttpLeaseClient client =
        HttpLeaseClient.builder(address)
            .credentials(credentials)
            .connectTimeout(PATIENCE)
            .requestTimeout(PATIENCE)
            .build();
    try {
      Health health = client.health();
      boolean same =
          health.instance().isPresent()
              && health.instance().getAsLong() == earlier.number()
              && health.store().equals(store.identity().id().toString());
      if (same) {
        throw new Failure.Refusal(
            earlier.inWords()
                + " serves this store already: end it first, or start in its place with --replace");
      }
      return Optional.empty(); // another service has that address by now
    } catch (LeaseUnavailableException e) {
      if (isDistrust(e)) {
        throw new Failure.Refusal(
            earlier.inWords()
                + " can't be asked whether it serves this store still ("
                + e.getMessage()
                + "): name who signed its certificate with --ca, or start in its place with"
                + " --replace");
      }
      return here && e.getCause() instanceof ConnectException && isThisMachine(address)
          ? Optional.empty() // the port is closed: nobody listens there
          : Optional.of("does not answer");
    }
  }

  /** Somebody is there, who speaks TLS, and one of both does not trust the other. */
  private static boolean isDistrust(Throwable e) {
    for (Throwable cause = e; cause != null; cause = cause.getCause()) {
      if (cause instanceof SSLException) {
        return true;
      }
    }
    return false;
  }

  private static boolean isLoopback(URI address) {
    return HostPort.of(address).filter(HostPort::isLoopback).isPresent();
  }

  private static boolean isThisMachine(URI address) {
    try {
      String host = HostPort.of(address).map(HostPort::host).orElse("");
      return isLoopback(address)
          || NetworkInterface.getByInetAddress(InetAddress.getByName(host)) != null;
    } catch (UnknownHostException | java.net.SocketException e) {
      return false;
    }
  }
}
