package dev.cinch.lease.client;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_16;
import static java.nio.charset.StandardCharsets.UTF_16LE;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.node.ObjectNode;
import com.sun.net.httpserver.HttpServer;
import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseInfo;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.instance.Rig;
import dev.cinch.lease.server.LeaseServer;
import dev.cinch.lease.wire.Fields;
import dev.cinch.lease.wire.LeaseDocuments;
import dev.cinch.lease.witness.PublicKey;
import dev.cinch.lease.witness.TrustedKeys;
import dev.cinch.lease.witness.WitnessVerifier;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.Charset;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Client and server over loopback. */
final class HttpLeaseClientTest {
  private final Rig rig = new Rig();
  private LeaseServer server;
  private HttpLeaseClient client;

  @BeforeEach
  void start() throws IOException {
    server = LeaseServer.builder(rig.service, rig.service::info).port(0).start();
    client = HttpLeaseClient.builder(server.uri()).build();
  }

  @AfterEach
  void stop() throws IOException {
    server.close();
  }

  @Test
  void theClientSaysWhatTheServiceSays() throws Exception {
    Operation.Acquire request = rig.request("tenant/7", "a:b@c");
    Grant grant = client.acquire(request);
    assertEquals(rig.service.acquire(request), grant);
    assertEquals(rig.service.info(), client.info());
    assertEquals(rig.service.now(), client.now());
    var verifier = new WitnessVerifier(TrustedKeys.of(PublicKey.parse(client.info().publicKey())));
    assertEquals(grant.witnesses().get(0), verifier.verify(grant.witnesses().get(0).bytes()));
    var report =
        new LeaseReport(
            OptionalLong.of(rig.time.wallNanos() + 1),
            true,
            List.of(new LeaseReport.Metadata(new Id(1, 2), -5, "m-1.log")));
    Grant renewed = client.renew(grant.id(), 9_000, LogSet.of(List.of(new Id(7, 7))), report);
    assertTrue(renewed.witnesses().get(1).witness().logs().contains(new Id(7, 7)));
    LeaseName name = new LeaseName("tenant/7");
    assertEquals(rig.service.show(name), client.show(name));
    assertEquals(report.metadata(), client.show(name).orElseThrow().recent());
    client.release(grant.id(), LeaseReport.NOTHING);
    client.release(grant.id(), LeaseReport.NOTHING);
    assertEquals(LeaseInfo.State.RELEASED, client.show(name).orElseThrow().state());
    assertEquals(Optional.empty(), client.show(new LeaseName("acquire")));
    assertEquals(rig.service.list("", Optional.empty(), 10), client.list("", Optional.empty(), 10));
    assertEquals(List.of(), client.list("tenant/", Optional.of(name), 10));
  }

  @Test
  void fencesAndTentativeLeasesTravel() throws Exception {
    var unused = client.acquire(rig.request("a"));
    rig.time.advanceMs(Rig.LEASE_MS);
    Operation.Acquire r = rig.request("a");
    var tentative =
        new Operation.Acquire(r.id(), r.names(), r.holder(), r.durationMs(), LogSet.ALL, true);
    Grant grant = client.acquire(tentative);
    assertEquals(rig.service.acquire(tentative), grant);
    assertTrue(!grant.witnesses().get(0).witness().fence().isNone());
    Grant full = client.upgrade(grant.id(), Rig.LEASE_MS);
    assertTrue(!full.witnesses().get(0).witness().tentative());
  }

  @Test
  void refusalsComeBackAsTheyWere() throws Exception {
    var unused = client.acquire(rig.request("a"));
    Operation.Acquire second = rig.request("a");
    LeaseRefusedException there =
        assertThrows(LeaseRefusedException.class, () -> rig.service.acquire(second));
    LeaseRefusedException here =
        assertThrows(LeaseRefusedException.class, () -> client.acquire(second));
    assertEquals(there.reason(), here.reason());
    assertEquals(there.getMessage(), here.getMessage());
    assertEquals(there.retryAfterMs(), here.retryAfterMs());
    rig.time.stepWallMs(-5);
    LeaseRefusedException notYet =
        assertThrows(LeaseRefusedException.class, () -> client.acquire(rig.request("b")));
    assertEquals(Reason.NOT_YET, notYet.reason());
    assertEquals(5, notYet.retryAfterMs());
    assertEquals(
        Reason.INVALID,
        assertThrows(
                LeaseRefusedException.class,
                () ->
                    client.acquire(
                        new Operation.Acquire(new Id(1, 1), List.of(), "h", 1, LogSet.ALL, false)))
            .reason());
  }

