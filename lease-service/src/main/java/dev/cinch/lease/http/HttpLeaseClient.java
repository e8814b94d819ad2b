package dev.cinch.lease.http;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.AcquireRequest;
import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseInfo;
import dev.cinch.lease.LeaseName;
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
import dev.cinch.lease.http.Transport.Reply;
import java.io.IOException;
import java.net.ConnectException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpConnectTimeoutException;
import java.net.http.HttpTimeoutException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * A {@link LeaseService} at the other end of HTTP (docs/lease-api.md). Thread-safe. Make one and
 * keep it: it keeps connections, until a while after it is no longer referred to. For plain HTTP it
 * has no threads. Over TLS, through a proxy and where the underlying client was changed it is
 * Java's {@link HttpClient}, with a few daemon threads.
 *
 * <p>Operations are sent in CBOR, and what several threads ask for while an answer is under way is
 * sent as one request.
 *
 * <p>A call whose answer is lost is sent once more, which its id makes harmless. Witnesses are
 * checked to be well-formed and to say what the answer says, not for their signatures: whoever acts
 * on them does that, with the keys that it trusts.
 */
@CheckReturnValue
public final class HttpLeaseClient implements LeaseService {
  private static final int ATTEMPTS = 2;

  /**
   * Above the longest answer of a server: 1,000 witnesses take at most some 5 MB, with {@link
   * Grant#MAX_LOGS} logs and as many in fences. No more than a quarter of the heap.
   */
  static final int MAX_ANSWER_BYTES =
      (int) Math.min(16 << 20, Runtime.getRuntime().maxMemory() / 4);

  private final Transport transport;
  private final URI base;

  /** Made once somebody watches: it has threads. */
  private final Supplier<HttpClient> watching;

  /** Operations for which the store need not be asked, but in rare cases. */
  private final Gatherer<Told> holders = new Gatherer<>(this::send);

  /** Those that may wait for it, and should not keep holders waiting. */
  private final Gatherer<Told> newcomers = new Gatherer<>(this::send);

  private HttpLeaseClient(Builder b) {
    base = b.base;
    var patience = new Transport.Patience(b.connectTimeout, b.requestTimeout);
    UnaryOperator<HttpClient.Builder> change = b.http;
    boolean plain =
        change == null && "http".equalsIgnoreCase(base.getScheme()) && !Transport.isProxied();
    transport =
        plain
            ? new PlainTransport(patience)
            : new JdkTransport(patience, change == null ? client -> client : change);
    watching = () -> JdkTransport.client(patience, change == null ? client -> client : change);
  }

  /**
   * Prepares a client.
   *
   * @param base such as {@code http://127.0.0.1:8470}
   * @throws IllegalArgumentException if that is no such address
   */
  public static Builder builder(URI base) {
    return new Builder(base);
  }

  /** What a client is made of; not thread-safe. */
  public static final class Builder {
    private final URI base;
    private Duration connectTimeout = Duration.ofSeconds(2);
    private Duration requestTimeout = Duration.ofSeconds(5);
    private @Nullable UnaryOperator<HttpClient.Builder> http;

    private Builder(URI base) {
      String scheme = base.getScheme() == null ? "" : base.getScheme().toLowerCase(Locale.ROOT);
      if (base.getHost() == null
          || !(scheme.equals("http") || scheme.equals("https"))
          || base.getRawQuery() != null
          || base.getRawFragment() != null) {
        throw new IllegalArgumentException(
            "not the address of a lease service: " + base + " (like http://127.0.0.1:8470)");
      }
      String text = base.toString();
      this.base = URI.create(text.endsWith("/") ? text.substring(0, text.length() - 1) : text);
    }

    /** How long to wait for a connection; 2 s unless told otherwise. */
    @CanIgnoreReturnValue
    public Builder connectTimeout(Duration timeout) {
      this.connectTimeout = timeout;
      return this;
    }

    /**
     * How long to wait for a whole answer, to its last byte and connecting included, each of at
     * most two times; 5 s unless told otherwise.
     */
    @CanIgnoreReturnValue
    public Builder requestTimeout(Duration timeout) {
      this.requestTimeout = timeout;
      return this;
    }

