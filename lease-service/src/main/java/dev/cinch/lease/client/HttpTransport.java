package dev.cinch.lease.client;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.cinch.lease.HostPort;
import dev.cinch.lease.time.SystemTime;
import dev.cinch.lease.wire.JsonFields;
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
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;

/**
 * HTTP/1.1 to one server in the thread that asks, over connections that are kept. It has no
 * threads: a short command starts in half the time, and does not wait for them when it ends.
 *
 * <p>{@link java.net.HttpURLConnection} can't take its place. It sees that a server has closed a
 * kept connection only by waiting a millisecond each time, and else a request that was never sent
 * has an unknown fate. Nothing ends its wait for the rest of a body, neither an interrupt nor
 * {@code disconnect}, which waits too; in a thread that can be left behind it has 0.7 of the speed.
 */
final class HttpTransport implements Endpoints.Transport {
  private static final int NOT_MODIFIED = 304;

  /** How many connections are kept that nobody uses. */
  private static final int IDLE = 8;

  /** Closes connections of those to whom nobody refers any more. */
  private static final Cleaner CLEANER = Cleaner.create();

  private final Patience patience;
  private final Credentials credentials;
  private final Names names;
  private final Idle idle = new Idle();
  private final Known known = new Known();

  /** Looks up a name; as {@link InetAddress#getAllByName}. */
  @FunctionalInterface
  interface Names {
    InetAddress[] addresses(String host) throws UnknownHostException;
  }

  HttpTransport(Patience patience, Credentials credentials) {
    this(patience, credentials, InetAddress::getAllByName);
  }

  HttpTransport(Patience patience, Credentials credentials, Names names) {
    this.names = names;
    this.patience = patience;
    this.credentials = credentials;
    Idle kept = idle;
    CLEANER.register(this, kept::close);
  }

  @Override
  public Answered exchange(String method, URI uri, byte @Nullable [] body, Duration more)
      throws IOException, InterruptedException {
    Known.Tagged before = method.equals("GET") ? known.get(uri) : null;
    String tag = before == null ? "" : before.tag();
    Connection used = send(request(method, uri, body, tag), uri, patience.answer().plus(more));
    boolean keep = false;
    try {
      var reply = new Reply(used.in());
      byte[] all = reply.whole(HttpLeaseClient.MAX_ANSWER_BYTES);
      keep = reply.keep() && idle.put(used);
      if (before != null && reply.status() == NOT_MODIFIED) {
        return before.answer();
      }
      var answer = new Answered(reply.status(), all);
      known.put(uri, reply.tag(), answer);
      return answer;
    } catch (IOException e) {
      throw unlessInterrupted(e);
    } finally {
      if (!keep) {
        used.close();
      }
    }
  }

  private Connection send(byte[] request, URI uri, Duration wait)
      throws IOException, InterruptedException {
    if (Thread.interrupted()) {
      throw new InterruptedException();
    }
    long deadline = SystemTime.INSTANCE.monotonicNanos() + wait.toNanos();
    Connection to = idle.take();
    boolean sent = false;
    try {
      if (to == null) {
        to = connect(uri, Math.min(patience.connect().toNanos(), wait.toNanos()));
      }
      to.until(deadline);
      to.write(request);
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

  private byte[] request(String method, URI uri, byte @Nullable [] body, String tag)
      throws ConnectException {
    HostPort to = host(uri);
    // Not by "+": the first time Java needs 20 ms to put so many parts together.
    var head = new StringBuilder(method).append(' ');
    head.append(uri.getRawPath().isEmpty() ? "/" : uri.getRawPath());
    if (uri.getRawQuery() != null) {
      head.append('?').append(uri.getRawQuery());
    }
    head.append(" HTTP/1.1\r\nHost: ").append(to.host().replaceFirst("%[^]]*", "")); // no zone
    if (to.port() >= 0) {
      head.append(':').append(to.port());
    }
    head.append("\r\nContent-Type: ").append(JsonFields.CONTENT_TYPE);
    credentials.token().ifPresent(t -> head.append("\r\nAuthorization: Bearer ").append(t));
    if (!tag.isEmpty()) {
      head.append("\r\nIf-None-Match: ").append(tag);
    }
    if (body != null) {
      head.append("\r\nContent-Length: ").append(body.length);
    }
    head.append("\r\n\r\n");
    byte[] first = head.toString().getBytes(UTF_8);
    if (body == null) {
      return first;
    }
    byte[] whole = Arrays.copyOf(first, first.length + body.length);
    System.arraycopy(body, 0, whole, first.length, body.length);
    return whole;
  }

  private Connection connect(URI uri, long nanos) throws IOException, InterruptedException {
    long deadline = SystemTime.INSTANCE.monotonicNanos() + nanos;
    HostPort to = host(uri);
    boolean secure = "https".equalsIgnoreCase(uri.getScheme());
    int port = to.port() >= 0 ? to.port() : secure ? 443 : 80;
    InetAddress[] addresses = addresses(to, nanos);
    SSLContext context;
    try {
      context =
          !secure
              ? null
              : credentials.tls().isPresent()
                  ? credentials.tls().get().get()
                  : SSLContext.getDefault();
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

  private static HostPort host(URI uri) throws ConnectException {
    return HostPort.of(uri).orElseThrow(() -> new ConnectException("no host in " + uri));
  }

  /** Looking up a name may take longer than anybody waits, and nothing ends it. */
  private InetAddress[] addresses(HostPort to, long nanos)
      throws IOException, InterruptedException {
    String host = to.host().replace("%25", "%"); // as RFC 6874 writes a zone in an address
    if (to.isAddress()) {
      return new InetAddress[] {InetAddress.getByName(host)};
    }
    var lookup = new FutureTask<>(() -> names.addresses(host));
    var thread = new Thread(lookup, "cinch-lease-name");
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

  /** The last answers that have a tag: a server need not send them again. Thread-safe. */
  private static final class Known {
    private static final int MOST = 64;
    private static final int MOST_BYTES = 256 << 10;

    private record Tagged(String tag, Answered answer) {}

    private final Map<URI, Tagged> answers =
        new LinkedHashMap<>(16, 0.75f, true) {
          @Override
          protected boolean removeEldestEntry(Map.Entry<URI, Tagged> eldest) {
            return size() > MOST;
          }
        };

    synchronized @Nullable Tagged get(URI uri) {
      return answers.get(uri);
    }

    synchronized void put(URI uri, String tag, Answered answer) {
      if (!tag.isEmpty() && answer.body().length <= MOST_BYTES) {
        answers.put(uri, new Tagged(tag, answer));
      }
    }
  }

  /** Connections that nobody uses, the newest first. Thread-safe. */
  private static final class Idle {
    private final Deque<Connection> connections = new ArrayDeque<>();

    /** One that is as it was left; none if there is none. */
    synchronized @Nullable Connection take() {
      while (true) {
        Connection next = connections.poll();
        if (next == null || next.isFresh()) {
          return next;
        }
        next.close();
      }
    }

    /** Whether it is kept. */
    synchronized boolean put(Connection used) {
      return connections.size() < IDLE && connections.offerFirst(used);
    }

    synchronized void close() {
      connections.forEach(Connection::close);
      connections.clear();
    }
  }
}
