package dev.cinch.lease.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.Grant;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.memory.Rig;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Watches over connections. */
@Timeout(120)
final class WatchApiTest {
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

  private static String next(LeaseWatch watch) throws LeaseUnavailableException {
    LeaseEvent event = watch.next();
    return event.kind() + event.lease().map(l -> " " + l.witness().name()).orElse("");
  }

  @Test
  void theClientHearsWhatIsHeldAndWhatBecomesOfIt() throws Exception {
    Grant held = rig.acquire("jobs/1");
    Grant other = rig.acquire("other");
    try (LeaseWatch watch = client.watch(List.of(new LeaseName("a:b")), List.of("jobs/"))) {
      assertEquals("HELD jobs/1", next(watch));
      assertEquals("SYNCED", next(watch));
      client.release(held.id(), LeaseReport.NOTHING);
      assertEquals("RELEASED jobs/1", next(watch));
      client.release(other.id(), LeaseReport.NOTHING);
      Grant granted = client.acquire(rig.request("a:b"));
      LeaseEvent event = watch.next();
      assertEquals(LeaseEvent.Kind.GRANTED, event.kind());
      assertEquals(
          granted.witnesses().get(0).witness().correlation(),
          event.lease().orElseThrow().witness().correlation());
    }
  }

  /** As a browser comes back, and a client of the library. */
  @Test
  void whoComesBackSaysWhichEventWasItsLast() throws Exception {
    Grant held = rig.acquire("jobs/1");
    String last;
    try (LeaseWatch watch = client.watch(List.of(), List.of("jobs/"))) {
      assertEquals("HELD jobs/1", next(watch));
      assertEquals("", watch.lastId());
      assertEquals("SYNCED", next(watch));
      last = watch.lastId();
    }
    client.release(held.id(), LeaseReport.NOTHING);
    try (LeaseWatch watch = client.watch(List.of(), List.of("jobs/"), last)) {
      assertEquals("RELEASED jobs/1", next(watch));
      assertEquals("SYNCED", next(watch));
      assertTrue(!watch.lastId().equals(last));
    }
    assertEquals("event: released", firstLine(last));
    assertEquals("event: lagged", firstLine("of-another-server-7"));
  }

  private String firstLine(String lastId) throws Exception {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(server.uri() + "/v1/watch?prefix=jobs/"))
            .header("Last-Event-ID", lastId)
            .build();
    try (var lines =
        HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofLines()).body()) {
      return lines.findFirst().orElseThrow();
    }
  }

  @Test
  void aServerThatEndsEndsThemAndAnswersNoMore() throws Exception {
    LeaseWatch watch = client.watch(List.of(), List.of());
    assertEquals("SYNCED", next(watch));
    assertEquals(0, server.drain().toCompletableFuture().get());
    assertThrows(LeaseUnavailableException.class, watch::next);
    assertThrows(LeaseUnavailableException.class, () -> client.watch(List.of(), List.of()));
  }

  @Test
  void closingEndsTheWaitForTheNext() throws Exception {
    LeaseWatch watch = client.watch(List.of(), List.of());
    assertEquals("SYNCED", next(watch));
    var waits = new CountDownLatch(1);
    var reading =
        new FutureTask<>(
            () -> {
              waits.countDown();
              return assertThrows(LeaseUnavailableException.class, watch::next);
            });
    new Thread(reading).start();
    waits.await();
    watch.close();
    assertTrue(String.valueOf(reading.get().getMessage()).contains("ended"));
  }

  @Test
  void whatIsWrongIsAnsweredAsElsewhere() throws Exception {
    try (var raw = new RawClient(server.port())) {
      for (String query : List.of("name=", "name=%00", "names=a", "prefix=%ff", "name=a&x")) {
        assertEquals(400, raw.get("/v1/watch?" + query).status(), query);
      }
      assertEquals(400, raw.get("/v1/watch?" + "prefix=a&".repeat(100) + "prefix=a").status());
      assertEquals(405, raw.post("/v1/watch", new byte[0]).status());
    }
  }
}
