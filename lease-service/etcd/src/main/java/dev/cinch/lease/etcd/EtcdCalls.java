package dev.cinch.lease.etcd;

import com.google.errorprone.annotations.CheckReturnValue;
import com.google.protobuf.Message;
import dev.cinch.lease.OneLine;
import dev.cinch.lease.etcd.EtcdFailure.Kind;
import dev.cinch.lease.time.TimeSource;
import io.etcd.jetcd.api.AuthGrpc;
import io.etcd.jetcd.api.AuthenticateRequest;
import io.etcd.jetcd.api.AuthenticateResponse;
import io.etcd.jetcd.api.KVGrpc;
import io.etcd.jetcd.api.ResponseHeader;
import io.etcd.jetcd.api.WatchCreateRequest;
import io.etcd.jetcd.api.WatchGrpc;
import io.etcd.jetcd.api.WatchRequest;
import io.etcd.jetcd.api.WatchResponse;
import io.grpc.Attributes;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ClientStreamTracer;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.StreamObserver;
import io.netty.channel.ChannelOption;
import java.net.ConnectException;
import java.net.URI;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/**
 * Calls of etcd, at one of several endpoints: the next one when one does not answer, or says that
 * it can't. Also believes nothing more once etcd has forgotten something. Thread-safe; nothing
 * waits.
 */
@CheckReturnValue
final class EtcdCalls implements AutoCloseable {
  /** What an answer may have, bytes: some pages of the longest values. */
  private static final int MAX_ANSWER_BYTES = 32 << 20;

  /** For so long one endpoint is waited for, nanoseconds. */
  private static final long REQUEST_NANOS = 1_000_000_000L;

  /** Etcd takes its time over passwords; requests that wait for the token don't wait so long. */
  private static final long LOGIN_NANOS = 5 * REQUEST_NANOS;

  /** How soon a request is made again; then twice as long, up to {@link #MOST_RETRY_NANOS}. */
  static final long RETRY_NANOS = 1_000_000L;

  static final long MOST_RETRY_NANOS = 250_000_000L;

  /** So many calls there are at once, before another one is not begun. */
  private static final int MOST_UNDER_WAY = 16_384;

  /**
   * Where one member is.
   *
   * @param renewed how often its connection was given up
   */
  private record Endpoint(URI uri, ManagedChannel channel, AtomicInteger renewed) {
    @Override
    public String toString() {
      return "etcd at " + uri;
    }
  }

  private final EtcdCluster cluster;
  private final List<Endpoint> endpoints;

  /** None where etcd does not ask who it is. */
  private final @Nullable Login login;

  private final TimeSource time;
  private final RandomGenerator random;
  private final AtomicInteger current = new AtomicInteger();
  private final AtomicInteger underWay = new AtomicInteger();
  private volatile boolean closed;

  /** Of the cluster that was met first; 0 before. Guarded by this, as is what follows. */
  private long clusterId;

  private long revision;

  /** Why nothing is believed any more. */
  private @Nullable String forgotten;

  /**
   * Calls which connect when they are needed.
   *
   * @param random spreads out attempts
   */
  EtcdCalls(EtcdCluster cluster, TimeSource time, RandomGenerator random) {
    this.cluster = cluster;
    this.endpoints =
        cluster.endpoints().stream()
            .map(uri -> new Endpoint(uri, channel(cluster, uri), new AtomicInteger()))
            .toList();
    this.login = cluster.user().map(user -> new Login(() -> authenticate(user))).orElse(null);
    this.time = time;
    this.random = random;
  }

  private static ManagedChannel channel(EtcdCluster cluster, URI uri) {
    boolean encrypted = uri.getScheme().equals("https");
    int port = uri.getPort() != -1 ? uri.getPort() : encrypted ? 443 : 80;
    NettyChannelBuilder channel =
        NettyChannelBuilder.forAddress(uri.getHost(), port)
            .disableRetry() // what was sent once must not be sent again unseen
            .maxInboundMessageSize(MAX_ANSWER_BYTES)
            .withOption(
                ChannelOption.CONNECT_TIMEOUT_MILLIS,
                (int) TimeUnit.NANOSECONDS.toMillis(REQUEST_NANOS / 2));
    if (!encrypted) {
      channel.usePlaintext();
    } else {
      cluster.tls().ifPresent(channel::sslContext);
    }
    return channel.build();
  }

