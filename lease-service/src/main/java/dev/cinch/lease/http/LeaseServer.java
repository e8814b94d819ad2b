package dev.cinch.lease.http;

import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.LeaseService;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Outcome;
import dev.cinch.lease.ServiceInfo;
import io.netty.channel.Channel;
import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.file.FileSystemOptions;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.core.net.impl.ConnectionBase;
import java.io.IOException;
import java.net.URI;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Serves any {@link LeaseService} over HTTP/1.1 (docs/lease-api.md). Thread-safe.
 *
 * <p>An event loop reads, carries out what waits for nothing, and writes; what may have to wait for
 * a store's I/O, or takes long, is left to worker threads.
 *
 * <p>Needs Vert.x ({@code io.vertx:vertx-core}), which a program that runs a server declares as a
 * dependency of its own: clients are spared it.
 */
@CheckReturnValue
public final class LeaseServer implements AutoCloseable {
  /** The largest body of a request, bytes. */
  public static final int MAX_BODY_BYTES = 1 << 20;

  /** The port unless told otherwise. */
  public static final int DEFAULT_PORT = 8470;

  /** The longest that {@link #drain} takes, milliseconds. */
  public static final long DRAIN_MS = 5_000;

  static final String CONTENT_TYPE = "application/json";

  /** How often it is looked who takes too long. */
  private static final long SWEEP_MS = 500;

  /** More witnesses than that a worker writes. */
  private static final int WRITTEN_AT_ONCE = 64;

  /** Where an event loop's context has its {@link Turn}. */
  private static final Object TURN = new Object();

  private static final long START_TIMEOUT_S = 30;
  private static final long MAINTENANCE_MS = 1_000;
  private static final int MAINTENANCE_THREADS = 2;
  private static final Logger log = LoggerFactory.getLogger(LeaseServer.class);

  private final Vertx vertx;
  private final Routes routes;
  private final ServerMetrics metrics;
  private final String host;
  private final Runnable maintenance;
  private final Supplier<Health> health;
  private final Gates gates;
  private final Workers workers;
  private final WaitingRoom waiting;
  private final Watching watching;
  private final AtomicBoolean maintaining = new AtomicBoolean();

  /** Whether the service tells what requests would wait for. */
  private final boolean waits;

  private volatile boolean closing;
  private int port;

  private LeaseServer(Builder b) throws IOException {
    metrics = new ServerMetrics(b.clock);
    routes = new Routes(b.service, b.info, b.health, b.cell, metrics);
    host = b.host;
    maintenance = b.maintenance;
    health = b.health;
    var names = new ArrayList<String>(b.names);
    names.add(b.host);
    gates = new Gates(b.limits, new Callers(names), b.clock);
    workers = new Workers(Math.max(8, 2 * Runtime.getRuntime().availableProcessors()));
    vertx =
        Vertx.vertx(
            new VertxOptions()
                .setWorkerPoolSize(MAINTENANCE_THREADS)
                .setFileSystemOptions(
                    new FileSystemOptions()
                        .setClassPathResolvingEnabled(false)
                        .setFileCachingEnabled(false)));
    vertx.exceptionHandler(e -> failed("the lease server failed", e));
    Context loop = vertx.getOrCreateContext();
    waiting =
        new WaitingRoom(
            Math.max(1, b.limits.connections() / 2),
            b.timers == null ? new LoopTimers(vertx, loop) : b.timers.apply(loop),
            new Attempts(b.service, workers, task -> loop.runOnContext(v -> task.run())));
    waits = b.service.listen(waiting);
    watching =
        new Watching(
            Math.max(1, b.limits.connections() / 8),
            b.service,
            new LoopTimers(vertx, loop),
            workers);
    boolean watched = b.service.listen(watching.listener());
    assert watched == waits;
    try {
      var options =
          b.options
              .apply(
                  new HttpServerOptions()
                      .setHost(b.host)
                      .setPort(b.port)
                      .setTcpNoDelay(true)
                      .setHandle100ContinueAutomatically(true))
              // The gate knows HTTP/1.1 alone: nothing else may go past it.
              .setHttp2ClearTextEnabled(false)
              .setUseAlpn(false)
              .setPerFrameWebSocketCompressionSupported(false)
              .setPerMessageWebSocketCompressionSupported(false);
      HttpServer server =
          await(
              vertx
                  .createHttpServer(options)
                  .connectionHandler(c -> gates.connected(((ConnectionBase) c).channel()))
                  .requestHandler(this::read)
                  .listen());
      port = server.actualPort();
    } catch (IOException e) {
      workers.close();
      var unused = vertx.close();
      throw new IOException("can't serve on " + b.host + ":" + b.port + ": " + e.getMessage(), e);
    }
    vertx.setPeriodic(SWEEP_MS, timer -> sweep());
    vertx.setPeriodic(MAINTENANCE_MS, timer -> maintain());
    log.info("lease service at {}", uri());
  }

