package dev.cinch.lease.server;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import dev.cinch.lease.Grant;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseRefusedException.LeaseHeldException;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.Operation;
import dev.cinch.lease.client.HttpLeaseClient;
import dev.cinch.lease.instance.Rig;
import dev.cinch.lease.wire.LeaseDetail;
import dev.cinch.lease.wire.LeaseDocuments;
import dev.cinch.lease.wire.OperationCodec;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.FutureTask;
import java.util.concurrent.LinkedBlockingQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Acquires that wait, over connections. Timers are due when a test says so. */
@Timeout(600)
final class WaitingApiTest {
  private static final String ACQUIRE = "/v1/leases/acquire";

  private final Rig rig = new Rig();
  private final BlockingQueue<Timers.Timer> timers = new LinkedBlockingQueue<>();
  private LeaseServer server;

  @BeforeEach
  void start() throws IOException {
    server =
        LeaseServer.builder(rig.service, rig.service::info)
            .port(0)
            .timers(Timers.into(timers))
            .clock(rig.time::monotonicNanos)
            .start();
  }

  @AfterEach
  void stop() throws IOException {
    server.close();
  }

  private static byte[] body(Operation.Acquire request, long waitMs) {
    return LeaseDocuments.bytes(OperationCodec.write(request).put("waitMs", waitMs));
  }

  /** Sends it on a connection of its own, and is back once it waits. */
  private RawClient waiting(Operation.Acquire request, long waitMs) throws Exception {
    RawClient client = sent(request, waitMs);
    assertEquals(waitMs, timers.take().ms);
    return client;
  }

  private RawClient sent(Operation.Acquire request, long waitMs) throws IOException {
    byte[] body = body(request, waitMs);
    return new RawClient(server.port())
        .send(
            "POST "
                + ACQUIRE
                + " HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: "
                + body.length
                + "\r\n\r\n")
        .send(body);
  }

  @Test
  void aReleaseLetsThoseWhoWaitHaveTheLeaseInTheirOrder() throws Exception {
    Grant held = rig.acquire("a");
    var requests = new ArrayList<Operation.Acquire>();
    var clients = new ArrayList<RawClient>();
    for (int i = 0; i < 5; i++) {
      requests.add(rig.request("a"));
      clients.add(waiting(requests.get(i), 50_000 + i));
      if (i == 0) {
        assertEquals(Rig.LEASE_MS, timers.take().ms); // the end of the lease
      }
    }
    for (int i = 0; i < 5; i++) {
      rig.service.release(held.id(), LeaseReport.NOTHING);
      RawClient.Response answer = clients.get(i).response();
      assertEquals(200, answer.status(), answer.body());
      assertEquals(requests.get(i).id().toString(), answer.json().get("id").asText());
      held = rig.service.acquire(requests.get(i)); // the same grant
      clients.get(i).close();
    }
  }

  /** Else whoever has seen the id ends the wait of another one. */
  @Test
  void aRequestForOtherLeasesTakesNobodysPlace() throws Exception {
    Grant held = rig.acquire("a");
    Operation.Acquire mine = rig.request("a");
    try (RawClient client = waiting(mine, 50_000)) {
      assertEquals(Rig.LEASE_MS, timers.take().ms);
      var other =
          new Operation.Acquire(mine.id(), Rig.names("b"), "x", 1, mine.logs(), mine.tentative());
      RawClient.Response answer = sent(other, 40_000).response();
      assertEquals(400, answer.status(), answer.body());
      assertEquals("INVALID", answer.json().get("error").asText());
      rig.service.release(held.id(), LeaseReport.NOTHING);
      assertEquals(200, client.response().status());
    }
  }

  @Test
  void theEndOfALeaseLetsTheFirstHaveIt() throws Exception {
    Grant unused = rig.acquire("a");
    try (RawClient client = waiting(rig.request("a"), 50_000)) {
      Timers.Timer end = timers.take();
      assertEquals(Rig.LEASE_MS, end.ms);
      end.fire(); // too early: it is prolonged, or clocks differ
      Timers.Timer again = timers.take();
      rig.time.advanceMs(Rig.LEASE_MS);
      again.fire();
      assertEquals(200, client.response().status());
    }
  }