  long now() {
    return time.monotonicNanos();
  }

  /** The highest revision that an answer had. */
  synchronized long revision() {
    return revision;
  }

  TimeSource time() {
    return time;
  }

  /** Runs a task after a random time of at most so many nanoseconds. */
  void later(long nanos, Runnable task) {
    CompletableFuture.delayedExecutor(1 + random.nextLong(nanos), TimeUnit.NANOSECONDS)
        .execute(task);
  }

  /** Likewise tries again; fails for the given reason if there is no time left for that. */
  <T> CompletableFuture<T> later(
      long nanos, long giveUpAt, EtcdFailure why, Supplier<CompletableFuture<T>> task) {
    if (giveUpAt - now() <= nanos) {
      return CompletableFuture.failedFuture(why);
    }
    var waited = new CompletableFuture<@Nullable Void>();
    later(nanos, () -> waited.complete(null));
    return waited.thenCompose(
        nothing ->
            now() < giveUpAt
                ? task.get()
                : CompletableFuture.failedFuture(why)); // this process stood still meanwhile
  }

  /**
   * Asks for something that may be asked for twice, until there is an answer.
   *
   * @param giveUpAt by {@link #now}
   * @return the answer; or an {@link EtcdFailure}, of the last attempt
   */
  <Q extends Message, A extends Message> CompletableFuture<A> ask(
      MethodDescriptor<Q, A> method, Q request, long giveUpAt) {
    return ask(method, request, giveUpAt, RETRY_NANOS);
  }

  private <Q extends Message, A extends Message> CompletableFuture<A> ask(
      MethodDescriptor<Q, A> method, Q request, long giveUpAt, long retry) {
    return post(method, request, giveUpAt)
        .exceptionallyCompose(
            broken -> {
              EtcdFailure failure = EtcdFailure.of(broken);
              long longer = Math.min(2 * retry, MOST_RETRY_NANOS);
              return failure.kind() == Kind.REFUSED
                  ? CompletableFuture.failedFuture(failure)
                  : later(retry, giveUpAt, failure, () -> ask(method, request, giveUpAt, longer));
            });
  }

  /**
   * Asks once, at one endpoint.
   *
   * @param giveUpAt by {@link #now}; a second from when it is sent, at most
   * @return the answer, or an {@link EtcdFailure}
   */
  <Q extends Message, A extends Message> CompletableFuture<A> post(
      MethodDescriptor<Q, A> method, Q request, long giveUpAt) {
    long left = Math.min(giveUpAt - now(), REQUEST_NANOS);
    if (left <= 0 || underWay.get() >= MOST_UNDER_WAY) {
      String why = left <= 0 ? "there was no time to ask " : "too many requests wait for ";
      return CompletableFuture.failedFuture(new EtcdFailure(Kind.NOT_DONE, why + this));
    }
    long seen;
    synchronized (this) {
      if (closed || forgotten != null) {
        return CompletableFuture.failedFuture(
            new EtcdFailure(
                Kind.REFUSED, forgotten != null ? forgotten : this + " is not asked any more"));
      }
      seen = revision;
    }
    underWay.incrementAndGet();
    int at = current.get();
    Endpoint endpoint = endpoints.get(at);
    return send(endpoint, method, request, left, login)
        .thenApply(
            answer -> {
              boolean latest = KVGrpc.SERVICE_NAME.equals(method.getServiceName());
              check(endpoint, header(answer), latest ? seen : 0);
              return answer;
            })
        .whenComplete((answer, broken) -> underWay.decrementAndGet());
  }

  private static ResponseHeader header(Message answer) {
    return (ResponseHeader)
        answer.getField(answer.getDescriptorForType().findFieldByName("header"));
  }