    /**
     * Has requests sent by Java's client, changed so: for certificates, say. With an executor that
     * starts threads when it needs them, one that can't be started may end the client for good.
     */
    @CanIgnoreReturnValue
    public Builder http(UnaryOperator<HttpClient.Builder> http) {
      this.http = http;
      return this;
    }

    /** Connects to nothing yet. */
    @CheckReturnValue
    public HttpLeaseClient build() {
      return new HttpLeaseClient(this);
    }
  }

  @Override
  public Grant acquire(AcquireRequest request)
      throws LeaseRefusedException, LeaseUnavailableException {
    return grant(newcomers.call(new Operation.Acquire(request)));
  }

  /**
   * Likewise; the answer may take so much longer. By itself: others would wait with it.
   *
   * @throws IllegalArgumentException if it is not 0 to {@link #MAX_WAIT_MS}
   */
  @Override
  public Grant acquire(AcquireRequest request, long waitMs)
      throws LeaseRefusedException, LeaseUnavailableException {
    if (waitMs < 0 || waitMs > MAX_WAIT_MS) {
      throw new IllegalArgumentException("a request waits 0 to " + MAX_WAIT_MS + " ms");
    }
    return waitMs == 0
        ? acquire(request)
        : grant(sendAlone(new Operation.Acquire(request), waitMs));
  }

  @Override
  public Grant renew(Id id, long durationMs, LogSet addLogs, LeaseReport report)
      throws LeaseRefusedException, LeaseUnavailableException {
    return grant(holders.call(new Operation.Renew(id, durationMs, addLogs, report)));
  }

  @Override
  public Grant resume(ResumeRequest request)
      throws LeaseRefusedException, LeaseUnavailableException {
    // By itself: it waits for the store, and others would wait with it.
    return grant(sendAlone(new Operation.Resume(request)));
  }

  @Override
  public Grant upgrade(Id id, long durationMs)
      throws LeaseRefusedException, LeaseUnavailableException {
    return grant(holders.call(new Operation.Upgrade(id, durationMs)));
  }

  @Override
  public void release(Id id, LeaseReport report)
      throws LeaseRefusedException, LeaseUnavailableException {
    if (holders.call(new Operation.Release(id, report)).outcome()
        instanceof Outcome.Refused refused) {
      throw refused.refusal();
    }
  }

  @Override
  public List<Outcome> carryOut(List<Operation> operations) throws LeaseUnavailableException {
    var outcomes = new ArrayList<Outcome>();
    for (Told told : send(operations)) {
      told.requireKnown();
      outcomes.add(told.outcome());
    }
    return outcomes;
  }

  private static Grant grant(Told told) throws LeaseRefusedException, LeaseUnavailableException {
    told.requireKnown();
    if (told.outcome() instanceof Outcome.Granted granted) {
      return granted.grant();
    }
    if (told.outcome() instanceof Outcome.Refused refused) {
      throw refused.refusal();
    }
    throw new IllegalStateException("leases were released and not granted");
  }

  /**
   * What a server said of an operation.
   *
   * @param unsure whether it may be otherwise by now
   */
  private record Told(Outcome outcome, boolean unsure) {
    static Told of(Operation operation, Outcome outcome, boolean again) {
      // The first one may have been granted, or may be granted still when it comes.
      boolean unsure =
          again
              && operation instanceof Operation.Acquire
              && outcome instanceof Outcome.Refused refused
              && (refused.refusal().reason() == Reason.HELD
                  || refused.refusal().reason() == Reason.NOT_YET);
      return new Told(outcome, unsure);
    }

    void requireKnown() throws LeaseUnavailableException {
      if (unsure && outcome instanceof Outcome.Refused refused) {
        throw new LeaseUnavailableException(
            "the lease service did not answer at first, and then: "
                + refused.refusal().getMessage(),
            refused.refusal());
      }
    }
  }

  /** Sends operations, and those again that had no room in an answer. */
  private List<Told> send(List<Operation> operations) throws LeaseUnavailableException {
    var told = new ArrayList<Told>(operations.size());
    while (told.size() < operations.size()) {
      int to = Math.min(operations.size(), told.size() + MAX_OPERATIONS);
      List<Operation> rest = operations.subList(told.size(), to);
      if (rest.size() == 1) {
        told.add(sendAlone(rest.get(0)));
      } else {
        told.addAll(sendTogether(rest));
      }
    }
    return told;
  }

