package dev.cinch.lease.http;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.AcquireRequest;
import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseInfo;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseNotSentException;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LeaseService;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Outcome;
import dev.cinch.lease.ResumeRequest;
import dev.cinch.lease.RevokeRequest;
import dev.cinch.lease.Revoked;
import dev.cinch.lease.ServiceInfo;
import dev.cinch.lease.ShardServers;
import dev.cinch.lease.time.SystemTime;
import dev.cinch.lease.time.TimeSource;
import java.net.URI;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.function.Predicate;

/**
 * The lease servers of one store, of which one address is known (rule L16): asks each for the names
 * that it has. Where the others are it asks once a server has refused, so that one server alone is
 * asked as by {@link HttpLeaseClient}. Thread-safe.
 *
 * <p>Renewals and releases go to the instance that they name (rule L12). Where that has been
 * replaced they are refused as {@code OTHER_INSTANCE}, and a holder resumes its leases: a resume
 * goes to the server that has the name now. All names of one request are of one shard.
 */
@CheckReturnValue
public final class ShardRouter implements LeaseService {
  /** How long to wait for the server of a shard that has not started, milliseconds. */
  private static final long RETRY_MS = 200;

  /** How often a call follows servers that have moved. */
  private static final int ATTEMPTS = 3;

  private final KnownServers servers;

  /**
   * @param given where any server is, or several that are equal
   * @param clients makes the client of a server
   */
  public ShardRouter(
      ServerAddresses given, Function<ServerAddresses, HttpLeaseClient> clients, TimeSource time) {
    this.servers = new KnownServers(given, clients, time);
  }

  /**
   * With clients that have the usual settings; connects to nothing yet.
   *
   * @throws IllegalArgumentException if that is no address
   */
  public static ShardRouter of(URI address) {
    return of(ServerAddresses.of(address));
  }

  /** The same, of equal servers. */
  public static ShardRouter of(ServerAddresses given) {
    return new ShardRouter(given, a -> HttpLeaseClient.builder(a).build(), SystemTime.INSTANCE);
  }

  private interface Call<T> {
    T on(HttpLeaseClient client) throws LeaseRefusedException, LeaseUnavailableException;
  }

  /** Asks the server that has a name. */
  private <T> T call(LeaseName name, Call<T> call)
      throws LeaseRefusedException, LeaseUnavailableException {
    for (int attempt = 1; ; attempt++) {
      ShardServers by = servers.now();
      try {
        return call.on(servers.of(name, by).orElseThrow(() -> notStarted(name, by)));
      } catch (LeaseRefusedException e) {
        boolean elsewhere = isElsewhere(e) || servers.of(name, by).isEmpty();
        if (!elsewhere || attempt == ATTEMPTS || !servers.learn(by)) {
          throw e;
        }
      } catch (LeaseUnavailableException e) {
        boolean unused = servers.learn(by); // for the next call: this one may have been carried out
        throw e;
      }
    }
  }

  private static LeaseRefusedException notStarted(LeaseName name, ShardServers by) {
    return new LeaseRefusedException(
        Reason.NOT_YET,
        "no server has started for shard %d of %s, which has %s"
            .formatted(by.map().shardOf(name), by.map().inWords(), name),
        RETRY_MS);
  }

  /**
   * Asks the instance that a report names; where it names none, each server whether it knows the
   * grant.
   */
  private <T> T call(LeaseReport report, Call<T> call)
      throws LeaseRefusedException, LeaseUnavailableException {
    return call(report, ShardRouter::isElsewhere, call);
  }

  private <T> T call(LeaseReport report, Predicate<LeaseRefusedException> elsewhere, Call<T> call)
      throws LeaseRefusedException, LeaseUnavailableException {
    for (int attempt = 1; ; attempt++) {
      ShardServers by = servers.now();
      try {
        return first(
            servers.instance(report.instance()).map(List::of).orElseGet(() -> servers.all(by)),
            elsewhere,
            call);
      } catch (LeaseRefusedException e) {
        if (!elsewhere.test(e)) {
          if (e.reason() == Reason.SUPERSEDED) {
            boolean unused = servers.learn(by); // for whoever resumes
          }
          throw e;
        }
        if (attempt == ATTEMPTS || !servers.learn(by)) {
          throw nowhere(report.instance(), e);
        }
      } catch (LeaseUnavailableException e) {
        boolean unused = servers.learn(by);
        throw e;
      }
    }
  }

  /** What to say where no server knows a grant. */
  private LeaseRefusedException nowhere(OptionalLong instance, LeaseRefusedException last) {
    if (last.reason() == Reason.SUPERSEDED && !servers.isReplaced(instance)) {
      return last; // who has taken over is not known yet
    }
    Reason reason = instance.isPresent() ? Reason.OTHER_INSTANCE : Reason.NOT_HELD;
    return new LeaseRefusedException(reason, String.valueOf(last.getMessage()), 0);
  }