  /**
   * Looks at whether an answer comes from the etcd that was met first, with all that it had: one
   * that was emptied, or restored from a backup, has forgotten leases that may still be held. Seen
   * only by the process that met it before.
   *
   * @param atLeast the revision that it has to have, as those of linearizable requests; 0 for one
   *     that may be of the past
   */
  private synchronized void check(Endpoint endpoint, ResponseHeader header, long atLeast) {
    if (clusterId == 0) {
      clusterId = header.getClusterId();
    } else if (clusterId != header.getClusterId()) {
      skip(endpoint);
      throw new CompletionException(
          new EtcdFailure(
              Kind.NOT_DONE,
              "%s is of cluster %s, and others are of %s; name endpoints of one cluster"
                  .formatted(
                      endpoint,
                      Long.toUnsignedString(header.getClusterId()),
                      Long.toUnsignedString(clusterId))));
    }
    if (header.getRevision() < atLeast) {
      forgotten =
          ("%s is at revision %d, and was at %d: it was emptied or restored from a backup; start a"
                  + " new instance of the lease service")
              .formatted(endpoint, header.getRevision(), atLeast);
    }
    if (forgotten != null) {
      throw new CompletionException(new EtcdFailure(Kind.REFUSED, forgotten));
    }
    revision = Math.max(revision, header.getRevision());
  }

  /** The next endpoint is asked from now on, unless another request found out the same. */
  private void skip(Endpoint endpoint) {
    int at = endpoints.indexOf(endpoint);
    boolean unused = current.compareAndSet(at, (at + 1) % endpoints.size());
  }

  /** A call's options, and whether it was begun on a connection. */
  private static final class Sending extends ClientStreamTracer.Factory {
    private final CallOptions options;
    volatile boolean sent;

    Sending(long nanos, @Nullable CompletableFuture<String> token) {
      CallOptions timed =
          CallOptions.DEFAULT
              .withDeadlineAfter(nanos, TimeUnit.NANOSECONDS)
              .withStreamTracerFactory(this);
      options = token == null ? timed : timed.withCallCredentials(new Login.Credentials(token));
    }

    @Override
    public ClientStreamTracer newClientStreamTracer(
        ClientStreamTracer.StreamInfo info, Metadata headers) {
      return new ClientStreamTracer() {
        @Override
        public void streamCreated(Attributes transport, Metadata with) {
          sent = true;
        }
      };
    }
  }

  /**
   * Sends a request.
   *
   * @param as who asks
   */
  private <Q, A> CompletableFuture<A> send(
      Endpoint endpoint, MethodDescriptor<Q, A> method, Q request, long nanos, @Nullable Login as) {
    var answer = new CompletableFuture<A>();
    CompletableFuture<String> token = as == null ? null : as.token();
    var sending = new Sending(nanos, token);
    int renewed = endpoint.renewed().get();
    ClientCalls.asyncUnaryCall(
        endpoint.channel().newCall(method, sending.options),
        request,
        new StreamObserver<A>() {
          @Override
          public void onNext(A got) {
            answer.complete(got);
          }

          @Override
          public void onError(Throwable broken) {
            Status status = Status.fromThrowable(broken);
            if (as != null && token != null && isOfToken(status)) {
              as.refused(token);
            }
            EtcdFailure failure = failure(endpoint, status, sending.sent, nanos);
            boolean hadNoTime =
                status.getCode() == Status.Code.DEADLINE_EXCEEDED && nanos < REQUEST_NANOS;
            if (!hadNoTime && (failure.kind() == Kind.NOT_DONE || failure.kind() == Kind.UNKNOWN)) {
              giveUp(endpoint, renewed);
            }
            answer.completeExceptionally(failure);
          }

          @Override
          public void onCompleted() {}
        });
    return answer;
  }

  /** Goes on elsewhere; whoever comes back gets a connection that is new, and made at once. */
  private void giveUp(Endpoint endpoint, int renewed) {
    if (endpoint.renewed().compareAndSet(renewed, renewed + 1)) {
      endpoint.channel().enterIdle();
    }
    skip(endpoint);
  }

  private CompletableFuture<String> authenticate(EtcdCluster.User user) {
    AuthenticateRequest request =
        AuthenticateRequest.newBuilder().setName(user.name()).setPassword(user.password()).build();
    return send(
            endpoints.get(current.get()),
            AuthGrpc.getAuthenticateMethod(),
            request,
            LOGIN_NANOS,
            null)
        .handle(
            (answer, broken) -> {
              if (broken == null) {
                return answer;
              }
              EtcdFailure failure = EtcdFailure.of(broken);
              throw new CompletionException(
                  new EtcdFailure(
                      failure.kind() == Kind.REFUSED
                          ? Kind.REFUSED
                          : Kind.NOT_DONE, // what it was for was not sent
                      "user " + user + ": " + failure.getMessage()));
            })
        .thenApply(AuthenticateResponse::getToken);
  }