  @Test
  void whenTheTimeIsOverTheRefusalSaysHowItIsThen() throws Exception {
    Grant unused = rig.acquire("a");
    RawClient client = sent(rig.request("a"), 7_000);
    Timers.Timer deadline = timers.take();
    rig.time.advanceMs(7_000);
    deadline.fire();
    RawClient.Response answer = client.response();
    assertEquals(409, answer.status(), answer.body());
    assertEquals("HELD", answer.json().get("error").asText());
    assertEquals(3_000, answer.json().get("retryAfterMs").asLong());
    assertEquals(200, client.get("/v1/time").status()); // the connection goes on
    client.close();
  }

  @Test
  void whoGoesAwayIsNotGrantedTheLease() throws Exception {
    Grant held = rig.acquire("a");
    Operation.Acquire gone = rig.request("a");
    RawClient first = sent(gone, 50_000);
    Timers.Timer deadline = timers.take();
    Timers.Timer end = timers.take();
    RawClient second = waiting(rig.request("a"), 40_000);
    first.close();
    assertTrue(deadline.forgotten.take());
    rig.service.release(held.id(), LeaseReport.NOTHING);
    assertEquals(200, second.response().status());
    second.close();
    assertEquals(Rig.LEASE_MS, end.ms);
    assertThrows(LeaseHeldException.class, () -> rig.service.acquire(gone));
  }

  @Test
  void severalNamesAreWaitedForOneAfterTheOther() throws Exception {
    Grant b = rig.acquire("b");
    Grant c = rig.acquire("c");
    RawClient client = waiting(rig.request("c", "a", "b"), 50_000);
    assertEquals(Rig.LEASE_MS, timers.take().ms);
    rig.service.release(b.id(), LeaseReport.NOTHING);
    timers.take(); // it waits for c now
    Grant between = rig.acquire("b"); // nothing is kept for it meanwhile
    rig.service.release(c.id(), LeaseReport.NOTHING);
    timers.take();
    rig.service.release(between.id(), LeaseReport.NOTHING);
    assertEquals(200, client.response().status());
    client.close();
  }

  @Test
  void aServerThatEndsLetsNobodyWait() throws Exception {
    Grant unused = rig.acquire("a");
    RawClient client = waiting(rig.request("a"), 50_000);
    var done = server.drain();
    RawClient.Response answer = client.response();
    assertEquals(503, answer.status());
    assertEquals("NOT_YET", answer.json().get("error").asText());
    client.close();
    assertEquals(0, done.toCompletableFuture().get());
  }

  /** Half of the connections wait at most, so that the others are served. */
  @Test
  void thoseAboveTheBoundAreRefusedAtOnce() throws Exception {
    server.close();
    server =
        LeaseServer.builder(rig.service, rig.service::info)
            .port(0)
            .connections(4)
            .connectionsPerAddress(4)
            .timers(Timers.into(timers))
            .start();
    Grant held = rig.acquire("a");
    RawClient first = waiting(rig.request("a"), 50_000);
    assertEquals(Rig.LEASE_MS, timers.take().ms);
    RawClient second = waiting(rig.request("a"), 40_000);
    try (var third = new RawClient(server.port())) {
      assertEquals(409, third.post(ACQUIRE, body(rig.request("a"), 30_000)).status());
      assertEquals(2, server.waiting());
      rig.service.release(held.id(), LeaseReport.NOTHING);
      assertEquals(200, first.response().status());
      assertEquals(Rig.LEASE_MS, timers.take().ms); // the second waits for its end
      RawClient again = sent(rig.request("a"), 20_000); // there is room
      assertEquals(20_000, timers.take().ms);
      again.close();
    }
    first.close();
    second.close();
  }

