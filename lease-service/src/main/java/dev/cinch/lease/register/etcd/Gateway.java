package dev.cinch.lease.register.etcd;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.MissingNode;
import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.JsonTree;
import dev.cinch.lease.OneLine;
import dev.cinch.lease.http.BoundedBody;
import dev.cinch.lease.register.etcd.EtcdFailure.Kind;
import dev.cinch.lease.time.TimeSource;
import java.io.IOException;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpConnectTimeoutException;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Flow;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.random.RandomGenerator;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/**
 * Requests to etcd's JSON gateway, at one of several endpoints: the next one when one does not
 * answer, or says that it can't. Thread-safe; nothing waits.
 */
@CheckReturnValue
final class Gateway implements AutoCloseable {
  /** What an answer may have, bytes: some pages of the longest values in base64. */
  private static final int MAX_ANSWER_BYTES = 32 << 20;

  /** For so long one endpoint is waited for, nanoseconds. */
  private static final long REQUEST_NANOS = 1_000_000_000L;

  /** Etcd takes its time over passwords; requests that wait for the token don't wait so long. */
  private static final long LOGIN_NANOS = 5 * REQUEST_NANOS;

  /** How soon a request is made again; then twice as long, up to {@link #MOST_RETRY_NANOS}. */
  static final long RETRY_NANOS = 1_000_000L;

  static final long MOST_RETRY_NANOS = 250_000_000L;

  private static final int UNAUTHORIZED = 401;
  private static final int MOST_UNDER_WAY = 64;
  private static final int MOST_WAITING = 16_384;
  private static final JsonTree JSON = JsonTree.of(JsonFactory.builder(), false);

  private final EtcdCluster cluster;
  private final List<URI> endpoints;

  /** None where etcd does not ask who it is. */
  private final @Nullable Login login;

  private final TimeSource time;
  private final RandomGenerator random;
  private final HttpClient http;
  private final AtomicInteger current = new AtomicInteger();
  private final Admission admission = new Admission(MOST_UNDER_WAY, MOST_WAITING);
  private final Lineage lineage = new Lineage();

  /** What is under way, to be ended with this. */
  private final Set<CompletableFuture<?>> underWay = ConcurrentHashMap.newKeySet();

  private volatile boolean closed;

  /**
   * @param random spreads out attempts
   */
  Gateway(EtcdCluster cluster, TimeSource time, RandomGenerator random) {
    this.cluster = cluster;
    this.endpoints = cluster.endpoints();
    this.login = cluster.user().map(user -> new Login(() -> authenticate(user))).orElse(null);
    this.time = time;
    this.random = random;
    HttpClient.Builder client =
        HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .followRedirects(HttpClient.Redirect.NEVER)
            .connectTimeout(Duration.ofNanos(REQUEST_NANOS / 2));
    cluster.tls().ifPresent(client::sslContext);
    this.http = client.build();
  }

  long now() {
    return time.monotonicNanos();
  }

  /** The highest revision that an answer had. */
  long revision() {
    return lineage.seen();
  }

  TimeSource time() {
    return time;
  }

  /** Runs a task after a random time of at most so many nanoseconds. */
  void later(long nanos, Runnable task) {
    CompletableFuture.delayedExecutor(1 + random.nextLong(nanos), TimeUnit.NANOSECONDS)
        .execute(task);
  }

  /**
   * Asks for something that may be asked for twice, until there is an answer.
   *
   * @param giveUpAt by {@link #now}
   * @return the answer; or an {@link EtcdFailure}, of the last attempt
   */
  CompletableFuture<JsonNode> ask(String path, JsonNode body, boolean latest, long giveUpAt) {
    var answer = new CompletableFuture<JsonNode>();
    ask(path, body, latest, giveUpAt, RETRY_NANOS, answer);
    return answer;
  }