  private List<Told> sendTogether(List<Operation> operations) throws LeaseUnavailableException {
    String path = "/v1/leases/batch";
    byte[] body = Wire.CBOR.write(WireWriter.operations(operations, Wire.CBOR));
    Sent sent = send("POST", path, Wire.CBOR, body);
    Reply reply = sent.answer();
    if (reply.status() != 200) {
      throw bad(path, error(path, reply).message());
    }
    List<Outcome> outcomes = read(path, Wire.CBOR, reply, WireReader::outcomes);
    if (outcomes.isEmpty() || outcomes.size() > operations.size()) {
      throw bad(path, outcomes.size() + " outcomes of " + operations.size() + " operations");
    }
    var told = new ArrayList<Told>(outcomes.size());
    for (int i = 0; i < outcomes.size(); i++) {
      Operation operation = operations.get(i);
      told.add(Told.of(operation, checked(path, operation, outcomes.get(i)), sent.again()));
    }
    return told;
  }

  private Told sendAlone(Operation operation) throws LeaseUnavailableException {
    return sendAlone(operation, 0);
  }

  private Told sendAlone(Operation operation, long waitMs) throws LeaseUnavailableException {
    String path = "/v1/leases/" + OperationKind.of(operation).wireName;
    ObjectNode fields = OperationKind.write(operation, Wire.CBOR);
    if (waitMs > 0) {
      fields.put(WireWriter.WAIT, waitMs);
    }
    byte[] body = Wire.CBOR.write(fields);
    Sent sent = send("POST", path, Wire.CBOR, body, Duration.ofMillis(waitMs));
    Reply reply = sent.answer();
    Outcome outcome;
    if (reply.status() != 200) {
      outcome = new Outcome.Refused(refusal(path, reply));
    } else if (operation instanceof Operation.Release) {
      boolean unused = read(path, Wire.CBOR, reply, WireReader::nothing);
      outcome = Outcome.RELEASED;
    } else {
      outcome = new Outcome.Granted(read(path, Wire.CBOR, reply, WireReader::grant));
    }
    return Told.of(operation, checked(path, operation, outcome), sent.again());
  }

  private Outcome checked(String path, Operation operation, Outcome outcome)
      throws LeaseUnavailableException {
    boolean releases = operation instanceof Operation.Release;
    if (outcome instanceof Outcome.Granted granted
        ? releases || !granted.grant().id().equals(operation.id())
        : outcome instanceof Outcome.Released && !releases) {
      throw bad(path, "the grant is of another request");
    }
    return outcome;
  }

  @Override
  public Revoked revoke(RevokeRequest request)
      throws LeaseRefusedException, LeaseUnavailableException {
    String path = "/v1/leases/revoke";
    byte[] body = Wire.JSON.write(WireWriter.revoke(request));
    Reply reply = send("POST", path, Wire.JSON, body).answer();
    if (reply.status() != 200) {
      throw refusal(path, reply);
    }
    return read(path, Wire.JSON, reply, WireReader::revoked);
  }

  @Override
  public Optional<LeaseInfo> show(LeaseName name) throws LeaseUnavailableException {
    String path = "/v1/leases/" + encoded(name.value());
    Reply response = get(path);
    if (response.status() == 404 && error(path, response).error().equals(Answer.UNKNOWN_NAME)) {
      return Optional.empty();
    }
    return Optional.of(answer(path, response, WireReader::info));
  }

  @Override
  public List<LeaseInfo> list(String prefix, Optional<LeaseName> after, int limit)
      throws LeaseUnavailableException {
    String path =
        "/v1/leases?prefix="
            + encoded(prefix)
            + after.map(a -> "&after=" + encoded(a.value())).orElse("")
            + "&limit="
            + limit;
    return answer(path, get(path), WireReader::infos);
  }

  @Override
  public long now() throws LeaseUnavailableException {
    return answer("/v1/time", get("/v1/time"), WireReader::now);
  }

