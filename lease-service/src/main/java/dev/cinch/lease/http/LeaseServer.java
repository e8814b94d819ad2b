package dev.cinch.lease.http;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.LeaseService;
import dev.cinch.lease.ServiceInfo;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.file.FileSystemOptions;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import java.io.IOException;
import java.net.URI;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Serves any {@link LeaseService} over HTTP/1.1 (docs/lease-api.md). Thread-safe.
 *
 * <p>Event loops read and write; the service is called on worker threads, since it signs and may do
 * a store's I/O.
 */
@CheckReturnValue
public final class LeaseServer implements AutoCloseable {
  /** The largest body of a request, bytes. */
  public static final int MAX_BODY_BYTES = 1 << 20;

  /** The port unless told otherwise. */
  public static final int DEFAULT_PORT = 8470;

  /** A body too large is read and dropped up to here, so that its sender hears the answer. */
  private static final int MAX_DROPPED_BYTES = 16 << 20;

  /** Requests under way at once; more are told to come back. */
  private static final int MAX_IN_FLIGHT = 1_000;

  private static final int IDLE_TIMEOUT_S = 60;
  private static final long START_TIMEOUT_S = 30;
  private static final long MAINTENANCE_MS = 1_000;
  private static final Logger log = LoggerFactory.getLogger(LeaseServer.class);

  private final Vertx vertx;
  private final Routes routes;
  private final String host;
  private final AtomicInteger inFlight = new AtomicInteger();
  private final AtomicBoolean maintaining = new AtomicBoolean();
  private int port;

  private LeaseServer(Builder b) throws IOException {
    routes = new Routes(b.service, b.info);
    host = b.host;
    vertx =
        Vertx.vertx(
            new VertxOptions()
                .setWorkerPoolSize(Math.max(8, 2 * Runtime.getRuntime().availableProcessors()))
                .setFileSystemOptions(
                    new FileSystemOptions()
                        .setClassPathResolvingEnabled(false)
                        .setFileCachingEnabled(false)));
    try {
      var options =
          b.options.apply(
              new HttpServerOptions()
                  .setHost(b.host)
                  .setPort(b.port)
                  .setTcpNoDelay(true)
                  .setIdleTimeout(IDLE_TIMEOUT_S)
                  .setHandle100ContinueAutomatically(true));
      HttpServer server =
          await(vertx.createHttpServer(options).requestHandler(this::read).listen());
      port = server.actualPort();
    } catch (IOException e) {
      var unused = vertx.close();
      throw new IOException("can't serve on " + b.host + ":" + b.port + ": " + e.getMessage(), e);
    }
    vertx.setPeriodic(MAINTENANCE_MS, timer -> maintain(b.maintenance));
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
    private Runnable maintenance = () -> {};
    private UnaryOperator<HttpServerOptions> options = o -> o;

    private Builder(LeaseService service, Supplier<ServiceInfo> info) {
      this.service = service;
      this.info = info;
    }

    /** The address to listen at; {@code 127.0.0.1} unless told otherwise. */
    @CanIgnoreReturnValue
    public Builder host(String host) {
      this.host = host;
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

    /** Changes the underlying server's options, for TLS say. */
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

  private void read(HttpServerRequest request) {
    var body = Buffer.buffer();
    var received = new AtomicInteger();
    request.exceptionHandler(e -> log.debug("a request broke off: {}", e.toString()));
    request.handler(
        part -> {
          // One request's events come from one thread.
          if (received.addAndGet(part.length()) <= MAX_BODY_BYTES) {
            body.appendBuffer(part);
          } else if (received.get() > MAX_DROPPED_BYTES) {
            request.connection().close();
          }
        });
    request.endHandler(
        end -> {
          if (received.get() > MAX_BODY_BYTES) {
            write(
                request.response(),
                Written.of(
                    Answer.error(
                        413, Answer.TOO_LARGE, "a body has at most " + MAX_BODY_BYTES + " bytes")));
          } else {
            dispatch(request, body.getBytes());
          }
        });
  }

  private void dispatch(HttpServerRequest request, byte[] body) {
    if (inFlight.incrementAndGet() > MAX_IN_FLIGHT) {
      inFlight.decrementAndGet();
      write(
          request.response(),
          Written.of(Answer.error(503, Answer.OVERLOADED, "too many requests at once", 100)));
      return;
    }
    String method = request.method().name();
    String path = request.path() == null ? "" : request.path();
    String query = request.query();
    vertx
        .executeBlocking(() -> Written.of(routes.answer(method, path, query, body)), false)
        .onComplete(
            done -> {
              inFlight.decrementAndGet();
              if (done.failed()) {
                log.error("{} {} could not be answered", method, path, done.cause());
              }
              write(
                  request.response(),
                  done.succeeded()
                      ? done.result()
                      : Written.of(Answer.error(500, Answer.INTERNAL, "the lease service failed")));
            });
  }

  /**
   * An answer in bytes. A worker makes them: long ones take a while, and where that fails the
   * sender still has to hear of it.
   */
  private record Written(int status, Buffer body) {
    static Written of(Answer answer) {
      return new Written(answer.status(), Buffer.buffer(WireWriter.bytes(answer.body())));
    }
  }

  private static void write(HttpServerResponse response, Written answer) {
    if (response.closed() || response.ended()) {
      return;
    }
    response.setStatusCode(answer.status()).putHeader("Content-Type", "application/json");
    var unused = response.end(answer.body());
  }

  private void maintain(Runnable maintenance) {
    if (!maintaining.compareAndSet(false, true)) {
      return;
    }
    vertx
        .executeBlocking(
            () -> {
              maintenance.run();
              return true;
            },
            false)
        .onComplete(
            done -> {
              maintaining.set(false);
              if (done.failed()) {
                log.error("maintenance failed", done.cause());
              }
            });
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

  /** Stops listening and ends its threads; requests under way are cut off. */
  @Override
  public void close() throws IOException {
    var unused = await(vertx.close());
  }
}