  private void ask(
      String path,
      JsonNode body,
      boolean latest,
      long giveUpAt,
      long retry,
      CompletableFuture<JsonNode> answer) {
    var unused =
        post(path, body, latest, giveUpAt)
            .whenComplete(
                (tree, broken) -> {
                  if (broken == null) {
                    answer.complete(tree);
                    return;
                  }
                  EtcdFailure failure = failure(broken);
                  if (failure.kind() == Kind.REFUSED || giveUpAt - now() <= retry) {
                    answer.completeExceptionally(failure);
                  } else {
                    long next = Math.min(2 * retry, MOST_RETRY_NANOS);
                    later(
                        retry,
                        () -> {
                          if (now() < giveUpAt) {
                            ask(path, body, latest, giveUpAt, next, answer);
                          } else { // this process stood still meanwhile
                            answer.completeExceptionally(failure);
                          }
                        });
                  }
                });
  }

  /** What a future of this class ended with. */
  static EtcdFailure failure(Throwable broken) {
    Throwable cause =
        broken instanceof CompletionException && broken.getCause() != null
            ? broken.getCause()
            : broken;
    return cause instanceof EtcdFailure failure
        ? failure
        : new EtcdFailure(Kind.UNKNOWN, "etcd's answer was not understood: " + line(cause));
  }

  /**
   * Asks once, at one endpoint.
   *
   * @param latest whether the answer has to be of the present, as those of linearizable requests
   * @param giveUpAt by {@link #now}; a second from when it is sent, at most
   * @return the answer, or an {@link EtcdFailure}
   */
  CompletableFuture<JsonNode> post(String path, JsonNode body, boolean latest, long giveUpAt) {
    var request = new Request(path, body, latest, giveUpAt);
    if (!admission.enter(request::begin)) {
      request.expire();
    } else if (!request.decided.get()) { // it waits
      CompletableFuture.delayedExecutor(Math.max(1, giveUpAt - now()), TimeUnit.NANOSECONDS)
          .execute(request::expire);
    }
    return request.answer;
  }

  /** One request at one endpoint. */
  private final class Request {
    final CompletableFuture<JsonNode> answer = new CompletableFuture<>();

    /** Whether it has begun, or never will. */
    final AtomicBoolean decided = new AtomicBoolean();

    private final String path;
    private final JsonNode body;
    private final boolean latest;
    private final long giveUpAt;

    Request(String path, JsonNode body, boolean latest, long giveUpAt) {
      this.path = path;
      this.body = body;
      this.latest = latest;
      this.giveUpAt = giveUpAt;
    }

    void expire() {
      if (decided.compareAndSet(false, true)) {
        answer.completeExceptionally(
            new EtcdFailure(Kind.NOT_DONE, "too many requests wait for " + Gateway.this));
      }
    }

    boolean begin() {
      long left = Math.min(giveUpAt - now(), REQUEST_NANOS);
      if (left <= 0) {
        expire();
      }
      if (!decided.compareAndSet(false, true)) {
        return false;
      }
      long seen = lineage.seen();
      int at = current.get();
      URI endpoint = endpoints.get(at);
      CompletableFuture<HttpResponse<byte[]>> sent;
      try {
        lineage.require();
        sent = send(endpoint, path, body, head -> new BoundedBody(MAX_ANSWER_BYTES));
      } catch (EtcdFailure e) {
        answer.completeExceptionally(e);
        return false;
      }
      // The timeout of an HttpRequest would end with the answer's head.
      var unused =
          sent.copy()
              .orTimeout(left, TimeUnit.NANOSECONDS)
              .whenComplete(
                  (response, broken) -> {
                    admission.leave();
                    sent.cancel(true); // closes the connection of one that was given up
                    try {
                      if (response == null) {
                        throw unanswered(endpoint, broken, left);
                      }
                      JsonNode tree = read(endpoint, response);
                      lineage.check(endpoint, tree.path("header"), latest ? seen : 0);
                      answer.complete(tree);
                    } catch (EtcdFailure e) {
                      failed(at, e);
                      answer.completeExceptionally(e);
                    } catch (RuntimeException e) {
                      answer.completeExceptionally(e);
                    }
                  });
      return true;
    }
  }