  /**
   * Watches leases: those of these names, and those whose names begin with one of these prefixes;
   * all if there are neither. At most 100 of both together.
   *
   * @throws LeaseUnavailableException if the service does not answer, or too many watch
   */
  public LeaseWatch watch(List<LeaseName> names, List<String> prefixes)
      throws LeaseUnavailableException {
    var query = new ArrayList<String>();
    names.forEach(name -> query.add("name=" + encoded(name.value())));
    prefixes.forEach(prefix -> query.add("prefix=" + encoded(prefix)));
    String path = Watching.PATH + (query.isEmpty() ? "" : "?" + String.join("&", query));
    return LeaseWatch.open(watching.get(), URI.create(base + path));
  }

  @Override
  public ShardServers shards() throws LeaseUnavailableException {
    return answer("/v1/shards", get("/v1/shards"), WireReader::shards);
  }

  /** What the service says about itself. */
  public ServiceInfo info() throws LeaseUnavailableException {
    return answer("/v1/service", get("/v1/service"), WireReader::service);
  }

  /** Whether it is there, and which instance it is; without why it does not grant. */
  public Health health() throws LeaseUnavailableException {
    return answer("/healthz", get("/healthz"), WireReader::health);
  }

  /**
   * What was answered.
   *
   * @param again whether the same request may have arrived before, and was not answered
   */
  private record Sent(Reply answer, boolean again) {}

  private Reply get(String path) throws LeaseUnavailableException {
    return send("GET", path, Wire.JSON, null).answer();
  }

  private Sent send(String method, String path, Wire wire, byte @Nullable [] body)
      throws LeaseUnavailableException {
    return send(method, path, wire, body, Duration.ZERO);
  }

  private Sent send(String method, String path, Wire wire, byte @Nullable [] body, Duration more)
      throws LeaseUnavailableException {
    URI uri = URI.create(base + path);
    boolean again = false;
    for (int attempt = 1; ; attempt++) {
      try {
        return new Sent(transport.exchange(method, uri, wire, body, more), again);
      } catch (IOException e) {
        again |= !(e instanceof ConnectException || e instanceof HttpConnectTimeoutException);
        if (attempt == ATTEMPTS) {
          throw new LeaseUnavailableException(
              "no answer from the lease service at " + uri + ": " + reason(e), e);
        }
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new LeaseUnavailableException(
            "interrupted while asking the lease service at " + uri, e);
      }
    }
  }

  private static String reason(IOException e) {
    if (e instanceof HttpTimeoutException) {
      return "timed out";
    }
    if (e instanceof ConnectException) {
      return "can't connect";
    }
    return e.getMessage() == null ? e.getClass().getSimpleName() : e.getMessage();
  }

  /** Turns an answer's fields into a value. */
  private interface Reader<T> {
    T read(Fields fields) throws WireException;
  }

  private <T> T answer(String path, Reply response, Reader<T> reader)
      throws LeaseUnavailableException {
    if (response.status() != 200) {
      throw bad(path, error(path, response).message());
    }
    return read(path, Wire.JSON, response, reader);
  }

  private <T> T read(String path, Wire wire, Reply response, Reader<T> reader)
      throws LeaseUnavailableException {
    try {
      return reader.read(wire.read(response.body()));
    } catch (WireException e) {
      throw bad(path, "not an answer of the API: " + e.getMessage());
    }
  }

  private WireReader.Failure error(String path, Reply response) throws LeaseUnavailableException {
    try {
      return WireReader.failure(Fields.parse(response.body()));
    } catch (WireException e) {
      throw bad(path, "status " + response.status() + " without an error that the API has");
    }
  }

  /** The refusal that an error stands for; throws if it stands for none. */
  private LeaseRefusedException refusal(String path, Reply response)
      throws LeaseUnavailableException {
    WireReader.Failure failure = error(path, response);
    Optional<LeaseRefusedException> refusal = failure.refusal();
    if (refusal.isPresent()) {
      return refusal.get();
    }
    if (failure.error().equals(Answer.MALFORMED) || failure.error().equals(Answer.TOO_LARGE)) {
      return new LeaseRefusedException(Reason.INVALID, failure.message(), failure.retryAfterMs());
    }
    throw bad(path, failure.message());
  }

  private LeaseUnavailableException bad(String path, String message) {
    return new LeaseUnavailableException(
        "the lease service at " + base + path + " answered: " + message, null);
  }

  private static String encoded(String text) {
    return URLEncoder.encode(text, UTF_8).replace("+", "%20");
  }
}