  /**
   * Prepares a server.
   *
   * @param service what it serves
   * @param info what {@code GET /v1/service} says
   */
  public static Builder builder(LeaseService service, Supplier<ServiceInfo> info) {
    return new Builder(service, info);
  }

  /** What a server is made of; not thread-safe. */
  public static final class Builder {
    private final LeaseService service;
    private final Supplier<ServiceInfo> info;
    private String host = "127.0.0.1";
    private int port = DEFAULT_PORT;
    private Collection<String> names = List.of();
    private Supplier<Health> health;
    private @Nullable Supplier<Optional<ObjectNode>> cell;
    private Runnable maintenance = () -> {};
    private UnaryOperator<HttpServerOptions> options = o -> o;
    private ServerLimits limits = ServerLimits.ofProcess();
    private LongSupplier clock = System::nanoTime;
    private @Nullable Function<Context, WaitingRoom.Loop> timers;

    private Builder(LeaseService service, Supplier<ServiceInfo> info) {
      this.service = service;
      this.info = info;
      this.health = () -> Health.of(info.get());
    }

    /**
     * What {@code GET /healthz} and {@code GET /readyz} say, instead of what {@code info} does.
     * Asked on an event loop: it must not wait.
     */
    @CanIgnoreReturnValue
    public Builder health(Supplier<Health> health) {
      this.health = health;
      return this;
    }

    /**
     * What {@code GET /v1/cell} says of this node of a cell; there is no such path unless told.
     * Asked on a worker thread, so it may wait for a moment. Empty while that is not known.
     */
    @CanIgnoreReturnValue
    public Builder cell(Supplier<Optional<ObjectNode>> cell) {
      this.cell = cell;
      return this;
    }

    /** The address to listen at; {@code 127.0.0.1} unless told otherwise. */
    @CanIgnoreReturnValue
    public Builder host(String host) {
      this.host = host;
      return this;
    }

    /**
     * Under which names clients ask for it, beside {@code localhost}, what {@link #host} was given,
     * and addresses. Requests for others are refused: a page in a browser can have a name of its
     * own lead here.
     */
    @CanIgnoreReturnValue
    public Builder names(Collection<String> names) {
      this.names = List.copyOf(names);
      return this;
    }

    /**
     * The port, 0 for any that is free.
     *
     * @throws IllegalArgumentException unless from 0 to 65,535
     */
    @CanIgnoreReturnValue
    public Builder port(int port) {
      if (port < 0 || port > 65_535) {
        throw new IllegalArgumentException("a port is 0 to 65535, not " + port);
      }
      this.port = port;
      return this;
    }

    /** Run every second on a worker thread, never twice at once: the service's maintenance. */
    @CanIgnoreReturnValue
    public Builder maintenance(Runnable maintenance) {
      this.maintenance = maintenance;
      return this;
    }

