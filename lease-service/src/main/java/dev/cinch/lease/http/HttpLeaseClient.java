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
import dev.cinch.lease.ResumeRequest;
import dev.cinch.lease.ServiceInfo;
import dev.cinch.lease.http.Transport.Reply;
import java.io.IOException;
import java.net.ConnectException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpConnectTimeoutException;
import java.net.http.HttpTimeoutException;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * A {@link LeaseService} at the other end of HTTP (docs/lease-api.md). Thread-safe. Make one and
 * keep it: it keeps connections, until a while after it is no longer referred to. For plain HTTP it
 * has no threads. Over TLS, through a proxy and where the underlying client was changed it is
 * Java's {@link HttpClient}, with a few daemon threads.
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
    String path = "/v1/leases/acquire";
    Sent sent = send("POST", path, WireWriter.acquire(request, Wire.JSON));
    try {
      return grant(request.id(), path, sent.answer());
    } catch (LeaseRefusedException e) {
      boolean passes = e.reason() == Reason.HELD || e.reason() == Reason.NOT_YET;
      if (!sent.again() || !passes) {
        throw e;
      }
      // The first one may have been granted, or may be granted still when it comes.
      throw new LeaseUnavailableException(
          "the lease service did not answer at first, and then: " + e.getMessage(), e);
    }
  }

  @Override
  public Grant renew(Id id, long durationMs, LogSet addLogs, LeaseReport report)
      throws LeaseRefusedException, LeaseUnavailableException {
    var renew = new Operation.Renew(id, durationMs, addLogs, report);
    String path = "/v1/leases/renew";
    return grant(id, path, send("POST", path, WireWriter.renew(renew, Wire.JSON)).answer());
  }

  @Override
  public Grant resume(ResumeRequest request)
      throws LeaseRefusedException, LeaseUnavailableException {
    String path = "/v1/leases/resume";
    return grant(request.id(), path, send("POST", path, WireWriter.resume(request, Wire.JSON)).answer());
  }

  @Override
  public Grant upgrade(Id id, long durationMs)
      throws LeaseRefusedException, LeaseUnavailableException {
    var upgrade = new Operation.Upgrade(id, durationMs);
    String path = "/v1/leases/upgrade";
    return grant(id, path, send("POST", path, WireWriter.upgrade(upgrade, Wire.JSON)).answer());
  }

  @Override
  public void release(Id id, LeaseReport report)
      throws LeaseRefusedException, LeaseUnavailableException {
    String path = "/v1/leases/release";
    ObjectNode body = WireWriter.release(new Operation.Release(id, report), Wire.JSON);
    Reply response = send("POST", path, body).answer();
    if (response.status() != 200) {
      throw refusal(path, response);
    }
    read(path, response, WireReader::nothing);
  }

  @Override
  public Optional<LeaseInfo> show(LeaseName name) throws LeaseUnavailableException {
    String path = "/v1/leases/" + encoded(name.value());
    Reply response = send("GET", path, null).answer();
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
    return answer(path, send("GET", path, null).answer(), WireReader::infos);
  }

  @Override
  public long now() throws LeaseUnavailableException {
    return answer("/v1/time", send("GET", "/v1/time", null).answer(), WireReader::now);
  }

  /** What the service says about itself. */
  public ServiceInfo info() throws LeaseUnavailableException {
    return answer("/v1/service", send("GET", "/v1/service", null).answer(), WireReader::service);
  }

  /** Whether it is there, and which instance it is; without why it does not grant. */
  public Health health() throws LeaseUnavailableException {
    return answer("/healthz", send("GET", "/healthz", null).answer(), WireReader::health);
  }

  private Grant grant(Id id, String path, Reply response)
      throws LeaseRefusedException, LeaseUnavailableException {
    if (response.status() != 200) {
      throw refusal(path, response);
    }
    Grant grant = read(path, response, WireReader::grant);
    if (!grant.id().equals(id)) {
      throw bad(path, "the grant is of another request");
    }
    return grant;
  }

  /**
   * What was answered.
   *
   * @param again whether the same request may have arrived before, and was not answered
   */
  private record Sent(Reply answer, boolean again) {}

  private Sent send(String method, String path, @Nullable ObjectNode body)
      throws LeaseUnavailableException {
    URI uri = URI.create(base + path);
    byte[] bytes = body == null ? null : WireWriter.bytes(body);
    boolean again = false;
    for (int attempt = 1; ; attempt++) {
      try {
        return new Sent(transport.exchange(method, uri, bytes), again);
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
    return read(path, response, reader);
  }

  @CanIgnoreReturnValue
  private <T> T read(String path, Reply response, Reader<T> reader)
      throws LeaseUnavailableException {
    try {
      return reader.read(Fields.parse(response.body()));
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