  /** Whether another token may be taken. */
  private static boolean isOfToken(Status status) {
    return status.getCode() == Status.Code.UNAUTHENTICATED
        || String.valueOf(status.getDescription()).contains("revision of auth store is old");
  }

  private EtcdFailure failure(Endpoint endpoint, Status status, boolean sent, long waited) {
    Kind kind = sent ? kind(status) : Kind.NOT_DONE;
    for (Throwable cause = status.getCause(); cause != null; cause = cause.getCause()) {
      if (cause instanceof EtcdFailure failure) { // there is no token
        return failure;
      }
      if (cause instanceof SSLException) {
        return new EtcdFailure(kind, endpoint + ": no TLS connection: " + line(cause.toString()));
      }
      if (cause instanceof ConnectException) {
        return new EtcdFailure(kind, endpoint + " can't be reached");
      }
    }
    if (closed) {
      return new EtcdFailure(kind, endpoint + " is not asked any more");
    }
    if (status.getCode() == Status.Code.DEADLINE_EXCEEDED) {
      long ms = TimeUnit.NANOSECONDS.toMillis(waited);
      return new EtcdFailure(kind, endpoint + " has not answered within " + ms + " ms");
    }
    return new EtcdFailure(
        kind,
        "%s: %s: %s"
            .formatted(
                endpoint,
                status.getCode(),
                line(String.valueOf(status.getDescription()).lines().findFirst().orElse(""))));
  }

  private static Kind kind(Status status) {
    if (isOfToken(status)) {
      return Kind.NOT_DONE;
    }
    return switch (status.getCode()) {
      case NOT_FOUND -> Kind.NO_LEASE; // what else is not found is no error
      case RESOURCE_EXHAUSTED -> Kind.NOT_DONE; // too much at once, or no space
      case INVALID_ARGUMENT,
          ALREADY_EXISTS,
          PERMISSION_DENIED,
          FAILED_PRECONDITION,
          OUT_OF_RANGE,
          UNIMPLEMENTED ->
          Kind.REFUSED;
      default -> Kind.UNKNOWN; // it may still be agreed on
    };
  }

  private static String line(String text) {
    return OneLine.of(text, 200);
  }

  /**
   * Watches at one endpoint, until that ends, or is ended.
   *
   * @param heard is told each message; says whether it goes on
   * @param ended runs in the end
   * @param most nanoseconds after which it is ended
   */
  void watch(WatchCreateRequest create, Predicate<WatchResponse> heard, Runnable ended, long most) {
    Endpoint endpoint = endpoints.get(current.get());
    int renewed = endpoint.renewed().get();
    CompletableFuture<String> token = login == null ? null : login.token();
    ClientCall<WatchRequest, WatchResponse> call =
        endpoint.channel().newCall(WatchGrpc.getWatchMethod(), new Sending(most, token).options);
    StreamObserver<WatchRequest> requests =
        ClientCalls.asyncBidiStreamingCall(
            call,
            new StreamObserver<WatchResponse>() {
              private boolean any;

              @Override
              public void onNext(WatchResponse message) {
                any = true;
                if (message.getCanceled() && login != null && token != null) {
                  login.refused(token); // it is not said otherwise that it is not known any more
                }
                if (!heard.test(message)) {
                  call.cancel("over", null);
                }
              }

              @Override
              public void onError(Throwable broken) {
                if (!any) {
                  giveUp(endpoint, renewed);
                }
                ended.run();
              }

              @Override
              public void onCompleted() {
                ended.run();
              }
            });
    requests.onNext(WatchRequest.newBuilder().setCreateRequest(create).build());
  }

  /** Ends what is under way; whatever is asked from now on is refused. */
  @Override
  public void close() {
    closed = true;
    endpoints.forEach(endpoint -> Objects.requireNonNull(endpoint.channel().shutdownNow()));
  }

  boolean isClosed() {
    return closed;
  }

  @Override
  public String toString() {
    return cluster.toString();
  }
}
