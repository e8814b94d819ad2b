package dev.cinch.lease.client;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.Grant;
import dev.cinch.lease.LeaseInfo;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseService;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Outcome;
import dev.cinch.lease.ServiceInfo;
import dev.cinch.lease.ShardServers;
import dev.cinch.lease.client.Endpoints.Endpoint;
import dev.cinch.lease.client.Endpoints.Request;
import dev.cinch.lease.client.Endpoints.Sent;
import dev.cinch.lease.client.Endpoints.Transport;
import dev.cinch.lease.client.Gatherer.ByWait;
import dev.cinch.lease.client.OperationCalls.Result;
import dev.cinch.lease.http.HttpConnections.Patience;
import dev.cinch.lease.time.SystemTime;
import dev.cinch.lease.wire.Answer;
import dev.cinch.lease.wire.Fields;
import dev.cinch.lease.wire.Health;
import dev.cinch.lease.wire.LeaseDetail;
import dev.cinch.lease.wire.LeaseDocuments;
import java.net.URI;
import java.net.URLEncoder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A {@link LeaseService} at the other end of HTTP (docs/lease-api.md). Thread-safe. Make one and
 * keep it: it keeps connections, until a while after it is no longer referred to. It has no
 * threads, and goes through no proxy.
 *
 * <p>What several threads ask for while an answer is under way is sent as one request.
 *
 * <p>A call whose answer is lost is sent once more, which its id makes harmless. Of several equal
 * servers it is sent to the next one, and so is one that a server turns away: since it is starting,
 * is overloaded, or does not reach its store. Whoever goes by a grant of one is told {@code
 * OTHER_INSTANCE} by the next, and resumes there (rule L10). Witnesses are checked to be
 * well-formed and to say what the answer says, not for their signatures: whoever acts on them does
 * that, with the keys that it trusts.
 */
@CheckReturnValue
public final class HttpLeaseClient implements LeaseService {
  /**
   * Above the longest answer of a server: 1,000 witnesses take at most some 5 MB, with {@link
   * Grant#MAX_LOGS} logs and as many in fences. No more than a quarter of the heap.
   */
  static final int MAX_ANSWER_BYTES =
      (int) Math.min(16 << 20, Runtime.getRuntime().maxMemory() / 4);

  private final Endpoints servers;
  private final OperationCalls calls;
  private final Patience patience;

  /** Operations for which the store need not be asked, but in rare cases. */
  private final ByWait<Result> holders;

  /** Those that may wait for it, and should not keep holders waiting. */
  private final ByWait<Result> newcomers;

  private HttpLeaseClient(Builder b) {
    patience = new Patience(b.connectTimeout, b.requestTimeout);
    List<Endpoint> endpoints =
        b.addresses.all().stream().map(at -> new Endpoint(at, b.transport(at, patience))).toList();
    servers = new Endpoints(endpoints, patience, b.clock);
    calls = new OperationCalls(servers);
    holders = new ByWait<>(calls, calls::waitMs);
    newcomers = new ByWait<>(calls, calls::waitMs);
  }

  /**
   * Prepares a client.
   *
   * @param base such as {@code http://127.0.0.1:8470}
   * @throws IllegalArgumentException if that is no such address
   */
  public static Builder builder(URI base) {
    return builder(ServerAddresses.of(base));
  }

  /** Prepares a client of a service that equal servers have; it asks the one that worked last. */
  public static Builder builder(ServerAddresses addresses) {
    return new Builder(addresses);
  }

  /** What a client is made of; not thread-safe. */
  public static final class Builder {
    private final ServerAddresses addresses;
    private Duration connectTimeout = Duration.ofSeconds(2);
    private Duration requestTimeout = Duration.ofSeconds(5);
    private Credentials credentials = Credentials.NONE;
    private @Nullable Function<URI, Transport> transports;
    private LongSupplier clock = SystemTime.INSTANCE::monotonicNanos;

    private Builder(ServerAddresses addresses) {
      this.addresses = addresses;
    }

    /** How long to wait for a connection; 2 s unless told otherwise. */
    @CanIgnoreReturnValue
    public Builder connectTimeout(Duration timeout) {
      this.connectTimeout = timeout;
      return this;
    }

    /**
     * How long to wait for a whole answer, to its last byte and connecting included, each of at
     * most two times; 5 s unless told otherwise. Of several servers each is asked once, and all
     * within twice that; renewals ask all within half of their lease. A release gets 2 s in all.
     */
    @CanIgnoreReturnValue
    public Builder requestTimeout(Duration timeout) {
      this.requestTimeout = timeout;
      return this;
    }

    /** What it shows to servers, and asks of them; none unless told otherwise. */
    @CanIgnoreReturnValue
    public Builder credentials(Credentials credentials) {
      this.credentials = credentials;
      return this;
    }

    /** Has requests travel otherwise, and the time read from elsewhere; nanoseconds. */
    @CanIgnoreReturnValue
    Builder by(Function<URI, Transport> transports, LongSupplier clock) {
      this.transports = transports;
      this.clock = clock;
      return this;
    }

