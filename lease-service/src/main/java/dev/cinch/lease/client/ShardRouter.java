package dev.cinch.lease.client;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.LeaseInfo;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.LeaseService;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Outcome;
import dev.cinch.lease.ServiceInfo;
import dev.cinch.lease.ShardServers;
import dev.cinch.lease.time.SystemTime;
import dev.cinch.lease.time.TimeSource;
import dev.cinch.lease.wire.Health;
import dev.cinch.lease.wire.LeaseDetail;
import java.net.URI;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

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
    return of(given, Credentials.NONE);
  }

  /** The same, which shows them to all servers. */
  public static ShardRouter of(ServerAddresses given, Credentials credentials) {
    return new ShardRouter(
        given,
        a -> HttpLeaseClient.builder(a).credentials(credentials).build(),
        SystemTime.INSTANCE);
  }

  /** The name by which the server of an operation is known; empty if a grant is. */
  private static Optional<LeaseName> name(Operation operation) {
    if (operation instanceof Operation.Acquire acquire) {
      return Optional.of(acquire.names().get(0));
    } else if (operation instanceof Operation.Resume resume) {
      return Optional.of(resume.witnesses().get(0).witness().name());
    } else if (operation instanceof Operation.Revoke revoke) {
      return Optional.of(revoke.name());
    }
    return Optional.empty();
  }

  /** The instance that an operation is for; empty if it names none. */
  private static OptionalLong instance(Operation operation) {
    if (operation instanceof Operation.Renew renew) {
      return renew.report().instance();
    } else if (operation instanceof Operation.Release release) {
      return release.report().instance();
    }
    return OptionalLong.empty();
  }

  /** Whom to ask for an operation; empty if that is not known. */
  private Optional<HttpLeaseClient> target(Operation operation, ShardServers by) {
    Optional<LeaseName> name = name(operation);
    return name.isPresent() ? servers.of(name.get(), by) : servers.instance(instance(operation));
  }

  /** Whether a server says that another one may carry it out. */
  private static boolean isElsewhere(Outcome outcome) {
    return isRefused(outcome, Reason.OTHER_SHARD) || isRefused(outcome, Reason.SUPERSEDED);
  }

  private static boolean isRefused(Outcome outcome, Reason reason) {
    return outcome instanceof Outcome.Refused refused && refused.refusal().reason() == reason;
  }

  /**
   * {@inheritDoc}
   *
   * <p>One request for each server; what it finds to be elsewhere is then asked for alone.
   */
  @Override
  public List<Outcome> carryOut(List<Operation> operations) throws LeaseUnavailableException {
    if (operations.size() == 1) {
      return List.of(alone(operations.get(0)));
    }
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
        Operation operation = operations.get(places.get(i));
        boolean elsewhere = isElsewhere(told.get(i));
        outcomes[places.get(i)] = elsewhere ? alone(operation) : told.get(i);
      }
    }
    return List.of(outcomes);
  }

  /**
   * Asks one server after the other, each once: first the one that has the name, or the grant, and
   * then where that has moved. Of a grant that is nobody's each may know.
   */
  private Outcome alone(Operation operation) throws LeaseUnavailableException {
    var asked = new HashSet<HttpLeaseClient>();
    Outcome elsewhere = null;
    LeaseUnavailableException silent = null; // it may be the one
    while (true) {
      ShardServers by = servers.now();
      Optional<HttpLeaseClient> known = target(operation, by);
      Optional<HttpLeaseClient> next = next(operation, known, by, asked);
      if (next.isPresent()) {
        asked.add(next.get());
        try {
          Outcome outcome = next.get().carryOut(operation);
          if (!isElsewhere(outcome)) {
            return answered(operation, outcome);
          }
          elsewhere = outcome;
        } catch (LeaseUnavailableException e) {
          silent = silent == null ? e : silent;
          if (known.isPresent()) { // this one may have been carried out; the next call knows more
            boolean unused = servers.learn(by);
            return unanswered(operation, silent);
          }
        }
      } else if (silent != null) {
        boolean unused = servers.learn(by);
        return unanswered(operation, silent);
      } else if (!servers.learn(by)) {
        return nowhere(operation, elsewhere, by);
      }
    }
  }

  /** Whom to ask next; empty if all that are known were asked. */
  private Optional<HttpLeaseClient> next(
      Operation operation,
      Optional<HttpLeaseClient> known,
      ShardServers by,
      Set<HttpLeaseClient> asked) {
    boolean anybody = known.isEmpty() && name(operation).isEmpty();
    return (anybody ? servers.all(by).stream() : known.stream())
        .filter(client -> !asked.contains(client))
        .findFirst();
  }

  private Outcome answered(Operation operation, Outcome outcome) {
    if (operation instanceof Operation.Renew && outcome instanceof Outcome.Granted) {
      servers.learnOthers(); // a holder may outlive the only server whose address was given
    }
    return outcome;
  }

  private Outcome unanswered(Operation operation, LeaseUnavailableException silent)
      throws LeaseUnavailableException {
    if (operation instanceof Operation.Renew && servers.isReplaced(instance(operation))) {
      return replaced(instance(operation).getAsLong());
    }
    throw silent;
  }

  private static Outcome notStarted(Operation operation, ShardServers by) {
    LeaseName name = name(operation).orElseThrow();
    String why =
        "no server has started for shard %d of %s, which has %s"
            .formatted(by.map().shardOf(name), by.map().inWords(), name);
    return new Outcome.Refused(new LeaseRefusedException(Reason.NOT_YET, why, RETRY_MS));
  }

  private static Outcome replaced(long instance) {
    return new Outcome.Refused(
        new LeaseRefusedException(
            Reason.OTHER_INSTANCE,
            "instance %d has ended, and another one has the leases' names: resume them"
                .formatted(instance),
            0));
  }

  /**
   * What to say where no server has it.
   *
   * @param last the last answer; null if nobody could be asked
   */
  private Outcome nowhere(Operation operation, @Nullable Outcome last, ShardServers by) {
    OptionalLong instance = instance(operation);
    if (last == null || name(operation).isPresent() && target(operation, by).isEmpty()) {
      return notStarted(operation, by);
    } else if (name(operation).isPresent()
        || isRefused(last, Reason.SUPERSEDED) && !servers.isReplaced(instance)) {
      return last; // who has taken over is not known yet
    }
    Reason reason = instance.isPresent() ? Reason.OTHER_INSTANCE : Reason.NOT_HELD;
    String why = String.valueOf(((Outcome.Refused) last).refusal().getMessage());
    return new Outcome.Refused(new LeaseRefusedException(reason, why, 0));
  }

  @Override
  public Optional<LeaseInfo> show(LeaseName name) throws LeaseUnavailableException {
    return shown(name, client -> client.show(name));
  }

  /** As {@link HttpLeaseClient#detail}. */
  public Optional<LeaseDetail> detail(LeaseName name) throws LeaseUnavailableException {
    return shown(name, client -> client.detail(name));
  }

  private interface Question<T> {
    T ask(HttpLeaseClient client) throws LeaseUnavailableException;
  }

  private <T> T shown(LeaseName name, Question<T> question) throws LeaseUnavailableException {
    ShardServers by = servers.learnt();
    try {
      return question.ask(server(name, by));
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
    return merged(
        client -> client.list(prefix, after, limit), info -> info.witness().name(), limit);
  }

  /** As {@link #list}, and who waits at each server, as {@link HttpLeaseClient#detail}. */
  public List<LeaseDetail> details(String prefix, Optional<LeaseName> after, int limit)
      throws LeaseUnavailableException {
    return merged(
        client -> client.details(prefix, after, limit),
        detail -> detail.info().witness().name(),
        limit);
  }

  private <T> List<T> merged(Question<List<T>> question, Function<T, LeaseName> nameOf, int limit)
      throws LeaseUnavailableException {
    var found = new TreeMap<LeaseName, T>();
    Optional<LeaseName> through = Optional.empty();
    for (HttpLeaseClient client : servers.all(servers.learnt())) {
      List<T> page = question.ask(client);
      page.forEach(each -> found.put(nameOf.apply(each), each));
      if (!page.isEmpty()) {
        // What is above the end of the shortest page may be missing in that one.
        LeaseName last = nameOf.apply(page.get(page.size() - 1));
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

  /** What the service at the given address says about itself. */
  public ServiceInfo info() throws LeaseUnavailableException {
    return servers.home().info();
  }

  /** Whether the service at the given address is there, and which instance it is. */
  public Health health() throws LeaseUnavailableException {
    return servers.home().health();
  }
}
