package dev.cinch.lease.server;

import dev.cinch.lease.server.Connections.Place;
import dev.cinch.lease.wire.PemTls;
import java.io.IOException;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import org.eclipse.jetty.http.HttpCompliance;
import org.eclipse.jetty.http.UriCompliance;
import org.eclipse.jetty.io.Connection;
import org.eclipse.jetty.io.EndPoint;
import org.eclipse.jetty.io.ManagedSelector;
import org.eclipse.jetty.server.AbstractConnectionFactory;
import org.eclipse.jetty.server.ConnectionFactory;
import org.eclipse.jetty.server.ConnectionLimit;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.util.ssl.SslContextFactory;
import org.eclipse.jetty.util.thread.QueuedThreadPool;
import org.jspecify.annotations.Nullable;

/**
 * Jetty, as a lease server needs it (docs/decisions/http-server.md says why). Gives connections
 * their places among {@link Connections}. Thread-safe.
 */
final class JettyServer implements AutoCloseable, Connection.Listener {
  /** What one user of IPv6 has at least: all addresses with the same first half. */
  private static final int NETWORK_BYTES = 8;

  /** The longest first line with its headers. */
  private static final int MAX_HEAD_BYTES = 8 << 10;

  /** The one that accepts, the one that reads all connections, and some to go on. */
  private static final int THREADS = 8;

  /** Held by the thread that accepts while it waits for somebody. */
  private final Object accepting = new Object();

  /** What the end of a turn leaves to do; null for threads that are not at one. */
  private final ThreadLocal<@Nullable Queue<Runnable>> left = new ThreadLocal<>();

  private final QueuedThreadPool threads = new QueuedThreadPool(THREADS, 2);
  private final Server server;
  private final ServerConnector connector;
  private final Connections connections;
  private final Map<EndPoint, Place> places = new ConcurrentHashMap<>();
  private volatile int port;

  /**
   * @param tls null without it
   * @param ofClients whether clients have to show a certificate
   * @param accepted connections at once; more wait in the system's queue
   */
  JettyServer(
      String host,
      int port,
      @Nullable PemTls tls,
      boolean ofClients,
      int accepted,
      Connections connections) {
    this.port = port;
    this.connections = connections;
    threads.setName("cinch-lease-server");
    threads.setDaemon(true);
    server = new Server(threads);
    server.setStopTimeout(0);
    var factory = new HttpConnectionFactory(http());
    ConnectionFactory[] factories =
        tls == null
            ? new ConnectionFactory[] {factory}
            : AbstractConnectionFactory.getFactories(ssl(tls, ofClients), factory);
    // One selector: a single thread has all connections' requests, without a handoff.
    connector =
        new ServerConnector(server, this::execute, null, null, 1, 1, factories) {
          @Override
          public void accept(int acceptor) throws IOException {
            synchronized (accepting) {
              super.accept(acceptor);
            }
          }
        };
    connector.setHost(host);
    connector.setPort(port);
    connector.setIdleTimeout(0); // Connections bounds the whole time of each state
    boolean unused = connector.addBean(this);
    server.addConnector(connector);
    unused = server.addBean(new ConnectionLimit(accepted, connector));
  }

  private static HttpConfiguration http() {
    var http = new HttpConfiguration();
    http.setSendServerVersion(false);
    http.setSendDateHeader(false);
    http.setRequestHeaderSize(MAX_HEAD_BYTES);
    http.setInputBufferSize(MAX_HEAD_BYTES);
    http.setHttpCompliance(HttpCompliance.STRICT);
    http.setUriCompliance(UriCompliance.UNSAFE); // Routes decodes paths, once and strictly
    return http;
  }

  private static SslContextFactory.Server ssl(PemTls tls, boolean ofClients) {
    var ssl = new SslContextFactory.Server();
    ssl.setSslContext(tls.get());
    // Earlier ones let a client have the keys negotiated again and again.
    ssl.setIncludeProtocols("TLSv1.3");
    ssl.setNeedClientAuth(ofClients);
    return ssl;
  }

  /**
   * Listens.
   *
   * @param requests answers them
   * @param errors answers what is no request
   * @throws IOException if the address can't be had
   */
  void start(Handler requests, Request.Handler errors) throws IOException {
    server.setHandler(requests);
    server.setErrorHandler(errors);
    try {
      server.start();
    } catch (Exception e) {
      throw said(e.getCause() == null ? e : e.getCause());
    }
    port = connector.getLocalPort();
  }

  private static IOException said(Throwable e) {
    return new IOException(
        e.getMessage() == null ? e.getClass().getSimpleName() : e.getMessage(), e);
  }

  /** The port listened at. */
  int port() {
    return port;
  }

  /** Has a task run once the selector has handed over all that came, before it looks again. */
  void atTurnsEnd(Runnable task) {
    for (var selector : connector.getSelectorManager().getBeans(ManagedSelector.class)) {
      selector.submit(looked -> endTurn(task));
    }
  }

  /** Connections go on in the same thread: a handoff would hold up the next request of each. */
  private void endTurn(Runnable task) {
    var rest = new ArrayDeque<Runnable>();
    left.set(rest);
    try {
      task.run();
      for (Runnable next = rest.poll(); next != null; next = rest.poll()) {
        next.run();
      }
    } finally {
      left.remove();
    }
  }

  private void execute(Runnable task) {
    Queue<Runnable> rest = left.get();
    if (rest == null) {
      threads.execute(task);
    } else {
      rest.add(task);
    }
  }

  /** Lets nobody in any more, not even into the system's queue. */
  void stopListening() {
    connector.setAccepting(false); // or its thread would try without a pause
    connector.close();
    synchronized (accepting) {
      // The system lets go of a socket when nobody waits for it any more.
    }
  }

  /** Ends its threads and all connections. */
  @Override
  public void close() throws IOException {
    try {
      server.stop();
    } catch (Exception e) {
      throw said(e);
    }
  }

  @Override
  public void onOpened(Connection connection) {
    EndPoint end = connection.getEndPoint();
    if (end instanceof EndPoint.Wrapper) {
      return; // of TLS the outer connection counts, from before its handshake
    }
    var line =
        new Connections.Line() {
          @Override
          public long received() {
            return connection.getBytesIn();
          }

          @Override
          public void close() {
            end.close();
          }
        };
    Place place = connections.enter(peer(end.getRemoteSocketAddress()), line);
    places.put(end, place);
    if (!end.isOpen()) {
      leave(end); // it was closed before anybody could find it here
    }
  }

  @Override
  public void onClosed(Connection connection) {
    leave(connection.getEndPoint());
  }

  private void leave(EndPoint end) {
    Place place = places.remove(end);
    if (place != null) {
      place.leave();
    }
  }

  /** That of the connection that a request came on; null once it was closed. */
  @Nullable Place place(Request request) {
    EndPoint end = request.getConnectionMetaData().getConnection().getEndPoint();
    return places.get(end instanceof EndPoint.Wrapper tls ? tls.unwrap() : end);
  }

  /** The same text for all addresses of one peer. */
  private static String peer(@Nullable SocketAddress address) {
    if (address instanceof InetSocketAddress there && there.getAddress() != null) {
      InetAddress ip = there.getAddress();
      byte[] all = ip.getAddress();
      return HexFormat.of()
          .formatHex(ip instanceof Inet6Address ? Arrays.copyOf(all, NETWORK_BYTES) : all);
    }
    return "";
  }
}
