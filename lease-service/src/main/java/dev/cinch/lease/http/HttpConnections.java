package dev.cinch.lease.http;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.HostPort;
import dev.cinch.lease.time.SystemTime;
import java.io.IOException;
import java.lang.ref.Cleaner;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.net.UnknownHostException;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.Deque;
import java.util.Optional;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;

/**
 * HTTP/1.1 to one server in the thread that asks, over connections that are kept. It has no
 * threads: a short command starts in half the time, and does not wait for them when it ends.
 * Connections are closed when nobody refers to it any more. Thread-safe.
 *
 * <p>{@link java.net.HttpURLConnection} can't take its place. It sees that a server has closed a
 * kept connection only by waiting a millisecond each time, and else a request that was never sent
 * has an unknown fate. Nothing ends its wait for the rest of a body, neither an interrupt nor
 * {@code disconnect}, which waits too; in a thread that can be left behind it has 0.7 of the speed.
 */
@CheckReturnValue
public final class HttpConnections {
  /** Closes connections of those to whom nobody refers any more. */
  private static final Cleaner CLEANER = Cleaner.create();

  private final Optional<Supplier<SSLContext>> tls;
  private final Names names;
  private final Idle idle;

  /**
   * How long somebody waits for the server.
   *
   * @param connect for a connection, with looking up the server's name
   * @param answer for a whole answer, with connecting
   */
  public record Patience(Duration connect, Duration answer) {}

  /** Looks up a name; as {@link InetAddress#getAllByName}. */
  @FunctionalInterface
  public interface Names {
    InetAddress[] addresses(String host) throws UnknownHostException;
  }

  /**
   * Connections to be made.
   *
   * @param kept how many are kept that nobody uses
   * @param tls for a server at https, asked at each connection; what Java trusts if it is empty
   */
  public HttpConnections(int kept, Optional<Supplier<SSLContext>> tls) {
    this(kept, tls, InetAddress::getAllByName);
  }

  /** As the other one, with names of one's own. */
  public HttpConnections(int kept, Optional<Supplier<SSLContext>> tls, Names names) {
    this.tls = tls;
    this.names = names;
    idle = new Idle(kept);
    Idle closed = idle;
    CLEANER.register(this, closed::close);
  }

  /**
   * Sends a request once, and waits for the head of its answer. The time of the answer bounds its
   * body, too.
   *
   * @return to be read and closed by this thread
   * @throws ConnectException if the request was not sent, since nobody was reached in time
   * @throws SocketTimeoutException if there is no answer in time
   * @throws IOException if the answer is none of HTTP, or broke off
   * @throws InterruptedException if the thread was interrupted; unless it was so before, the
   *     request may have been sent
   */
  public Reply ask(Request request, Patience patience) throws IOException, InterruptedException {
    Connection used = send(request, patience);
    boolean begun = false;
    try {
      var reply = new Reply(used.in(), request.wanted(), keep -> leave(used, keep));
      begun = true;
      return reply;
    } catch (IOException e) {
      throw unlessInterrupted(e);
    } finally {
      if (!begun) {
        used.close();
      }
    }
  }

  private void leave(Connection used, boolean keep) {
    if (!keep || !idle.put(used)) {
      used.close();
    }
  }

  private Connection send(Request request, Patience patience)
      throws IOException, InterruptedException {
    if (Thread.interrupted()) {
      throw new InterruptedException();
    }
    long wait = patience.answer().toNanos();
    long deadline = SystemTime.INSTANCE.monotonicNanos() + wait;
    Connection to = idle.take();
    boolean sent = false;
    try {
      if (to == null) {
        to = connect(request.uri(), Math.min(patience.connect().toNanos(), wait));
      }
      to.until(deadline);
      to.write(request.parts());
      sent = true;
      return to;
    } catch (IOException e) {
      throw unlessInterrupted(e);
    } finally {
      if (!sent && to != null) {
        to.close();
      }
    }
  }

  /** An interrupt closes the connection, which alone would look as if it broke. */
  static IOException unlessInterrupted(IOException e) throws InterruptedException {
    if (Thread.interrupted()) {
      throw (InterruptedException) new InterruptedException().initCause(e);
    }
    return e;
  }

  private Connection connect(URI uri, long nanos) throws IOException, InterruptedException {
    long deadline = SystemTime.INSTANCE.monotonicNanos() + nanos;
    HostPort to = Request.hostPort(uri);
    boolean secure = "https".equalsIgnoreCase(uri.getScheme());
    int port = to.port() >= 0 ? to.port() : secure ? 443 : 80;
    InetAddress[] addresses = addresses(to, nanos);
    SSLContext context;
    try {
      context = !secure ? null : tls.isPresent() ? tls.get().get() : SSLContext.getDefault();
    } catch (NoSuchAlgorithmException e) {
      throw new ConnectException("this Java has no TLS: " + e.getMessage());
    }
    return connect(addresses, port, to.host(), context, deadline);
  }

  /** At the first address of a name that takes it: one may be of a network that leads nowhere. */
  private static Connection connect(
      InetAddress[] addresses, int port, String host, @Nullable SSLContext tls, long deadline)
      throws IOException {
    for (int i = 0; ; i++) {
      long now = SystemTime.INSTANCE.monotonicNanos();
      long part = (deadline - now) / (addresses.length - i);
      try {
        return Connection.open(new InetSocketAddress(addresses[i], port), host, tls, now + part);
      } catch (ConnectException e) {
        if (i == addresses.length - 1 || Thread.currentThread().isInterrupted()) {
          throw e;
        }
      }
    }
  }

  /** Looking up a name may take longer than anybody waits, and nothing ends it. */
  private InetAddress[] addresses(HostPort to, long nanos)
      throws IOException, InterruptedException {
    String host = to.host().replace("%25", "%"); // as RFC 6874 writes a zone in an address
    if (to.isAddress()) {
      return new InetAddress[] {InetAddress.getByName(host)};
    }
    var lookup = new FutureTask<>(() -> names.addresses(host));
    var thread = new Thread(lookup, "cinch-name");
    thread.setDaemon(true);
    thread.start();
    Exception why;
    try {
      return lookup.get(nanos, TimeUnit.NANOSECONDS);
    } catch (TimeoutException e) {
      why = new SocketTimeoutException();
    } catch (ExecutionException e) {
      why = e;
    }
    throw (ConnectException) new ConnectException("no address for the name").initCause(why);
  }

  /** Connections that nobody uses, the newest first. Without locks, which many would wait for. */
  private static final class Idle {
    private final int most;
    private final AtomicInteger count = new AtomicInteger();
    private final Deque<Connection> connections = new ConcurrentLinkedDeque<>();

    Idle(int most) {
      this.most = most;
    }

    /** One that is as it was left; none if there is none. */
    @Nullable Connection take() {
      while (true) {
        Connection next = connections.poll();
        if (next == null) {
          return null;
        }
        count.decrementAndGet();
        if (next.isFresh()) {
          return next;
        }
        next.close();
      }
    }

    /** Whether it is kept. */
    boolean put(Connection used) {
      if (count.incrementAndGet() > most) {
        count.decrementAndGet();
        return false;
      }
      return connections.offerFirst(used);
    }

    void close() {
      connections.forEach(Connection::close);
      connections.clear();
    }
  }
}
