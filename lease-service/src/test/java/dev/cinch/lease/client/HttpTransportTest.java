package dev.cinch.lease.client;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsServer;
import dev.cinch.lease.client.Endpoints.Transport;
import java.io.IOException;
import java.io.InputStream;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.nio.file.Path;
import java.security.KeyStore;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Connections of the client, which has no threads. */
@Timeout(600)
final class HttpTransportTest {
  private static final Transport.Patience PATIENT =
      new Transport.Patience(Duration.ofDays(1), Duration.ofDays(1));

  @Test
  void aConnectionIsKeptForTheNextRequest() throws Exception {
    try (var server = new Server("", false)) {
      var plain = new HttpTransport(PATIENT, Credentials.NONE);
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
      var plain = new HttpTransport(PATIENT, Credentials.NONE);
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
      var plain = new HttpTransport(PATIENT, Credentials.NONE);
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
      var named = new HttpTransport(PATIENT, Credentials.NONE, host -> both);
      URI uri = URI.create("http://leases.example:" + server.listening.getLocalPort() + "/");
      var answer = named.exchange("GET", uri, null, Duration.ZERO);
      assertEquals(200, answer.status());
      both[1] = nobody;
      var nowhere = new HttpTransport(PATIENT, Credentials.NONE, host -> both);
      assertThrows(ConnectException.class, () -> nowhere.exchange("GET", uri, null, Duration.ZERO));
    }
  }

  /** They would be waited for when the process ends. */
  @Test
  void nothingOfItWaitsInAThread() throws Exception {
    try (var server = new Server("", false)) {
      var before = Thread.getAllStackTraces().keySet();
      assertEquals("{}", ask(new HttpTransport(PATIENT, Credentials.NONE), server));
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
      var plain =
          new HttpTransport(
              new Transport.Patience(Duration.ofDays(1), Duration.ofMillis(100)), Credentials.NONE);
      URI uri = URI.create("http://127.0.0.1:" + silent.getLocalPort() + "/");
      assertThrows(
          SocketTimeoutException.class,
          () -> plain.exchange("POST", uri, new byte[64 << 20], Duration.ZERO));
    }
  }

  @Test
  void whoeverWasInterruptedBeforeSendsNothing() throws Exception {
    try (var server = new Server("", false)) {
      var plain = new HttpTransport(PATIENT, Credentials.NONE);
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
      assertEquals(
          200,
          new HttpTransport(PATIENT, Credentials.NONE)
              .exchange("GET", uri, null, Duration.ZERO)
              .status());
    }
    URI nowhere = URI.create("http://nowhere.invalid/");
    assertThrows(
        ConnectException.class,
        () ->
            new HttpTransport(PATIENT, Credentials.NONE)
                .exchange("GET", nowhere, null, Duration.ZERO));
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
          byte[] echo = exchange.getRequestBody().readAllBytes();
          exchange.sendResponseHeaders(200, echo.length);
          exchange.getResponseBody().write(echo);
          exchange.close();
        });
    https.start();
    try {
      String port = ":" + https.getAddress().getPort() + "/";
      byte[] body = "0123456789".repeat(10_000).getBytes(ISO_8859_1);
      var trusting =
          new HttpTransport(PATIENT, new Credentials(Optional.empty(), Optional.of(() -> tls)));
      for (int i = 0; i < 3; i++) {
        URI uri = URI.create("https://localhost" + port);
        assertArrayEquals(body, trusting.exchange("POST", uri, body, Duration.ZERO).body());
      }
      assertEquals(1, from.size(), "connections");
      URI another = URI.create("https://127.0.0.1" + port);
      assertThrows(
          ConnectException.class,
          () ->
              new HttpTransport(PATIENT, new Credentials(Optional.empty(), Optional.of(() -> tls)))
                  .exchange("POST", another, body, Duration.ZERO));
      URI uri = URI.create("https://localhost" + port);
      var doubting = new HttpTransport(PATIENT, Credentials.NONE);
      ConnectException e =
          assertThrows(
              ConnectException.class, () -> doubting.exchange("POST", uri, body, Duration.ZERO));
      assertTrue(Endpoints.reason(e).contains("--ca FILE"), Endpoints.reason(e));
      assertEquals(1, from.size(), "connections");
    } finally {
      https.stop(0);
    }
  }

  /** Also while it greets. */
  @Test
  void aServerThatSpeaksNoTlsIsGivenUp() throws Exception {
    try (var silent = new ServerSocket(0, 10, InetAddress.getLoopbackAddress())) {
      var hasty =
          new HttpTransport(
              new Transport.Patience(Duration.ofMillis(100), Duration.ofDays(1)), Credentials.NONE);
      URI uri = URI.create("https://127.0.0.1:" + silent.getLocalPort() + "/");
      ConnectException e =
          assertThrows(
              ConnectException.class, () -> hasty.exchange("GET", uri, null, Duration.ZERO));
      assertEquals("timed out", Endpoints.reason(e));
    }
  }

  private static String ask(HttpTransport plain, Server server) throws Exception {
    URI uri = URI.create("http://127.0.0.1:" + server.listening.getLocalPort() + "/a?b=c");
    return new String(
        plain.exchange("POST", uri, "[1]".getBytes(ISO_8859_1), Duration.ZERO).body(), ISO_8859_1);
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

    private static void start(Step what) {
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
          String head = "";
          while (!head.endsWith("\r\n\r\n")) {
            int c = in.read();
            if (c < 0) {
              return "hung up";
            }
            head += (char) c;
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
