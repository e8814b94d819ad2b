package dev.cinch.lease.http;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsServer;
import dev.cinch.lease.http.HttpConnections.Patience;
import java.io.IOException;
import java.io.InputStream;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.security.KeyStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;
import javax.net.ssl.TrustManagerFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Connections of a client that has no threads. */
@Timeout(600)
final class HttpConnectionsTest {
  private static final Duration DAY = Duration.ofDays(1);
  private static final Patience PATIENT = new Patience(DAY, DAY);
  private static final int KEPT = 8;
  private static final byte[] SHORT = "[1]".getBytes(ISO_8859_1);

  @Test
  void aConnectionIsKeptForTheNextRequest() throws Exception {
    try (var server = new Server("", false)) {
      var plain = connections();
      for (int i = 0; i < 3; i++) {
        assertEquals("{}", ask(plain, server));
      }
      assertEquals(1, server.accepted.get());
    }
  }

  /** Else a request over it would fail, and be sent again as if it might have arrived. */
  @Test
  void aConnectionThatTheServerClosedMeanwhileIsNotUsed() throws Exception {
    try (var server = new Server("", true)) {
      var plain = connections();
      for (int i = 1; i <= 3; i++) {
        assertEquals("{}", ask(plain, server));
        assertEquals("closed", server.ends.take());
        assertEquals(i, server.accepted.get());
      }
    }
  }

  @Test
  void aConnectionThatTheServerSaysItWillCloseIsNotKept() throws Exception {
    try (var server = new Server("Connection: close\r\n", false)) {
      var plain = connections();
      assertEquals("{}", ask(plain, server));
      assertEquals("hung up", server.ends.take());
      assertEquals("{}", ask(plain, server));
      assertEquals(2, server.accepted.get());
    }
  }

  /** One of IPv6 that leads nowhere keeps nobody from a server of IPv4, nor the other way round. */
  @Test
  void allAddressesOfANameAreTried() throws Exception {
    try (var server = new Server("", false)) {
      InetAddress nobody = InetAddress.getByAddress(new byte[] {127, 0, 0, 2});
      InetAddress[] both = {nobody, InetAddress.getLoopbackAddress()};
      var named = new HttpConnections(KEPT, Optional.empty(), host -> both);
      URI uri = URI.create("http://leases.example:" + server.listening.getLocalPort() + "/");
      assertArrayEquals("{}".getBytes(ISO_8859_1), get(named, uri));
      both[1] = nobody;
      var nowhere = new HttpConnections(KEPT, Optional.empty(), host -> both);
      assertThrows(ConnectException.class, () -> get(nowhere, uri));
    }
  }

  /** They would be waited for when the process ends. */
  @Test
  void nothingOfItWaitsInAThread() throws Exception {
    try (var server = new Server("", false)) {
      var before = Thread.getAllStackTraces().keySet();
      assertEquals("{}", ask(connections(), server));
      for (Thread thread : Thread.getAllStackTraces().keySet()) {
        String name = thread.getName();
        boolean known = before.contains(thread) || name.equals(Server.NAME);
        assertFalse(!known && !name.startsWith("Cleaner-"), name);
      }
    }
  }

  @Test
  void aRequestThatNobodyReadsIsGivenUp() throws Exception {
    try (var silent = new ServerSocket(0, 10, InetAddress.getLoopbackAddress())) {
      var hasty = new Patience(DAY, Duration.ofMillis(100));
      URI uri = URI.create("http://127.0.0.1:" + silent.getLocalPort() + "/");
      assertThrows(
          SocketTimeoutException.class, () -> post(connections(), uri, new byte[64 << 20], hasty));
    }
  }

  @Test
  void whoeverWasInterruptedBeforeSendsNothing() throws Exception {
    try (var server = new Server("", false)) {
      var plain = connections();
      Thread.currentThread().interrupt();
      assertThrows(InterruptedException.class, () -> ask(plain, server));
      assertFalse(Thread.currentThread().isInterrupted());
      assertEquals(0, server.accepted.get());
    }
  }

  @Test
  void aNameIsLookedUp() throws Exception {
    try (var server = new Server("", false)) {
      URI uri = URI.create("http://localhost:" + server.listening.getLocalPort() + "/x");
      assertArrayEquals("{}".getBytes(ISO_8859_1), get(connections(), uri));
    }
    URI nowhere = URI.create("http://nowhere.invalid/");
    assertThrows(ConnectException.class, () -> get(connections(), nowhere));
  }