    /**
     * How many connections may be open; at most 4,096 unless told otherwise, and fewer where the
     * heap is small or the process may have few files open.
     *
     * @throws IllegalArgumentException unless at least 1
     */
    @CanIgnoreReturnValue
    public Builder connections(int most) {
      limits = limits.withConnections(most);
      return this;
    }

    /**
     * How many connections may be open from one address (of IPv6, one network of 64 bits); half of
     * all unless told otherwise.
     *
     * @throws IllegalArgumentException unless at least 1
     */
    @CanIgnoreReturnValue
    public Builder connectionsPerAddress(int most) {
      limits = limits.withPerPeer(most);
      return this;
    }

    /** For tests. */
    @CanIgnoreReturnValue
    Builder limits(ServerLimits limits) {
      this.limits = limits;
      return this;
    }

    /** For tests: a monotonic clock, nanoseconds. */
    @CanIgnoreReturnValue
    Builder clock(LongSupplier clock) {
      this.clock = clock;
      return this;
    }

    /** For tests: timers of requests that wait, on a loop. */
    @CanIgnoreReturnValue
    Builder timers(Function<Context, WaitingRoom.Loop> timers) {
      this.timers = timers;
      return this;
    }

    /**
     * Changes the underlying server's options, for TLS say. Other protocols than HTTP/1.1 stay off.
     * With TLS a connection counts from the end of its handshake.
     */
    @CanIgnoreReturnValue
    public Builder options(UnaryOperator<HttpServerOptions> options) {
      this.options = options;
      return this;
    }

    /**
     * Listens.
     *
     * @throws IOException if the address can't be had; one line that names it
     */
    @CheckReturnValue
    public LeaseServer start() throws IOException {
      return new LeaseServer(this);
    }
  }

  /** The port listened at. */
  public int port() {
    return port;
  }

  /** Where clients find it. */
  public URI uri() {
    String shown = host.indexOf(':') >= 0 ? "[" + host + "]" : host;
    return URI.create("http://" + shown + ":" + port);
  }

  /** Ends requests, answers, pauses and a draining that take too long. */
  void sweep() {
    gates.sweep();
  }

  /** The gate lets no more through than a body may have, and one request at a time. */
  private void read(HttpServerRequest request) {
    var body = new Body();
    request.exceptionHandler(e -> log.debug("a request broke off: {}", e.toString()));
    request.handler(body::add);
    request.endHandler(end -> dispatch(request, body.bytes()));
  }

  private void dispatch(HttpServerRequest request, byte[] body) {
    // Vert.x leaves the body out of an answer to HEAD.
    boolean reads =
        request.method().equals(HttpMethod.GET) || request.method().equals(HttpMethod.HEAD);
    String method = reads ? "GET" : request.method().name();
    String path = request.path() == null ? "" : request.path();
    String query = request.query();
    Wire wire = Wire.of(request.getHeader("Content-Type"));
    HttpServerResponse response = request.response();
    if (Routes.isHealth(path)) {
      write(response, answer(method, path, query, body, wire));
      return;
    }
    if (waits && method.equals("GET") && path.equals(Watching.PATH)) {
      if (request.method().equals(HttpMethod.HEAD)) {
        var unused = response.putHeader("Content-Type", Watching.CONTENT_TYPE).end();
        return;
      }
      watching.serve(
          request,
          vertx.getOrCreateContext(),
          refusal -> write(response, Written.of(refusal, Wire.JSON)));
      return;
    }
    if (method.equals("GET") && path.equals(Routes.METRICS)) {
      submit(Workers.Lane.OTHERS, response, wire, () -> Written.metrics(routes.metrics(waiting())));
      return;
    }
    if (!Routes.isLarge(body.length)) {
      Optional<Routes.Asked> asked;
      try {
        asked = routes.asked(method, path, query, body, wire);
      } catch (WireException e) {
        write(response, Written.of(Routes.malformed(e), wire));
        return;
      }
      if (asked.isPresent() && asked.get().waitMs() > 0 && waits) {
        await(asked.get(), request);
        return;
      }
      if (asked.isPresent()) {
        turn().add(request(asked.get(), method, path, response));
        return;
      }
    }
    submit(
        Routes.lane(path, body.length),
        response,
        wire,
        () -> answer(method, path, query, body, wire));
  }