  /** The answer of the first one that does not say that it is elsewhere. */
  private static <T> T first(
      List<HttpLeaseClient> asked, Predicate<LeaseRefusedException> isElsewhere, Call<T> call)
      throws LeaseRefusedException, LeaseUnavailableException {
    LeaseRefusedException elsewhere = null;
    LeaseUnavailableException silent = null;
    for (HttpLeaseClient client : asked) {
      try {
        return call.on(client);
      } catch (LeaseRefusedException e) {
        if (!isElsewhere.test(e)) {
          throw e;
        }
        elsewhere = e;
      } catch (LeaseUnavailableException e) {
        if (silent == null || silent instanceof LeaseNotSentException) {
          silent = e; // it may be the one
        }
      }
    }
    if (silent != null) {
      throw silent;
    }
    throw Objects.requireNonNull(elsewhere);
  }

  private static boolean isElsewhere(LeaseRefusedException e) {
    return e.reason() == Reason.OTHER_SHARD || e.reason() == Reason.SUPERSEDED;
  }

  @Override
  public Grant acquire(AcquireRequest request)
      throws LeaseRefusedException, LeaseUnavailableException {
    return call(request.names().get(0), client -> client.acquire(request));
  }

  @Override
  public Grant acquire(AcquireRequest request, long waitMs)
      throws LeaseRefusedException, LeaseUnavailableException {
    return call(request.names().get(0), client -> client.acquire(request, waitMs));
  }

  @Override
  public Grant resume(ResumeRequest request)
      throws LeaseRefusedException, LeaseUnavailableException {
    return call(request.witnesses().get(0).witness().name(), client -> client.resume(request));
  }

  @Override
  public Grant renew(Id id, long durationMs, LogSet addLogs, LeaseReport report)
      throws LeaseRefusedException, LeaseUnavailableException {
    try {
      Grant grant = call(report, client -> client.renew(id, durationMs, addLogs, report));
      servers.learnOthers(); // a holder may outlive the only server whose address was given
      return grant;
    } catch (LeaseUnavailableException e) {
      if (servers.isReplaced(report.instance())) {
        throw new LeaseRefusedException(
            Reason.OTHER_INSTANCE,
            "instance %d has ended, and another one has the leases' names: resume them"
                .formatted(report.instance().getAsLong()),
            0);
      }
      throw e;
    }
  }

  @Override
  public Grant upgrade(Id id, long durationMs)
      throws LeaseRefusedException, LeaseUnavailableException {
    return call(LeaseReport.NOTHING, client -> client.upgrade(id, durationMs));
  }

  /**
   * {@inheritDoc}
   *
   * <p>That the instance which the report names was superseded is its last word: it has not
   * released the leases (rule L13). No other server's answer takes its place.
   */
  @Override
  public void release(Id id, LeaseReport report)
      throws LeaseRefusedException, LeaseUnavailableException {
    release(
        report,
        client -> {
          client.release(id, report);
          return Outcome.RELEASED;
        });
  }

  @Override
  public void releaseHere(Id id, LeaseReport report)
      throws LeaseRefusedException, LeaseUnavailableException {
    release(
        report,
        client -> {
          client.releaseHere(id, report);
          return Outcome.RELEASED;
        });
  }

  private void release(LeaseReport report, Call<Outcome> call)
      throws LeaseRefusedException, LeaseUnavailableException {
    Outcome unused =
        call(
            report,
            e ->
                e.reason() == Reason.OTHER_SHARD
                    || (e.reason() == Reason.SUPERSEDED && report.instance().isEmpty()),
            call);
  }

  @Override
  public long moves() {
    return servers.moves();
  }

  @Override
  public Revoked revoke(RevokeRequest request)
      throws LeaseRefusedException, LeaseUnavailableException {
    return call(request.name(), client -> client.revoke(request));
  }

  /**
   * {@inheritDoc}
   *
   * <p>One request for each server; what it finds to be elsewhere is then asked for alone.
   */
  @Override
  public List<Outcome> carryOut(List<Operation> operations) throws LeaseUnavailableException {
    ShardServers by = servers.now();
    var parts = new LinkedHashMap<HttpLeaseClient, List<Integer>>();
    for (int i = 0; i < operations.size(); i++) {
      HttpLeaseClient client = target(operations.get(i), by).orElse(servers.home());
      parts.computeIfAbsent(client, unused -> new ArrayList<>()).add(i);
    }
    var outcomes = new Outcome[operations.size()];
    for (Map.Entry<HttpLeaseClient, List<Integer>> part : parts.entrySet()) {
      List<Integer> places = part.getValue();
      List<Outcome> told = part.getKey().carryOut(places.stream().map(operations::get).toList());
      for (int i = 0; i < places.size(); i++) {
        boolean elsewhere =
            told.get(i) instanceof Outcome.Refused refused && isElsewhere(refused.refusal());
        int place = places.get(i);
        outcomes[place] = elsewhere ? alone(operations.get(place)) : told.get(i);
      }
    }
    return List.of(outcomes);
  }

