package dev.cinch.lease.http;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.cinch.lease.HostPort;
import dev.cinch.lease.time.SystemTime;
import java.io.IOException;
import java.lang.ref.Cleaner;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpConnectTimeoutException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Plain HTTP/1.1 in the thread that asks, over connections that are kept. It has no threads: a
 * short command starts in half the time, and does not wait for them when it ends.
 */
final class PlainTransport implements Transport {
  /** How many connections are kept that nobody uses. */
  private static final int IDLE = 8;

  private static final int PORT = 80;

  /**
   * Where one thread asks, it looks for its answer so long before it sleeps, nanoseconds. Most
   * answers of a server nearby are there by then, and to be woken takes as long again.
   */
  private static final long SPIN_NANOS = 50_000;

  /** One thread asks where so many requests in a row met no other. */
  private static final int ALONE = 16;

  private static final boolean HAS_A_CORE_TO_SPARE = Runtime.getRuntime().availableProcessors() > 1;

  /** Closes connections of those to whom nobody refers any more. */
  private static final Cleaner CLEANER = Cleaner.create();

  private final Patience patience;
  private final Idle idle = new Idle();

  /** Requests whose answers are awaited. */
  private final AtomicInteger underWay = new AtomicInteger();

  /** Requests in a row that met no other; a guess, where threads come together. */
  private volatile int alone;

  PlainTransport(Patience patience) {
    this.patience = patience;
    Idle kept = idle;
    CLEANER.register(this, kept::close);
  }

  @Override
  public Reply exchange(String method, URI uri, Wire wire, byte @Nullable [] body, Duration more)
      throws IOException, InterruptedException {
    if (Thread.interrupted()) {
      throw new InterruptedException();
    }
    long deadline = SystemTime.INSTANCE.monotonicNanos() + patience.answer().plus(more).toNanos();
    ByteBuffer request = request(method, uri, wire, body);
    ClientConnection connection = idle.take();
    if (connection == null) {
      Duration answer = more.isNegative() ? patience.answer().plus(more) : patience.answer();
      connection = open(uri, Math.min(patience.connect().toNanos(), answer.toNanos()));
    }
    boolean keep = false;
    try {
      ClientConnection used = connection;
      long spin = spin(underWay.incrementAndGet());
      used.write(request, deadline);
      var reader =
          new ReplyReader(
              into -> used.read(into, spin, deadline), HttpLeaseClient.MAX_ANSWER_BYTES);
      Reply reply = reader.read();
      keep = reader.keep() && idle.put(used);
      return reply;
    } finally {
      underWay.decrementAndGet();
      if (!keep) {
        connection.close();
      }
    }
  }

  private long spin(int together) {
    int before = alone;
    alone = together == 1 ? Math.min(before + 1, ALONE) : 0;
    return before == ALONE && together == 1 && HAS_A_CORE_TO_SPARE ? SPIN_NANOS : 0;
  }

  private static ByteBuffer request(String method, URI uri, Wire wire, byte @Nullable [] body)
      throws ConnectException {
    String path = uri.getRawPath().isEmpty() ? "/" : uri.getRawPath();
    var head = new StringBuilder();
    head.append(method).append(' ').append(path);
    if (uri.getRawQuery() != null) {
      head.append('?').append(uri.getRawQuery());
    }
    HostPort to = host(uri);
    head.append(" HTTP/1.1\r\nHost: ").append(to.host().replaceFirst("%[^]]*", "")); // no zone
    if (to.port() >= 0) {
      head.append(':').append(to.port());
    }
    head.append("\r\nContent-Type: ").append(wire.contentType);
    if (body != null) {
      head.append("\r\nContent-Length: ").append(body.length);
    }
    byte[] first = head.append("\r\n\r\n").toString().getBytes(UTF_8);
    ByteBuffer whole = ByteBuffer.allocate(first.length + (body == null ? 0 : body.length));
    whole.put(first);
    if (body != null) {
      whole.put(body);
    }
    return whole.flip();
  }

  private static ClientConnection open(URI uri, long nanos)
      throws IOException, InterruptedException {
    long deadline = SystemTime.INSTANCE.monotonicNanos() + nanos;
    HostPort to = host(uri);
    int port = to.port() < 0 ? PORT : to.port();
    return ClientConnection.open(new InetSocketAddress(address(to, nanos), port), deadline);
  }

  private static HostPort host(URI uri) throws ConnectException {
    return HostPort.of(uri).orElseThrow(() -> new ConnectException("no host in " + uri));
  }

  /** Looking up a name may take longer than anybody waits, and nothing ends it. */
  private static InetAddress address(HostPort to, long nanos)
      throws IOException, InterruptedException {
    String host = to.host().replace("%25", "%"); // as RFC 6874 writes a zone in an address
    if (to.isAddress()) {
      return InetAddress.getByName(host);
    }
    var lookup = new FutureTask<>(() -> InetAddress.getByName(host));
    var thread = new Thread(lookup, "cinch-lease-name");
    thread.setDaemon(true);
    thread.start();
    try {
      return lookup.get(nanos, TimeUnit.NANOSECONDS);
    } catch (TimeoutException e) {
      throw new HttpConnectTimeoutException("no address for the name in time");
    } catch (ExecutionException e) {
      var failed = new ConnectException("no address for the name");
      failed.initCause(e);
      throw failed;
    }
  }

  /** Connections that nobody uses, the newest first. Thread-safe. */
  private static final class Idle {
    private final Deque<ClientConnection> connections = new ArrayDeque<>();

    /** One that is as it was left; none if there is none. */
    synchronized @Nullable ClientConnection take() {
      while (true) {
        ClientConnection next = connections.poll();
        if (next == null || next.isFresh()) {
          return next;
        }
        next.close();
      }
    }

    /** Whether it is kept. */
    synchronized boolean put(ClientConnection used) {
      return connections.size() < IDLE && connections.offerFirst(used);
    }

    synchronized void close() {
      connections.forEach(ClientConnection::close);
      connections.clear();
    }
  }
}