  /** The next endpoint is asked from now on, unless another request found out the same. */
  private void failed(int at, EtcdFailure e) {
    if (e.kind() == Kind.NOT_DONE || e.kind() == Kind.UNKNOWN) {
      boolean unused = current.compareAndSet(at, (at + 1) % endpoints.size());
    }
  }

  private <T> CompletableFuture<HttpResponse<T>> send(
      URI endpoint, String path, JsonNode body, HttpResponse.BodyHandler<T> handler)
      throws EtcdFailure {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(endpoint.resolve(path))
            .header("Content-Type", "application/json")
            .POST(BodyPublishers.ofByteArray(JSON.write(body)));
    CompletableFuture<HttpResponse<T>> sent =
        login == null ? http.sendAsync(request.build(), handler) : send(login, request, handler);
    underWay.add(sent);
    var unused = sent.whenComplete((response, broken) -> underWay.remove(sent));
    if (closed) {
      sent.cancel(true);
      throw new EtcdFailure(Kind.REFUSED, this + " is not asked any more");
    }
    return sent;
  }

  /** As a user, once it is known by which token. */
  private <T> CompletableFuture<HttpResponse<T>> send(
      Login as, HttpRequest.Builder request, HttpResponse.BodyHandler<T> handler) {
    var sent = new CompletableFuture<HttpResponse<T>>();
    CompletableFuture<String> token = as.token();
    var unused =
        token.whenComplete(
            (given, refused) -> {
              if (refused != null) {
                sent.completeExceptionally(refused);
                return;
              }
              if (sent.isDone()) {
                return; // nobody waits for it any more: it must not be done now
              }
              request.setHeader("Authorization", given);
              CompletableFuture<HttpResponse<T>> asked = http.sendAsync(request.build(), handler);
              var alsoUnused = sent.whenComplete((answer, broken) -> asked.cancel(true));
              var nor =
                  asked.whenComplete(
                      (answer, broken) -> {
                        if (broken != null) {
                          sent.completeExceptionally(broken);
                          return;
                        }
                        if (answer.statusCode() == UNAUTHORIZED) {
                          as.refused(token);
                        }
                        sent.complete(answer);
                      });
            });
    return sent;
  }

  private CompletableFuture<String> authenticate(EtcdCluster.User user) {
    URI endpoint = endpoints.get(current.get());
    JsonNode body =
        JsonNodeFactory.instance
            .objectNode()
            .put("name", user.name())
            .put("password", user.password());
    HttpRequest request =
        HttpRequest.newBuilder(endpoint.resolve("/v3/auth/authenticate"))
            .header("Content-Type", "application/json")
            .POST(BodyPublishers.ofByteArray(JSON.write(body)))
            .build();
    return http.sendAsync(request, head -> new BoundedBody(MAX_ANSWER_BYTES))
        .orTimeout(LOGIN_NANOS, TimeUnit.NANOSECONDS)
        .handle(
            (response, broken) -> {
              try {
                if (response == null) {
                  throw unanswered(endpoint, broken, LOGIN_NANOS);
                }
                return read(endpoint, response).path("token").asText();
              } catch (EtcdFailure e) {
                String why = "user " + user + ": " + e.getMessage();
                throw new CompletionException(
                    e.kind() == Kind.REFUSED
                        ? new EtcdFailure(Kind.REFUSED, why)
                        : new EtcdFailure(Kind.NOT_DONE, why)); // what it was for was not sent
              }
            });
  }