    private Transport transport(URI to, Patience patience) {
      return transports == null ? new HttpTransport(patience, credentials) : transports.apply(to);
    }

    /** Connects to nothing yet. */
    @CheckReturnValue
    public HttpLeaseClient build() {
      return new HttpLeaseClient(this);
    }
  }

  /**
   * {@inheritDoc}
   *
   * <p>One alone may be sent together with those of other threads. For one that waits the answer
   * may take so much longer.
   */
  @Override
  public List<Outcome> carryOut(List<Operation> operations) throws LeaseUnavailableException {
    if (operations.size() == 1) {
      return List.of(alone(operations.get(0)));
    }
    var outcomes = new ArrayList<Outcome>();
    for (Result told : calls.send(operations)) {
      outcomes.add(told.known());
    }
    return outcomes;
  }

  private Outcome alone(Operation operation) throws LeaseUnavailableException {
    boolean acquires = operation instanceof Operation.Acquire;
    boolean waits = // for the store or in a queue, and others would wait with it
        operation instanceof Operation.Acquire acquire
            ? acquire.waitMs() > 0
            : operation instanceof Operation.Resume || operation instanceof Operation.Revoke;
    if (waits) {
      return calls.sendAlone(operation).known();
    }
    return (acquires ? newcomers : holders).call(operation).known();
  }

  /** Which server is asked first. */
  URI first() {
    return servers.inTurn().get(0);
  }

  @Override
  public Optional<LeaseInfo> show(LeaseName name) throws LeaseUnavailableException {
    return get(path(name), sent -> shown(sent, in -> Fields.read(LeaseDocuments::info, in)));
  }

  /** What is known about a name, and who waits for it at the server that answers. */
  public Optional<LeaseDetail> detail(LeaseName name) throws LeaseUnavailableException {
    return get(
        path(name) + "?detail=true",
        sent -> shown(sent, in -> Fields.readSome(LeaseDocuments::detail, in)));
  }

  private static String path(LeaseName name) {
    return "/v1/leases/" + encoded(name.value());
  }

  private static <T> Optional<T> shown(Sent sent, Sent.Reader<T> reader)
      throws LeaseUnavailableException {
    return sent.answer().status() == 404 && sent.error().error().equals(Answer.UNKNOWN_NAME)
        ? Optional.empty()
        : Optional.of(sent.value(reader));
  }

  /** As {@link #list}, and who waits at the server that answers; as {@link #detail}. */
  public List<LeaseDetail> details(String prefix, Optional<LeaseName> after, int limit)
      throws LeaseUnavailableException {
    return get(
        path(prefix, after, limit) + "&detail=true",
        sent -> sent.value(in -> Fields.readSome(LeaseDocuments::details, in)));
  }

  private static String path(String prefix, Optional<LeaseName> after, int limit) {
    return "/v1/leases?prefix="
        + encoded(prefix)
        + after.map(a -> "&after=" + encoded(a.value())).orElse("")
        + "&limit="
        + limit;
  }

  @Override
  public List<LeaseInfo> list(String prefix, Optional<LeaseName> after, int limit)
      throws LeaseUnavailableException {
    String path = path(prefix, after, limit);
    return get(path, sent -> sent.value(in -> Fields.read(LeaseDocuments::infos, in)));
  }

  @Override
  public long now() throws LeaseUnavailableException {
    return get("/v1/time", sent -> sent.value(in -> Fields.read(LeaseDocuments::now, in)));
  }

  @Override
  public ShardServers shards() throws LeaseUnavailableException {
    return get("/v1/shards", sent -> sent.value(in -> Fields.readSome(LeaseDocuments::shards, in)));
  }

  /** What the service says about itself. */
  public ServiceInfo info() throws LeaseUnavailableException {
    return get(
        "/v1/service", sent -> sent.value(in -> Fields.readSome(LeaseDocuments::service, in)));
  }

  /** Whether it is there, and which instance it is; without why it does not grant. */
  public Health health() throws LeaseUnavailableException {
    return get("/healthz", sent -> sent.value(in -> Fields.readSome(LeaseDocuments::health, in)));
  }

  /** Why it grants no leases at the moment; empty if it does. */
  public Optional<LeaseRefusedException> obstacle() throws LeaseUnavailableException {
    return get(
        "/readyz",
        sent -> {
          if (sent.answer().status() != 200) {
            return Optional.of(sent.refusal());
          }
          boolean unused = sent.value(in -> Fields.readSome(LeaseDocuments::ready, in));
          return Optional.empty();
        });
  }

  private <T> T get(String path, Endpoints.Reading<T> reading) throws LeaseUnavailableException {
    return servers.ask(new Request("GET", path, null, Request.UNHURRIED), reading, told -> false);
  }

  private static String encoded(String text) {
    return URLEncoder.encode(text, UTF_8).replace("+", "%20");
  }
}