  /** The first is answered; the copy is granted in its turn. */
  @Test
  void aCopyOfARequestThatWaitsTakesItsPlace() throws Exception {
    Grant held = rig.acquire("a");
    Operation.Acquire request = rig.request("a");
    RawClient first = waiting(request, 50_000);
    assertEquals(Rig.LEASE_MS, timers.take().ms);
    Operation.Acquire another = rig.request("a");
    RawClient behind = waiting(another, 40_000);
    RawClient copy = sent(request, 30_000);
    RawClient.Response refused = first.response();
    assertEquals(409, refused.status(), refused.body());
    timersUntil(30_000);
    rig.service.release(held.id(), LeaseReport.NOTHING);
    RawClient.Response granted = copy.response();
    assertEquals(200, granted.status(), granted.body());
    assertEquals(request.id().toString(), granted.json().get("id").asText());
    rig.service.release(request.id(), LeaseReport.NOTHING);
    assertEquals(200, behind.response().status());
    assertEquals(0, server.waiting());
    first.close();
    behind.close();
    copy.close();
  }

  /** A long wait is a chain of requests, and others come meanwhile. */
  @Test
  void oneThatAsksAgainWhenItsTimeIsOverKeepsItsPlace() throws Exception {
    Grant held = rig.acquire("a");
    Operation.Acquire request = rig.request("a");
    RawClient first = sent(request, 50_000);
    Timers.Timer deadline = timers.take();
    assertEquals(Rig.LEASE_MS, timers.take().ms);
    RawClient behind = waiting(rig.request("a"), 40_000);
    deadline.fire();
    assertEquals(409, first.response().status());
    byte[] body = body(request, 30_000);
    first.send(
        "POST "
            + ACQUIRE
            + " HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: "
            + body.length
            + "\r\n\r\n");
    first.send(body);
    timersUntil(30_000);
    rig.service.release(held.id(), LeaseReport.NOTHING);
    assertEquals(200, first.response().status());
    rig.service.release(request.id(), LeaseReport.NOTHING);
    assertEquals(200, behind.response().status());
    first.close();
    behind.close();
  }

  private Operation.Acquire requestBy(String holder, String... names) {
    Operation.Acquire r = rig.request(names);
    return new Operation.Acquire(r.id(), r.names(), holder, r.durationMs(), r.logs(), false);
  }

  @Test
  void aListingSaysWhoWaitsInWhichOrderAndSinceWhen() throws Exception {
    HttpLeaseClient client = HttpLeaseClient.builder(server.uri()).build();
    long granted = rig.service.now();
    Grant unused = rig.acquire("a");
    Grant unused2 = rig.acquire("b");
    rig.time.advanceMs(1_000);
    long first = rig.service.now();
    Operation.Acquire next = requestBy("first", "a");
    RawClient one = waiting(next, 50_000);
    timersUntil(Rig.LEASE_MS - 1_000);
    rig.time.advanceMs(1_000);
    long second = rig.service.now();
    RawClient two = waiting(requestBy("second", "a"), 40_000);
    rig.time.advanceMs(1_000);
    RawClient copy = sent(next, 30_000); // long waits are chains of copies
    assertEquals(409, one.response().status());
    timersUntil(30_000);

    LeaseDetail a = client.detail(new LeaseName("a")).orElseThrow();
    assertEquals(granted, a.since());
    assertEquals(
        List.of(new LeaseDetail.Waiter("first", first), new LeaseDetail.Waiter("second", second)),
        a.waiting());
    assertEquals(OptionalInt.of(2), a.waitingCount());
    assertEquals(rig.service.show(new LeaseName("a")).orElseThrow(), a.info());
    List<LeaseDetail> all = client.details("", Optional.empty(), 10);
    assertEquals(List.of(a, new LeaseDetail(all.get(1).info(), List.of(), OptionalInt.of(0))), all);
    assertEquals(Optional.empty(), client.detail(new LeaseName("nobody")));
    one.close();
    two.close();
    copy.close();
  }