  /** To who is not the one that was asked for nothing is sent. */
  @Test
  void overTlsTheCertificateIsOfTheNameThatWasAsked(@TempDir Path dir) throws Exception {
    Path keys = dir.resolve("keys.p12");
    String keytool = Path.of(System.getProperty("java.home"), "bin", "keytool").toString();
    var command =
        new ProcessBuilder(
            keytool, "-genkeypair", "-keyalg", "EC", "-dname", "CN=x", "-alias", "x");
    command.command().addAll(List.of("-ext", "san=dns:localhost", "-storepass", "secret"));
    command.command().addAll(List.of("-keystore", keys.toString()));
    assertEquals(0, command.inheritIO().start().waitFor());
    KeyStore store = KeyStore.getInstance(keys.toFile(), "secret".toCharArray());
    var own = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    own.init(store, "secret".toCharArray());
    var trusted = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trusted.init(store);
    SSLContext tls = SSLContext.getInstance("TLS");
    tls.init(own.getKeyManagers(), trusted.getTrustManagers(), null);
    HttpsServer https = HttpsServer.create(new InetSocketAddress("localhost", 0), 0);
    https.setHttpsConfigurator(new HttpsConfigurator(tls));
    Set<InetSocketAddress> from = ConcurrentHashMap.newKeySet();
    https.createContext(
        "/",
        exchange -> {
          from.add(exchange.getRemoteAddress());
          echo(exchange);
        });
    https.start();
    try {
      String port = ":" + https.getAddress().getPort() + "/";
      byte[] body = "0123456789".repeat(10_000).getBytes(ISO_8859_1);
      var trusting = new HttpConnections(KEPT, Optional.of(() -> tls));
      for (int i = 0; i < 3; i++) {
        URI uri = URI.create("https://localhost" + port);
        assertArrayEquals(body, post(trusting, uri, body, PATIENT));
      }
      assertEquals(1, from.size(), "connections");
      URI another = URI.create("https://127.0.0.1" + port);
      assertThrows(
          ConnectException.class,
          () -> post(new HttpConnections(KEPT, Optional.of(() -> tls)), another, body, PATIENT));
      URI uri = URI.create("https://localhost" + port);
      ConnectException e =
          assertThrows(ConnectException.class, () -> post(connections(), uri, body, PATIENT));
      assertInstanceOf(SSLException.class, e.getCause());
      assertEquals(1, from.size(), "connections");
    } finally {
      https.stop(0);
    }
  }

  /** Also while it greets. */
  @Test
  void aServerThatSpeaksNoTlsIsGivenUp() throws Exception {
    try (var silent = new ServerSocket(0, 10, InetAddress.getLoopbackAddress())) {
      var hasty = new Patience(Duration.ofMillis(100), DAY);
      URI uri = URI.create("https://127.0.0.1:" + silent.getLocalPort() + "/");
      ConnectException e =
          assertThrows(ConnectException.class, () -> post(connections(), uri, new byte[1], hasty));
      assertInstanceOf(SocketTimeoutException.class, e.getCause());
    }
  }

  /** With one connection kept, a second one that is left is closed. */
  @Test
  void asManyConnectionsAreKeptAsWasSaid() throws Exception {
    try (var server = new Server("", false)) {
      var one = new HttpConnections(1, Optional.empty());
      var requests = new ArrayList<Reply>();
      for (int i = 0; i < 2; i++) {
        requests.add(one.ask(request("POST", uri(server), SHORT), PATIENT));
      }
      for (Reply reply : requests) {
        assertEquals(2, reply.whole(2).length);
        reply.close();
      }
      assertEquals("hung up", server.ends.take());
      assertEquals("{}", ask(one, server));
      assertEquals(2, server.accepted.get());
    }
  }

  /** What is left of it would be taken for the next answer. */
  @Test
  void aConnectionWhoseAnswerWasNotReadIsNotKept() throws Exception {
    try (var server = new Server("", false)) {
      var plain = connections();
      try (Reply reply = plain.ask(request("POST", uri(server), SHORT), PATIENT)) {
        assertEquals('{', reply.body().read());
      }
      assertEquals("hung up", server.ends.take());
      assertEquals("{}", ask(plain, server));
    }
  }

  /** Of parts that stay as they are, for whoever sends them again. */
  @Test
  void longBodiesArriveWholeAndNoThreadIsMadeForEach() throws Exception {
    byte[] body = "0123456789".repeat(100_000).getBytes(ISO_8859_1);
    ByteBuffer[] parts = {
      ByteBuffer.wrap(body, 0, 10), ByteBuffer.wrap(body, 10, 999_990), ByteBuffer.wrap(body, 10, 0)
    };
    HttpServer http = HttpServer.create(new InetSocketAddress("localhost", 0), 0);
    http.createContext("/", HttpConnectionsTest::echo);
    http.start();
    try {
      URI uri = URI.create("http://localhost:" + http.getAddress().getPort() + "/");
      var plain = connections();
      var request = new Request("PUT", uri, Map.of(), Optional.of(List.of(parts)), Set.of());
      var threads = new HashSet<Thread>();
      for (int i = 0; i < 20; i++) {
        try (Reply reply = plain.ask(request, PATIENT)) {
          assertArrayEquals(body, reply.whole(body.length));
        }
        Thread.getAllStackTraces().keySet().stream()
            .filter(thread -> thread.getName().equals("cinch-deadline"))
            .forEach(threads::add);
      }
      assertTrue(threads.size() <= 1, threads.toString());
      assertEquals(999_990, parts[1].remaining());
    } finally {
      http.stop(0);
    }
  }