  private Outcome alone(Operation operation) throws LeaseUnavailableException {
    try {
      return operation.on(this);
    } catch (LeaseRefusedException e) {
      return new Outcome.Refused(e);
    }
  }

  /** Whom to ask for an operation; empty if that is not known. */
  private Optional<HttpLeaseClient> target(Operation operation, ShardServers by) {
    if (operation instanceof Operation.Acquire acquire) {
      return servers.of(acquire.request().names().get(0), by);
    } else if (operation instanceof Operation.Resume resume) {
      return servers.of(resume.request().witnesses().get(0).witness().name(), by);
    } else if (operation instanceof Operation.Renew renew) {
      return servers.instance(renew.report().instance());
    } else if (operation instanceof Operation.Release release) {
      return servers.instance(release.report().instance());
    }
    return Optional.empty();
  }

  @Override
  public Optional<LeaseInfo> show(LeaseName name) throws LeaseUnavailableException {
    ShardServers by = servers.learnt();
    try {
      return server(name, by).show(name);
    } catch (LeaseUnavailableException e) {
      boolean unused = servers.learn(by);
      throw e;
    }
  }

  private HttpLeaseClient server(LeaseName name, ShardServers by) {
    return servers.of(name, by).orElse(servers.home());
  }

  /**
   * The server that has a name, for several questions to the same one; the one at the given address
   * where none is known to have it. Asks where it is if nobody has.
   */
  public HttpLeaseClient server(LeaseName name) {
    return server(name, servers.learnt());
  }

  /** {@inheritDoc} If a server does not answer, that is an error: its names would be missing. */
  @Override
  public List<LeaseInfo> list(String prefix, Optional<LeaseName> after, int limit)
      throws LeaseUnavailableException {
    var found = new TreeMap<LeaseName, LeaseInfo>();
    Optional<LeaseName> through = Optional.empty();
    for (HttpLeaseClient client : servers.all(servers.learnt())) {
      List<LeaseInfo> page = client.list(prefix, after, limit);
      page.forEach(info -> found.put(info.witness().name(), info));
      if (!page.isEmpty()) {
        // What is above the end of the shortest page may be missing in that one.
        LeaseName last = page.get(page.size() - 1).witness().name();
        through = through.filter(t -> t.compareTo(last) < 0).or(() -> Optional.of(last));
      }
    }
    return through.isEmpty()
        ? List.of()
        : found.headMap(through.get(), true).values().stream().limit(limit).toList();
  }

  @Override
  public long now() throws LeaseUnavailableException {
    return servers.home().now();
  }

  /** As last answered; asks if nobody has. */
  @Override
  public ShardServers shards() {
    return servers.learnt();
  }

  /**
   * The numbers of the instances that have the shards now: for whoever knows nothing of a grant but
   * its id, which one of them may have.
   */
  public List<Long> instances() throws LeaseUnavailableException {
    boolean unused = servers.learn(servers.now());
    List<Long> numbers =
        servers.now().servers().stream().map(ShardServers.Server::instance).toList();
    return numbers.isEmpty() ? List.of(info().instance()) : numbers;
  }

  /**
   * Watches leases, as {@link HttpLeaseClient#watch}: one watch for each server, each of which
   * tells of the names that its server has. They end when another map takes over.
   *
   * @throws LeaseUnavailableException if one of the servers does not answer; no watch is left open
   */
  public List<LeaseWatch> watch(List<LeaseName> names, List<String> prefixes)
      throws LeaseUnavailableException {
    return watch(names, prefixes, "");
  }

  /**
   * Likewise, and goes on where earlier watches of the same leases ended.
   *
   * @param since the {@link LeaseWatch#lastId} of each, with commas between; empty to begin
   */
  public List<LeaseWatch> watch(List<LeaseName> names, List<String> prefixes, String since)
      throws LeaseUnavailableException {
    var watches = new ArrayList<LeaseWatch>();
    boolean all = false;
    try {
      for (HttpLeaseClient client : servers.all(servers.learnt())) {
        watches.add(client.watch(names, prefixes, since));
      }
      all = true;
    } finally {
      if (!all) {
        watches.forEach(LeaseWatch::close);
      }
    }
    return List.copyOf(watches);
  }

  /** What the service at the given address says about itself. */
  public ServiceInfo info() throws LeaseUnavailableException {
    return servers.home().info();
  }

  /** Whether the service at the given address is there, and which instance it is. */
  public Health health() throws LeaseUnavailableException {
    return servers.home().health();
  }
}
