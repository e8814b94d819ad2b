package dev.cinch.lease.client;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.ShardServers;
import dev.cinch.lease.time.TimeSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;

/**
 * The lease servers of a store as far as a client knows them: at first one address, then what
 * servers answer (rule L16). Thread-safe.
 */
@CheckReturnValue
final class KnownServers {
  /** How soon it is asked again where the servers are, nanoseconds. */
  private static final long LEARN_EVERY = 200_000_000L;

  private final HttpLeaseClient home;
  private final ServerAddresses given;
  private final Function<ServerAddresses, HttpLeaseClient> clients;
  private final TimeSource time;
  private final Map<String, HttpLeaseClient> byAddress = new ConcurrentHashMap<>();

  /** Those that were ever heard of: one that was superseded may still renew for a while. */
  private final Map<Long, HttpLeaseClient> byInstance = new ConcurrentHashMap<>();

  /** As last answered; {@link ShardServers#ALONE} until somebody was asked. */
  private volatile ShardServers now = ShardServers.ALONE;

  private volatile boolean asked;
  private final AtomicBoolean othersAsked = new AtomicBoolean();
  private final Object learning = new Object();
  private long askedAt;

  /**
   * @param given of one server, or of several that are equal
   */
  KnownServers(
      ServerAddresses given, Function<ServerAddresses, HttpLeaseClient> clients, TimeSource time) {
    this.home = clients.apply(given);
    this.given = given;
    this.clients = clients;
    this.time = time;
  }

  /** Whose addresses were given. */
  HttpLeaseClient home() {
    return home;
  }

  /** What is known. */
  ShardServers now() {
    return now;
  }

  /** The same, after asking if nobody has. */
  ShardServers learnt() {
    if (!asked) {
      boolean unused = learn(now);
    }
    return now;
  }

  /** The server that has a name; empty if it is not known to have started. */
  Optional<HttpLeaseClient> of(LeaseName name, ShardServers by) {
    Optional<HttpLeaseClient> client = by.of(name).flatMap(this::client);
    return client.isEmpty() && by.map().count() == 1 ? Optional.of(home) : client;
  }

  /** The server that is or was an instance; empty if none is named, or it was never heard of. */
  Optional<HttpLeaseClient> instance(OptionalLong number) {
    return number.isEmpty()
        ? Optional.empty()
        : Optional.ofNullable(byInstance.get(number.getAsLong()));
  }

  /** Whether an instance was heard of, and has been replaced since. */
  boolean isReplaced(OptionalLong number) {
    return instance(number).isPresent() && now.instance(number.getAsLong()).isEmpty();
  }

  /** One for each shard whose server is known; not empty. */
  List<HttpLeaseClient> all(ShardServers by) {
    var all = new ArrayList<HttpLeaseClient>();
    for (ShardServers.Server server : by.servers()) {
      client(server).ifPresent(all::add);
    }
    return all.isEmpty() ? List.of(home) : all;
  }

  private Optional<HttpLeaseClient> client(ShardServers.Server server) {
    if (server.address().isEmpty()) {
      return Optional.empty();
    }
    try {
      return Optional.of(
          byAddress.computeIfAbsent(server.address(), a -> client(ServerAddresses.parse(a))));
    } catch (IllegalArgumentException e) {
      return Optional.empty(); // it is but a hint
    }
  }

  /**
   * Of the same servers there is one, which stays with the one of them that works. Of more servers
   * it begins with that one: only there a grant is known that was not resumed elsewhere.
   */
  private HttpLeaseClient client(ServerAddresses addresses) {
    return addresses.sameAs(given) ? home : clients.apply(addresses.from(home.first()));
  }

  /**
   * Has a holder that was given the address of one server know those that are equal to it, before
   * that one is gone: asks it once. Another list is not gone by, since nobody needs it yet.
   */
  void learnOthers() {
    if (asked || !othersAsked.compareAndSet(false, true)) {
      return;
    }
    try {
      ShardServers answer = home.shards();
      if (answer.servers().size() == 1
          && ServerAddresses.parse(answer.servers().get(0).address()).addsTo(home.first())) {
        synchronized (learning) {
          learned(answer);
        }
      }
    } catch (LeaseUnavailableException | IllegalArgumentException e) {
      // It has renewed a lease; where others are can be asked for when it does not.
    }
  }

  /**
   * Asks where the servers are, unless somebody has meanwhile.
   *
   * @param before what the caller went by
   * @return whether that is no longer so
   */
  boolean learn(ShardServers before) {
    synchronized (learning) {
      boolean soon = asked && time.monotonicNanos() - askedAt < LEARN_EVERY;
      if (now.equals(before) && !soon) {
        ask(before);
        asked = true;
        askedAt = time.monotonicNanos();
      }
      return !now.equals(before);
    }
  }

  /** Each looks in the store, so one answer is enough. */
  private void ask(ShardServers by) {
    var informants = new ArrayList<>(all(by));
    if (!informants.contains(home)) {
      informants.add(home);
    }
    for (HttpLeaseClient client : informants) {
      try {
        learned(client.shards());
        return;
      } catch (LeaseUnavailableException e) {
        // another one may know
      }
    }
  }

  /**
   * Takes an answer, but for one of a server that sees less of the store than another did. By one
   * thread at a time.
   */
  void learned(ShardServers answer) {
    if (answer.map().number() >= now.map().number()) {
      now = answer; // before its instances are known, or one that has just come would seem replaced
    }
    for (ShardServers.Server server : answer.servers()) {
      client(server).ifPresent(client -> byInstance.put(server.instance(), client));
    }
  }
}