  private EtcdFailure unanswered(URI endpoint, @Nullable Throwable broken, long waited) {
    Throwable cause =
        broken instanceof CompletionException && broken.getCause() != null
            ? broken.getCause()
            : broken;
    String at = "etcd at " + endpoint;
    if (cause instanceof EtcdFailure failure) {
      return failure;
    }
    if (cause instanceof SSLException) {
      return new EtcdFailure(Kind.NOT_DONE, at + ": no TLS connection: " + line(cause));
    }
    if (closed) {
      return new EtcdFailure(Kind.UNKNOWN, at + " is not asked any more");
    }
    if (cause instanceof ConnectException || cause instanceof HttpConnectTimeoutException) {
      return new EtcdFailure(Kind.NOT_DONE, at + " can't be reached");
    }
    if (cause instanceof TimeoutException) {
      return new EtcdFailure(
          Kind.UNKNOWN,
          at + " has not answered within " + TimeUnit.NANOSECONDS.toMillis(waited) + " ms");
    }
    return new EtcdFailure(Kind.UNKNOWN, at + ": the connection broke: " + line(cause));
  }

  private static JsonNode read(URI endpoint, HttpResponse<byte[]> response) throws EtcdFailure {
    JsonNode tree;
    try {
      tree = JSON.read(response.body());
    } catch (IOException e) {
      tree = MissingNode.getInstance();
    }
    if (response.statusCode() == 200 && tree.path("header").isObject()) {
      return tree;
    }
    throw new EtcdFailure(
        kind(response.statusCode(), tree),
        "etcd at %s: HTTP %d: %s"
            .formatted(
                endpoint,
                response.statusCode(),
                OneLine.of(
                    tree.hasNonNull("error")
                        ? tree.path("error").asText()
                        : new String(response.body(), UTF_8).strip(),
                    200)));
  }

  /** By gRPC's number of the error, which the gateway says beside HTTP's. */
  private static Kind kind(int status, JsonNode tree) {
    if (status == UNAUTHORIZED) {
      return Kind.NOT_DONE; // the token is not taken any more; with another one it may be done
    }
    return switch (tree.path("code").asInt()) {
      case 5 -> Kind.NO_LEASE; // what else is not found is no error
      case 8 -> Kind.NOT_DONE; // too much at once, or no space
      case 3, 6, 7, 9, 11, 12, 16 -> Kind.REFUSED;
      case 0 -> status >= 400 && status < 500 ? Kind.REFUSED : Kind.UNKNOWN;
      default -> Kind.UNKNOWN; // it may still be agreed on
    };
  }

  private static String line(@Nullable Throwable cause) {
    return cause == null ? "no reason" : OneLine.of(cause.toString(), 200);
  }

  /**
   * Asks for an answer that goes on, until it ends, or is ended.
   *
   * @param lines gets it
   * @param ended completes then, however it ends; whoever completes it ends it
   * @param most nanoseconds after which it is ended
   */
  void stream(
      String path,
      JsonNode body,
      Flow.Subscriber<String> lines,
      CompletableFuture<Boolean> ended,
      long most) {
    int at = current.get();
    CompletableFuture<HttpResponse<@Nullable Void>> sent;
    try {
      sent = send(endpoints.get(at), path, body, BodyHandlers.fromLineSubscriber(lines));
    } catch (EtcdFailure e) {
      ended.complete(false);
      return;
    }
    var unused =
        sent.whenComplete(
            (response, broken) -> {
              if (broken != null && !sent.isCancelled()) {
                failed(at, unanswered(endpoints.get(at), broken, most));
              }
              ended.complete(false);
            });
    var alsoUnused =
        ended
            .completeOnTimeout(true, most, TimeUnit.NANOSECONDS)
            .whenComplete((inTime, broken) -> sent.cancel(true));
  }

  /** Ends what is under way; whatever is asked from now on is refused. */
  @Override
  public void close() {
    closed = true;
    underWay.forEach(sent -> sent.cancel(true));
  }

  boolean isClosed() {
    return closed;
  }

  @Override
  public String toString() {
    return cluster.toString();
  }
}