  /** What to do with an operation's outcomes on the event loop. */
  private Turn.Request request(
      Routes.Asked asked, String method, String path, HttpServerResponse response) {
    return new Turn.Request(
        asked,
        now -> {
          if (now.size() < asked.operations().size()) {
            submit(asked.lane(), response, asked.wire(), () -> answerLater(asked, now));
          } else if (isLarge(now)) {
            submit(
                asked.lane(),
                response,
                asked.wire(),
                () -> Written.of(routes.answer(asked, now), asked.wire()));
          } else {
            write(response, Written.of(routes.answer(asked, now), asked.wire()));
          }
        },
        e -> write(response, Written.of(Routes.failed(method, path, e), asked.wire())));
  }

  /** Has an acquire wait where others have the leases, until its sender goes away. */
  private void await(Routes.Asked asked, HttpServerRequest from) {
    HttpServerResponse response = from.response();
    Channel channel = ((ConnectionBase) from.connection()).channel();
    Context loop = vertx.getOrCreateContext();
    var sender =
        new WaitingRoom.Sender() {
          @Override
          public void waits() {
            Gate gate = channel.pipeline().get(Gate.class);
            if (gate != null) {
              channel.eventLoop().execute(gate::waits);
            }
          }

          @Override
          public void outcome(Outcome outcome) {
            failed(routes.answer(asked, List.of(outcome)));
          }

          @Override
          public void failed(Answer answer) {
            loop.runOnContext(v -> write(response, Written.of(answer, asked.wire())));
          }
        };
    var waiter =
        new WaitingRoom.Request(
            (Operation.Acquire) asked.operations().get(0), asked.waitMs(), sender);
    response.closeHandler(closed -> waiting.run(() -> waiting.cancel(waiter)));
    waiting.run(() -> waiting.ask(waiter));
  }

  private static boolean isLarge(List<Outcome> outcomes) {
    return outcomes.stream()
            .mapToInt(o -> o instanceof Outcome.Granted g ? g.grant().witnesses().size() : 0)
            .sum()
        > WRITTEN_AT_ONCE;
  }

  /** Carries out those of a request's operations that had to wait for a thread that may. */
  private Written answerLater(Routes.Asked asked, List<Outcome> first) {
    return Written.of(routes.answerRest(asked, first), asked.wire());
  }

  /** Has a worker make an answer, which the event loop then writes. */
  private void submit(
      Workers.Lane lane, HttpServerResponse response, Wire wire, Supplier<Written> answer) {
    Context loop = vertx.getOrCreateContext();
    Runnable task =
        () -> {
          Written written = answer.get();
          loop.runOnContext(v -> write(response, written));
        };
    if (!workers.submit(lane, task)) {
      metrics.turnedAway();
      Answer overloaded = Answer.error(503, Answer.OVERLOADED, "too many requests at once", 100);
      write(response, Written.of(overloaded, wire));
    }
  }

  /** Of this event loop. */
  private Turn turn() {
    Context loop = vertx.getOrCreateContext();
    Turn turn = loop.get(TURN);
    if (turn == null) {
      turn = new Turn(routes.service(), task -> loop.runOnContext(v -> task.run()));
      loop.put(TURN, turn);
    }
    return turn;
  }

  /** How many requests wait for leases that others have; may change meanwhile. */
  int waiting() {
    return waiting.size();
  }