  private static void echo(HttpExchange exchange) throws IOException {
    byte[] echo = exchange.getRequestBody().readAllBytes();
    exchange.sendResponseHeaders(200, echo.length);
    exchange.getResponseBody().write(echo);
    exchange.close();
  }

  @Test
  void anInterruptEndsTheWaitForAnAnswer() throws Exception {
    for (String answer : new String[] {"", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{"}) {
      try (var silent = new ServerSocket(0, 10, InetAddress.getLoopbackAddress())) {
        Thread asking = Thread.currentThread();
        Server.start(
            () -> {
              try (Socket socket = silent.accept()) {
                Server.head(socket.getInputStream());
                socket.getOutputStream().write(answer.getBytes(ISO_8859_1));
                asking.interrupt();
                int unused = socket.getInputStream().read(); // until it hangs up
              }
            });
        URI uri = URI.create("http://127.0.0.1:" + silent.getLocalPort() + "/");
        assertThrows(InterruptedException.class, () -> get(connections(), uri));
        assertFalse(Thread.currentThread().isInterrupted());
      }
    }
  }

  private static HttpConnections connections() {
    return new HttpConnections(KEPT, Optional.empty());
  }

  private static URI uri(Server server) {
    return URI.create("http://127.0.0.1:" + server.listening.getLocalPort() + "/a?b=c");
  }

  private static String ask(HttpConnections plain, Server server) throws Exception {
    return new String(post(plain, uri(server), SHORT, PATIENT), ISO_8859_1);
  }

  private static byte[] get(HttpConnections plain, URI uri) throws Exception {
    return whole(plain, new Request("GET", uri, Map.of(), Optional.empty(), Set.of()), PATIENT);
  }

  private static byte[] post(HttpConnections plain, URI uri, byte[] body, Patience patience)
      throws Exception {
    return whole(plain, request("POST", uri, body), patience);
  }

  private static Request request(String method, URI uri, byte[] body) {
    var parts = Optional.of(List.of(ByteBuffer.wrap(body)));
    return new Request(method, uri, Map.of(), parts, Set.of());
  }

  private static byte[] whole(HttpConnections plain, Request request, Patience patience)
      throws Exception {
    try (Reply reply = plain.ask(request, patience)) {
      assertEquals(200, reply.status());
      return reply.whole(1 << 20);
    }
  }

  /** Answers with an empty object. */
  private static final class Server implements AutoCloseable {
    static final String NAME = "plain-server";

    final ServerSocket listening = new ServerSocket(0, 10, InetAddress.getByName("localhost"));
    final AtomicInteger accepted = new AtomicInteger();

    /** How each connection ended. */
    final BlockingQueue<String> ends = new LinkedBlockingQueue<>();

    private final String header;
    private final boolean once;

    /**
     * @param header lines of answers
     * @param once whether it closes a connection after an answer, and does not say so
     */
    Server(String header, boolean once) throws IOException {
      this.header = header;
      this.once = once;
      start(
          () -> {
            while (true) {
              Socket socket = listening.accept();
              accepted.incrementAndGet();
              start(() -> ends.add(serve(socket)));
            }
          });
    }

    private interface Step {
      void run() throws IOException;
    }

    /** Of a request; empty if there is none. */
    static String head(InputStream in) throws IOException {
      String head = "";
      while (!head.endsWith("\r\n\r\n")) {
        int c = in.read();
        if (c < 0) {
          return "";
        }
        head += (char) c;
      }
      return head;
    }

    static void start(Step what) {
      var thread =
          new Thread(
              () -> {
                try {
                  what.run();
                } catch (IOException e) {
                  // Closed by the test.
                }
              },
              NAME);
      thread.setDaemon(true);
      thread.start();
    }

    private String serve(Socket socket) throws IOException {
      try (socket) {
        InputStream in = socket.getInputStream();
        while (true) {
          String head = head(in);
          if (head.isEmpty()) {
            return "hung up";
          }
          int length = head.contains("Content-Length: 3\r\n") ? 3 : 0;
          if (in.readNBytes(length).length < length) {
            return "hung up";
          }
          String answer = "HTTP/1.1 200 OK\r\n" + header + "Content-Length: 2\r\n\r\n{}";
          socket.getOutputStream().write(answer.getBytes(ISO_8859_1));
          if (once) {
            return "closed";
          }
        }
      }
    }

    @Override
    public void close() throws IOException {
      listening.close();
    }
  }
}