  @Test
  void aListingHasTenOfThoseWhoWaitAndAShowHasAll() throws Exception {
    Grant unused = rig.acquire("a");
    var clients = new ArrayList<RawClient>();
    for (int i = 0; i < 12; i++) {
      clients.add(sent(requestBy("w" + i, "a"), 50_000 + i));
      timersUntil(50_000 + i);
    }
    HttpLeaseClient client = HttpLeaseClient.builder(server.uri()).build();
    LeaseDetail listed = client.details("", Optional.empty(), 10).get(0);
    assertEquals(10, listed.waiting().size());
    assertEquals("w9", listed.waiting().get(9).holder());
    assertEquals(OptionalInt.of(12), listed.waitingCount());
    assertEquals(12, client.detail(new LeaseName("a")).orElseThrow().waiting().size());
    for (RawClient each : clients) {
      each.close();
    }
  }

  /** Older clients refuse fields that they do not know. */
  @Test
  void onlyWhoAsksForDetailsGetsThem() throws Exception {
    Grant unused = rig.acquire("a");
    try (var client = new RawClient(server.port())) {
      List<String> fields = List.of("state", "witness", "recent");
      var shown = client.get("/v1/leases/a").json();
      assertEquals(fields, names(shown));
      assertEquals(shown, client.get("/v1/leases?detail=false").json().get("leases").get(0));
      assertEquals(
          List.of("state", "witness", "recent", "since", "waiting", "waitingCount"),
          names(client.get("/v1/leases/a?detail=true").json()));
      for (String bad : List.of("detail=1", "detail=true&x=1", "limit=1")) {
        assertEquals(400, client.get("/v1/leases/a?" + bad).status(), bad);
      }
      assertEquals(404, client.get("/v1/leases/b?detail=true").status());
    }
  }

  private static List<String> names(JsonNode object) {
    var names = new ArrayList<String>();
    object.fieldNames().forEachRemaining(names::add);
    return names;
  }

  private void timersUntil(long ms) throws InterruptedException {
    while (timers.take().ms != ms) {
      // Those of others.
    }
  }

  @Test
  void theClientWaits() throws Exception {
    HttpLeaseClient client = HttpLeaseClient.builder(server.uri()).build();
    Operation.Acquire first = rig.request("a");
    assertEquals(first.id(), client.acquire(first.waiting(1_000)).id());
    Operation.Acquire second = rig.request("a");
    var asked = new FutureTask<>(() -> client.acquire(second.waiting(30_000)));
    new Thread(asked).start();
    assertEquals(30_000, timers.take().ms);
    client.release(first.id(), LeaseReport.NOTHING);
    assertEquals(second.id(), asked.get().id());
  }

  @Test
  void onlySoLongAndNotInABatch() throws Exception {
    try (var client = new RawClient(server.port())) {
      for (long ms : List.of(-1L, 60_001L)) {
        RawClient.Response answer = client.post(ACQUIRE, body(rig.request("a"), ms));
        assertEquals(400, answer.status());
        assertEquals(
            "a request waits 0 to 60000 ms, not " + ms, answer.json().get("message").asText());
      }
      assertEquals(200, client.post(ACQUIRE, body(rig.request("a"), 0)).status());
      assertEquals(409, client.post(ACQUIRE, body(rig.request("a"), 0)).status());
      String batch =
          "{\"operations\":[{\"acquire\":" + new String(body(rig.request("b"), 1), UTF_8) + "}]}";
      assertEquals(400, client.post("/v1/leases/batch", batch.getBytes(UTF_8)).status());
    }
  }

  @Test
  void aWaitIsNoReasonForAnotherAnswer() throws Exception {
    HttpLeaseClient client = HttpLeaseClient.builder(server.uri()).build();
    Operation.Acquire tooLong =
        new Operation.Acquire(
            rig.request("a").id(),
            Rig.names("a"),
            "h",
            31_536_000_000L,
            rig.request("a").logs(),
            false);
    var e = assertThrows(LeaseRefusedException.class, () -> client.acquire(tooLong.waiting(1_000)));
    assertEquals(Reason.INVALID, e.reason());
  }
}
