package dev.cinch.lease.server;

import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.LeaseHost;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.ServiceInfo;
import dev.cinch.lease.access.Access;
import dev.cinch.lease.server.Connections.Limits;
import dev.cinch.lease.time.SystemTime;
import dev.cinch.lease.wire.Health;
import dev.cinch.lease.wire.PemTls;
import java.io.IOException;
import java.net.URI;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Serves any {@link LeaseHost} over HTTP/1.1 (docs/lease-api.md). Thread-safe.
 *
 * <p>One thread reads, carries out what waits for nothing, and writes; what may have to wait for a
 * store's I/O, or takes long, is left to worker threads.
 *
 * <p>Needs Jetty ({@code org.eclipse.jetty:jetty-server}), which a program that runs a server
 * declares as a dependency of its own: clients are spared it.
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

  /** So long a request waits for how the store is. */
  private static final long STORE_PATIENCE_MS = 2_000;

  private static final long MAINTENANCE_MS = 1_000;
  private static final Logger log = LoggerFactory.getLogger(LeaseServer.class);

  private final String host;
  private final Runnable maintenance;
  private final Supplier<Health> health;
  private final Access access;
  private final Connections connections;
  private final Workers workers;
  private final RequestHandler requests;
  private final Trail trail;
  private final AtomicBoolean maintaining = new AtomicBoolean();
  private final AtomicBoolean sweeping = new AtomicBoolean();
  private final ScheduledThreadPoolExecutor loop = thread("cinch-lease-waiting");
  private final ScheduledThreadPoolExecutor maintainer = thread("cinch-lease-maintenance");
  private final JettyServer jetty;
  private final @Nullable PemTls tls;

  private volatile boolean closing;

  private LeaseServer(Builder b) throws IOException {
    host = b.host;
    maintenance = b.maintenance;
    health = b.health;
    access = b.access;
    tls = b.tls;
    workers = new Workers(Math.max(8, 2 * Runtime.getRuntime().availableProcessors()));
    connections = new Connections(b.limits, b.clock);
    var metrics = new ServerMetrics(b.clock);
    var routes =
        new Routes(b.service, b.info, b.health, b.cell, metrics, SystemTime.INSTANCE::wallNanos);
    trail = routes.trail();
    var names = new ArrayList<String>(b.names);
    names.add(b.host);
    jetty = new JettyServer(b.host, b.port, tls, b.ofClients, b.limits.accepted(), connections);
    requests =
        new RequestHandler(
            routes,
            metrics,
            new Callers(names),
            b.access,
            b.store == null ? null : new StoreStatus(b.store, b.clock, STORE_PATIENCE_MS),
            workers,
            jetty,
            b.timers.apply(new OneThread(loop)),
            b.limits.connections());
    try {
      jetty.start(requests, requests::failed);
    } catch (IOException e) {
      close();
      throw new IOException("can't serve on " + b.host + ":" + b.port + ": " + e.getMessage(), e);
    }
    every(SWEEP_MS, loop, this::sweep);
    every(MAINTENANCE_MS, maintainer, this::maintain);
    log.info("lease service at {}", uri());
  }

  private static ScheduledThreadPoolExecutor thread(String name) {
    var executor =
        new ScheduledThreadPoolExecutor(
            1,
            task -> {
              var thread = new Thread(task, name);
              thread.setDaemon(true);
              return thread;
            });
    executor.setRemoveOnCancelPolicy(true);
    return executor;
  }

  private void every(long ms, ScheduledThreadPoolExecutor on, Runnable task) {
    var unused = on.scheduleWithFixedDelay(() -> run(task), ms, ms, TimeUnit.MILLISECONDS);
  }

  /** What an executor runs: it would keep what went wrong to itself. */
  private void run(Runnable task) {
    try {
      task.run();
    } catch (RuntimeException | Error e) {
      failed("the lease server failed", e);
    }
  }

  /**
   * Prepares a server.
   *
   * @param service what it serves
   * @param info what {@code GET /v1/service} says
   */
  public static Builder builder(LeaseHost service, Supplier<ServiceInfo> info) {
    return new Builder(service, info);
  }

  /** What a server is made of; not thread-safe. */
  public static final class Builder {
    private final LeaseHost service;
    private final Supplier<ServiceInfo> info;
    private String host = "127.0.0.1";
    private int port = DEFAULT_PORT;
    private Collection<String> names = List.of();
    private Supplier<Health> health;
    private @Nullable Supplier<Optional<ObjectNode>> cell;
    private @Nullable Callable<String> store;
    private Access access = Access.withoutTokens();
    private @Nullable PemTls tls;
    private boolean ofClients;
    private Runnable maintenance = () -> {};
    private Limits limits = Limits.ofProcess();
    private LongSupplier clock = System::nanoTime;
    private UnaryOperator<WaitingRoom.Loop> timers = UnaryOperator.identity();

    private Builder(LeaseHost service, Supplier<ServiceInfo> info) {
      this.service = service;
      this.info = info;
      this.health = () -> Health.of(info.get());
    }

    /**
     * What {@code GET /healthz} and {@code GET /readyz} say, instead of what {@code info} does.
     * Asked on the thread that reads all connections: it must not wait.
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

    /**
     * What {@code GET /v1/store} says of the store, an object of JSON; there is no such path unless
     * told. Asked every few seconds at most, by one thread at a time, and may hang with the store.
     * The messages of its exceptions are told as they are.
     */
    @CanIgnoreReturnValue
    public Builder store(Callable<String> store) {
      this.store = store;
      return this;
    }

    /** Who may do what; all may take and see leases, and nobody may revoke, unless told. */
    @CanIgnoreReturnValue
    public Builder access(Access access) {
      this.access = access;
      return this;
    }

    /**
     * Has it speak TLS, by files that it reads again when they change.
     *
     * @param tls has a certificate
     * @param ofClients whether clients have to have one that it trusts
     */
    @CanIgnoreReturnValue
    public Builder tls(PemTls tls, boolean ofClients) {
      this.tls = tls;
      this.ofClients = ofClients;
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
    Builder limits(Limits limits) {
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
    Builder timers(UnaryOperator<WaitingRoom.Loop> timers) {
      this.timers = timers;
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
    return jetty.port();
  }

  /** Where clients find it. */
  public URI uri() {
    String shown = host.indexOf(':') >= 0 ? "[" + host + "]" : host;
    return URI.create((tls == null ? "http://" : "https://") + shown + ":" + port());
  }

  /** Ends requests, answers, pauses and a draining that take too long. */
  void sweep() {
    connections.sweep();
  }

  /** How many are connected; may change meanwhile. */
  int connections() {
    return connections.count();
  }

  /** How many requests wait for leases that others have; may change meanwhile. */
  public int waiting() {
    return requests.waiting();
  }

  private boolean isSuperseded() {
    return health.get().obstacle().filter(o -> o.reason() == Reason.SUPERSEDED).isPresent();
  }

  /** Runs the service's maintenance, unless it runs or the server is being closed. */
  void maintain() {
    if (closing || !maintaining.compareAndSet(false, true)) {
      return;
    }
    try {
      maintainer.execute(
          () -> {
            try {
              maintainOnce();
            } catch (RuntimeException | Error e) {
              failed("maintenance failed", e);
            } finally {
              maintaining.set(false);
            }
          });
    } catch (RejectedExecutionException e) {
      maintaining.set(false); // it is being closed
    }
  }

  private void maintainOnce() {
    access.reload();
    if (tls != null) {
      tls.reload();
    }
    maintenance.run();
    if (isSuperseded()) {
      requests.end(); // they ask its successor
    } else {
      sweepTrail();
    }
  }

  /** Looks which leases ran out; may wait for other machines, and so not where ceilings are due. */
  private void sweepTrail() {
    if (health.get().instance().isEmpty() || !sweeping.compareAndSet(false, true)) {
      return;
    }
    Runnable task =
        () -> {
          try {
            trail.sweep();
          } catch (RuntimeException e) {
            failed("it could not be looked which leases ran out", e);
          } finally {
            sweeping.set(false);
          }
        };
    if (!workers.submit(Workers.Lane.OTHERS, task)) {
      sweeping.set(false);
    }
  }

  /**
   * Executors catch what their threads meet; an error of Java's own is to end them as it ends
   * others.
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

  /**
   * Stops listening, and lets requests be answered that are under way, or come within {@link
   * Connections#LAST_MS} on a connection that is there; connections end after that. {@link #close}
   * is still to be called.
   *
   * @return how many requests had no answer after {@link #DRAIN_MS}; earlier 0 if all had one
   */
  public CompletionStage<Integer> drain() {
    requests.end();
    jetty.stopListening(); // before any answer is said to be the last one: whoever hears that asks
    return connections.drain(DRAIN_MS);
  }

  /** Stops listening and ends its threads; requests under way are cut off. */
  @Override
  public void close() throws IOException {
    closing = true;
    workers.close();
    maintainer.shutdownNow();
    jetty.close();
    loop.shutdownNow();
  }

  /** One thread and its timers. */
  private record OneThread(ScheduledThreadPoolExecutor executor) implements WaitingRoom.Loop {
    @Override
    public void run(Runnable task) {
      try {
        executor.execute(task);
      } catch (RejectedExecutionException e) {
        // The server is being closed: nobody waits any more.
      }
    }

    @Override
    public Runnable after(long ms, Runnable task) {
      ScheduledFuture<?> timer = executor.schedule(task, ms, TimeUnit.MILLISECONDS);
      return () -> timer.cancel(false);
    }
  }
}