  @Test
  void aThousandNamesOfTheLongestFit() throws Exception {
    var names = new ArrayList<LeaseName>();
    for (int i = 0; i < 1_000; i++) {
      names.add(new LeaseName("x".repeat(251) + (1_000 + i)));
    }
    Operation.Acquire r = rig.request("a");
    Grant grant =
        client.acquire(
            new Operation.Acquire(r.id(), names, "h".repeat(255), 60_000, LogSet.ALL, false));
    assertEquals(1_000, grant.witnesses().size());
    List<LeaseInfo> page = client.list("x", Optional.empty(), 10_000);
    assertTrue(page.size() > 800 && page.size() < 1_000, "a page of " + page.size());
    LeaseName last = page.get(page.size() - 1).witness().name();
    assertEquals(
        1_000 - page.size(), client.list("x", Optional.of(last), 10_000).size()); // 1 MiB ends one
  }

  @Test
  void noServerIsSaidInOneLineThatNamesTheAddress() throws Exception {
    int port;
    try (var free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      port = free.getLocalPort();
    }
    var nobody = HttpLeaseClient.builder(URI.create("http://127.0.0.1:" + port + "/")).build();
    unavailable(nobody, "http://127.0.0.1:" + port + "/v1/time: can't connect");
  }

  @Test
  void aServerThatNeverAnswersIsGivenUp() throws Exception {
    try (var silent = new ServerSocket(0, 10, InetAddress.getLoopbackAddress())) {
      var patient =
          HttpLeaseClient.builder(URI.create("http://127.0.0.1:" + silent.getLocalPort()))
              .requestTimeout(Duration.ofMillis(50))
              .build();
      unavailable(patient, "timed out");
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{\"no",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{\"n\r\n",
        "HTTP/1.1 503 Busy\r\nContent-Length: 20\r\n\r\n{",
        "HTTP/1.1 20"
      })
  @Timeout(600)
  void aServerThatDiesInTheMiddleOfAnAnswerIsGivenUp(String part) throws Exception {
    try (var dying = new Dying(part)) {
      unavailable(dying.client(Duration.ofMillis(100)), "timed out");
    }
  }

  /** It goes on for ever with something; bounded by the time, or by the bytes that are taken. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "HTTP/1.1 200 OK\r\n|X: y\r\n",
        "HTTP/1.1 200 OK\r\nX: |y",
        "HTTP/1.1 |y",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n|1\r\n1\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n|1000000\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;|x",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n|[",
        "HTTP/1.1 200 OK\r\n\r\n|[",
        "HTTP/1.1 100 Continue\r\n\r\n|HTTP/1.1 100 Continue\r\n\r\n"
      })
  @Timeout(600)
  void aServerThatNeverEndsIsGivenUp(String answer) throws Exception {
    int bar = answer.indexOf('|');
    try (var endless = new Dying(answer.substring(0, bar), answer.substring(bar + 1))) {
      HttpLeaseClient asked = endless.client(Duration.ofMillis(500));
      assertThrows(LeaseUnavailableException.class, asked::now);
      assertThrows(LeaseUnavailableException.class, () -> asked.acquire(rig.request("a")));
      for (int i = endless.accepted.get(); i > 0; i--) {
        assertEquals(-1, endless.hungUp.take());
      }
    }
  }

  @Test
  @Timeout(600)
  void anAnswerThatIsTooLongIsGivenUpHoweverPatientTheClient() throws Exception {
    try (var endless = new Dying("HTTP/1.1 200 OK\r\n\r\n", "[")) {
      String said = "the answer has more than " + HttpLeaseClient.MAX_ANSWER_BYTES + " bytes";
      unavailable(endless.client(Duration.ofDays(1)), said);
    }
    assertTrue(HttpLeaseClient.MAX_ANSWER_BYTES <= 16 << 20);
  }

  @Test
  void answersInOtherEncodingsAreRefused() throws Exception {
    for (Charset charset : List.of(UTF_16, UTF_16LE, Charset.forName("UTF-32BE"))) {
      try (var fake = new Fake(200, "{\"now\":5}".getBytes(charset))) {
        unavailable(fake.client(), "UTF-8");
      }
    }
    byte[] latin = "{\"now\":5,\"x\":\"\u00e4\"}".getBytes(ISO_8859_1);
    try (var fake = new Fake(200, latin)) {
      unavailable(fake.client(), "not UTF-8, at byte 14");
    }
  }

  @Test
  @Timeout(600)
  void anInterruptEndsTheWaitForTheRestOfAnAnswer() throws Exception {
    try (var dying = new Dying("HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{")) {
      HttpLeaseClient patient = dying.client(Duration.ofDays(1));
      var end = new CompletableFuture<String>();
      var asking =
          new Thread(
              () -> {
                try {
                  end.complete("answered: " + patient.now());
                } catch (LeaseUnavailableException e) {
                  end.complete(e.getMessage() + " " + Thread.currentThread().isInterrupted());
                }
              });
      asking.start();
      dying.answering.acquire();
      asking.interrupt();
      String said = end.get();
      assertTrue(said.startsWith("interrupted while asking the lease service"), said);
      assertTrue(said.endsWith(" true"), said);
      assertEquals(-1, dying.hungUp.take());
    }
  }

  @Test
  void aLostAnswerIsAskedForOnceMore() throws Exception {
    var requests = new AtomicInteger();
    try (var fake = new Fake(200, "{\"now\":\"1970-01-01T00:00:00.000000005Z\"}", requests, 1)) {
      assertEquals(5, fake.client().now());
      assertEquals(2, requests.get());
    }
  }

  @Test
  void aTimeIsTextThatLosesNothing() throws Exception {
    String body = "{\"now\":\"2026-11-23T23:30:05.123456789Z\"}";
    try (var fake = new Fake(200, body, new AtomicInteger(), 0)) {
      assertEquals(1_795_476_605_123_456_789L, fake.client().now());
    }
  }

  /** Who believed the refusal would not give back what the first one was granted. */
  @Test
  void aRefusalOfTheSecondRequestSaysNothingOfTheFirst() throws Exception {
    for (String error : List.of("HELD", "NOT_YET")) {
      String body = "{\"error\":\"" + error + "\",\"message\":\"no\",\"retryAfterMs\":5}";
      try (var fake = new Fake(409, body, new AtomicInteger(), 1)) {
        HttpLeaseClient asked = fake.client();
        assertThrows(LeaseUnavailableException.class, () -> asked.acquire(rig.request("a")));
        assertEquals(
            error,
            assertThrows(LeaseRefusedException.class, () -> asked.acquire(rig.request("a")))
                .reason()
                .name());
      }
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "<html>",
        "{}",
        "{\"now\":\"5\"}",
        "{\"now\":5}",
        "{\"now\":1e3}",
        "{\"now\":null}",
        "{\"now\":5}",
        "{\"now\":\"5\"}",
        "{\"now\":\"2300-01-01T00:00:00Z\"}",
        "{\"now\":\"1970-01-01T00:00:00Z\",\"more\":1}",
        "{\"now\":\"1970-01-01T00:00:00Z\"}x",
        "[5]"
      })
  void answersThatTheApiDoesNotHaveAreRefused(String body) throws Exception {
    try (var fake = new Fake(200, body, new AtomicInteger(), 0)) {
      unavailable(fake.client(), "another service answers at ");
    }
    try (var fake = new Fake(502, body, new AtomicInteger(), 0)) {
      unavailable(fake.client(), "status 502 without an error of the API");
    }
  }

  @Test
  void witnessesThatDoNotDecodeAreRefused() throws Exception {
    Operation.Acquire request = rig.request("a");
    Grant grant = rig.service.acquire(request);
    byte[] signed = grant.witnesses().get(0).bytes();
    try (var fake = new Fake(200, answer(request.id(), signed))) {
      assertEquals(request.id(), fake.client().acquire(request).id());
    }
    byte[] nameless =
        LeaseDocuments.bytes(LeaseDocuments.object().put("id", request.id().toString()));
    for (byte[] bad :
        List.of(
            answer(request.id(), Arrays.copyOf(signed, signed.length + 3)),
            answer(request.id(), Arrays.copyOf(signed, 9)),
            answer(new Id(-1, -1), signed),
            Arrays.copyOf(answer(request.id(), signed), 40),
            nameless)) {
      try (var fake = new Fake(200, bad)) {
        HttpLeaseClient asked = fake.client();
        assertThrows(LeaseUnavailableException.class, () -> asked.acquire(request));
      }
    }
  }

  private static byte[] answer(Id id, byte[] signed) {
    ObjectNode answer = LeaseDocuments.object().put("id", id.toString());
    answer.putArray("witnesses").add(Fields.base64(signed));
    return LeaseDocuments.bytes(answer);
  }

  @ParameterizedTest
  @ValueSource(strings = {"127.0.0.1:8470", "ftp://x", "http:///x", "http://x?y", "", "http://x#y"})
  void addressesThatAreNoneAreRefused(String address) {
    assertThrows(
        IllegalArgumentException.class, () -> HttpLeaseClient.builder(URI.create(address)));
  }

  private static void unavailable(HttpLeaseClient asked, String expected) {
    LeaseUnavailableException e = assertThrows(LeaseUnavailableException.class, asked::now);
    String message = String.valueOf(e.getMessage());
    assertTrue(message.contains(expected), message);
    assertTrue(message.contains("http://127.0.0.1:"), message);
    assertEquals(1, message.lines().count());
  }

  /** Sends the same piece of an answer to everyone and nothing more, as if its machine had died. */
  private static final class Dying implements AutoCloseable {
    private final ServerSocket listening =
        new ServerSocket(0, 10, InetAddress.getLoopbackAddress());
    private final String part;

    /** How many connections there were. */
    final AtomicInteger accepted = new AtomicInteger();

    /** A permit for each piece that was sent. */
    final Semaphore answering = new Semaphore(0);

    /** What was read after the request, for each connection that the other end closed: -1. */
    final BlockingQueue<Integer> hungUp = new LinkedBlockingQueue<>();

    /** Sent again and again after the piece; nothing if it is empty. */
    private final byte[] forEver;

    Dying(String part) throws IOException {
      this(part, "");
    }

    Dying(String part, String forEver) throws IOException {
      this.part = part;
      this.forEver = forEver.repeat(10_000).getBytes(UTF_8);
      start(this::accept);
    }

    private static void start(Runnable what) {
      var thread = new Thread(what, "dying-server");
      thread.setDaemon(true);
      thread.start();
    }

    private void accept() {
      try {
        while (true) {
          Socket socket = listening.accept();
          accepted.incrementAndGet();
          start(() -> answer(socket));
        }
      } catch (IOException e) {
        // Closed by the test.
      }
    }

    private void answer(Socket socket) {
      try (socket) {
        InputStream in = socket.getInputStream();
        String request = "";
        for (int c = in.read(); c >= 0 && !request.endsWith("\r\n\r"); c = in.read()) {
          request += (char) c;
        }
        socket.getOutputStream().write(part.getBytes(UTF_8));
        answering.release();
        while (forEver.length > 0) {
          socket.getOutputStream().write(forEver);
        }
        hungUp.add(in.read());
      } catch (IOException e) {
        hungUp.add(-1); // a reset is an end too
      }
    }

    HttpLeaseClient client(Duration timeout) {
      return HttpLeaseClient.builder(URI.create("http://127.0.0.1:" + listening.getLocalPort()))
          .requestTimeout(timeout)
          .build();
    }

    @Override
    public void close() throws IOException {
      listening.close();
    }
  }

  /** Answers everything the same, after breaking off so many times. */
  private static final class Fake implements AutoCloseable {
    private final HttpServer http;

    Fake(int status, byte[] body) throws IOException {
      this(status, body, new AtomicInteger(), 0);
    }

    Fake(int status, String body, AtomicInteger requests, int breakOff) throws IOException {
      this(status, body.getBytes(UTF_8), requests, breakOff);
    }

    private Fake(int status, byte[] bytes, AtomicInteger requests, int breakOff)
        throws IOException {
      http = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
      http.createContext(
          "/",
          exchange -> {
            exchange.getRequestBody().readAllBytes();
            if (requests.incrementAndGet() <= breakOff) {
              exchange.close();
              return;
            }
            exchange.sendResponseHeaders(status, bytes.length == 0 ? -1 : bytes.length);
            exchange.getResponseBody().write(bytes);
            exchange.close();
          });
      http.start();
    }

    HttpLeaseClient client() {
      return HttpLeaseClient.builder(URI.create("http://127.0.0.1:" + http.getAddress().getPort()))
          .build();
    }

    @Override
    public void close() {
      http.stop(0);
    }
  }
}