  private Written answer(
      String method, String path, @Nullable String query, byte[] body, Wire wire) {
    try {
      return Written.of(routes.answer(method, path, query, body, wire), wire);
    } catch (RuntimeException e) {
      log.error("{} {} could not be answered", method, path, e);
      return Written.of(Answer.error(500, Answer.INTERNAL, "the lease service failed"), wire);
    }
  }

  /**
   * An answer in bytes. A worker makes long ones: they take a while, and where that fails the
   * sender still has to hear of it.
   */
  private record Written(int status, Buffer body, String contentType, String allow) {
    static Written metrics(byte[] text) {
      return new Written(200, Buffer.buffer(text), ServerMetrics.CONTENT_TYPE, "");
    }

    static Written of(Answer answer, Wire wire) {
      Wire as = answer.status() == 200 ? wire : Wire.JSON; // errors are for people
      return new Written(
          answer.status(), Buffer.buffer(as.write(answer.body())), as.contentType, answer.allow());
    }
  }

  private static void write(HttpServerResponse response, Written answer) {
    if (response.closed() || response.ended()) {
      return;
    }
    response
        .setStatusCode(answer.status())
        .putHeader("Content-Type", answer.contentType())
        .putHeader("Content-Length", Integer.toString(answer.body().length())); // to HEAD as well
    if (answer.status() == 503) {
      response.putHeader("Retry-After", "1");
    }
    if (!answer.allow().isEmpty()) {
      response.putHeader("Allow", answer.allow());
    }
    var unused = response.end(answer.body());
  }

  private boolean isSuperseded() {
    return health.get().obstacle().filter(o -> o.reason() == Reason.SUPERSEDED).isPresent();
  }

  /**
   * Answers those who wait for leases or watch them. What becomes of these is no longer heard here
   * once another one has taken over: they ask that one.
   */
  private void endWaits() {
    waiting.run(waiting::end);
    watching.end();
  }

  /** Runs the service's maintenance, unless it runs or the server is being closed. */
  void maintain() {
    if (closing || !maintaining.compareAndSet(false, true)) {
      return;
    }
    vertx
        .executeBlocking(
            () -> {
              maintenance.run();
              if (isSuperseded()) {
                endWaits();
              }
              return true;
            },
            false)
        .onComplete(
            done -> {
              maintaining.set(false);
              if (done.failed()) {
                failed("maintenance failed", done.cause());
              }
            });
  }

  /**
   * Vert.x catches what its threads meet; an error of Java's own is to end them as it ends others.
   */
  private void failed(String what, Throwable e) {
    // Closing interrupts what runs, and rejects what was about to: that is no fault.
    if (!closing) {
      log.error(what, e);
    }
    if (e instanceof Error) {
      Thread thread = Thread.currentThread();
      thread.getUncaughtExceptionHandler().uncaughtException(thread, e);
    }
  }

  private static <T> T await(Future<T> future) throws IOException {
    try {
      return future
          .toCompletionStage()
          .toCompletableFuture()
          .get(START_TIMEOUT_S, TimeUnit.SECONDS);
    } catch (ExecutionException e) {
      Throwable cause = e.getCause() == null ? e : e.getCause();
      throw new IOException(String.valueOf(cause.getMessage()), cause);
    } catch (TimeoutException e) {
      throw new IOException("no answer within " + START_TIMEOUT_S + " s", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted", e);
    }
  }

  /**
   * Stops listening, and lets requests be answered that are under way, or come within {@link
   * Gates#LAST_MS} on a connection that is there; connections end after that. {@link #close} is
   * still to be called. Not to be called by an event loop.
   *
   * @return how many requests had no answer after {@link #DRAIN_MS}; earlier 0 if all had one
   */
  public CompletionStage<Integer> drain() {
    endWaits();
    return gates.drain(DRAIN_MS);
  }

  /** Stops listening and ends its threads; requests under way are cut off. */
  @Override
  public void close() throws IOException {
    closing = true;
    workers.close();
    var unused = await(vertx.close());
  }
}
