package dev.cinch.lease.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import dev.cinch.lease.Between;
import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LeaseService;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.access.Access;
import dev.cinch.lease.access.Permission;
import dev.cinch.lease.access.TokenFile;
import dev.cinch.lease.hold.HeldLease;
import dev.cinch.lease.hold.HoldSettings;
import dev.cinch.lease.hold.LeaseListener;
import dev.cinch.lease.memory.Rig;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.FutureTask;
import java.util.concurrent.LinkedBlockingQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Leases that are handed over, by a server. Timers are due when a test says so. */
@Timeout(600)
@SuppressWarnings("NullAway.Init")
final class HandoverApiTest {
  private static final LeaseName A = new LeaseName("a");

  @TempDir Path directory;
  private final Rig rig = new Rig();
  private final BlockingQueue<Timers.Timer> timers = new LinkedBlockingQueue<>();
  private LeaseServer server;
  private HttpLeaseClient anybody;
  private HttpLeaseClient operator;

  @BeforeEach
  void start() throws Exception {
    var file = new TokenFile(directory.resolve("tokens"));
    String token =
        file.add("", List.of(Permission.parse("revoke:a")), Instant.EPOCH, Optional.empty());
    server = server(rig.service, Access.of(file, true, rig.time));
    anybody = client(server, Credentials.NONE);
    operator = client(server, new Credentials(Optional.of(token), Optional.empty()));
  }

  private LeaseServer server(LeaseService service, Access access) throws Exception {
    return LeaseServer.builder(service, rig.service::info)
        .port(0)
        .access(access)
        .timers(Timers.into(timers))
        .clock(rig.time::monotonicNanos)
        .start();
  }

  private static HttpLeaseClient client(LeaseServer of, Credentials credentials) {
    return HttpLeaseClient.builder(of.uri()).credentials(credentials).build();
  }

  @AfterEach
  void stop() throws Exception {
    server.close();
  }

  private Operation.Acquire by(String holder, String... names) {
    Operation.Acquire r = rig.request(names);
    return new Operation.Acquire(r.id(), r.names(), holder, r.durationMs(), r.logs(), false);
  }

  /** Back once it waits. */
  private FutureTask<Grant> waiting(String holder, long waitMs) throws InterruptedException {
    Operation.Acquire request = by(holder, "a");
    var task = new FutureTask<>(() -> anybody.acquire(request.waiting(waitMs)));
    new Thread(task).start();
    timersUntil(waitMs);
    return task;
  }

  private Timers.Timer timersUntil(long ms) throws InterruptedException {
    Timers.Timer next = timers.take();
    while (next.ms != ms) {
      next = timers.take();
    }
    return next;
  }

  private static String holder(FutureTask<Grant> granted) throws Exception {
    return granted.get().witnesses().get(0).witness().holder();
  }

  @Test
  void theOneThatIsNamedIsNextAndThenTheOthersInTheirOrder() throws Exception {
    Grant first = anybody.acquire(by("first", "a"));
    var one = waiting("one", 50_000);
    var two = waiting("two", 40_000);
    var three = waiting("three", 30_000);
    operator.hand(A, "three", 60_000, Optional.empty());
    LeaseDetail asked = anybody.detail(A).orElseThrow();
    assertEquals("three", asked.handTo().orElseThrow().holder());
    assertEquals(
        List.of("three", "one", "two"),
        asked.waiting().stream().map(LeaseDetail.Waiter::holder).toList());
    anybody.release(first.id(), LeaseReport.NOTHING);
    assertEquals("three", holder(three));
    assertEquals(Optional.empty(), anybody.detail(A).orElseThrow().handTo());
    anybody.release(three.get().id(), LeaseReport.NOTHING);
    assertEquals("one", holder(one));
    anybody.release(one.get().id(), LeaseReport.NOTHING);
    assertEquals("two", holder(two));
  }

  /** It comes when the name is free, past those who wait. */
  @Test
  void whoComesWhileItIsKeptHasItAtOnce() throws Exception {
    Grant first = anybody.acquire(by("first", "a"));
    var one = waiting("one", 50_000);
    timersUntil(Rig.LEASE_MS);
    operator.hand(A, "next", 7_000, Optional.empty());
    anybody.release(first.id(), LeaseReport.NOTHING);
    timersUntil(7_000); // it was tried, and is again when it is kept no more
    var e = assertThrows(LeaseRefusedException.class, () -> anybody.acquire(by("other", "a")));
    assertEquals(Reason.HELD, e.reason());
    assertEquals(7_000, e.retryAfterMs());
    Grant next = anybody.acquire(by("next", "a"));
    anybody.release(next.id(), LeaseReport.NOTHING);
    assertEquals("one", holder(one));
  }

  @Test
  void whoWaitsHasItWhenItIsKeptNoMore() throws Exception {
    Grant first = anybody.acquire(by("first", "a"));
    var one = waiting("one", 50_000);
    operator.hand(A, "next", 7_000, Optional.empty());
    anybody.release(first.id(), LeaseReport.NOTHING);
    Timers.Timer end = timersUntil(7_000);
    rig.time.advanceMs(7_000);
    end.fire();
    assertEquals("one", holder(one));
  }

  @Test
  void aRenewalSaysSoToWhoeverUnderstandsIt() throws Exception {
    var told = new ArrayList<String>();
    HeldLease held =
        HeldLease.acquire(
            anybody,
            rig.time,
            HoldSettings.of(Rig.LEASE_MS),
            by("first", "a", "b"),
            () -> LeaseReport.NOTHING,
            new LeaseListener() {
              @Override
              public void asked(List<LeaseName> names, String to) {
                told.add(names + " to " + to);
              }

              @Override
              public void lost(List<LeaseName> names, String why) {
                told.add(why);
              }
            },
            new Random(1));
    operator.hand(A, "next", 60_000, Optional.empty());
    held.renew(LogSet.NONE);
    held.renew(LogSet.NONE);
    assertEquals("next", held.handTo());
    assertEquals(List.of("[a, b] to next"), told);
    byte[] renew =
        Wire.JSON.write(
            OperationCodec.write(
                new Operation.Renew(held.id(), Rig.LEASE_MS, LogSet.NONE, LeaseReport.NOTHING),
                Wire.JSON));
    try (var older = new RawClient(server.port())) {
      JsonNode grant = older.post("/v1/leases/renew", renew).json();
      assertEquals(List.of("id", "witnesses"), List.copyOf(names(grant)));
    }
    operator.hand(A, "first", 60_000, Optional.empty());
    held.renew(LogSet.NONE);
    assertEquals("", held.handTo());
  }

  private static List<String> names(JsonNode object) {
    var names = new ArrayList<String>();
    object.fieldNames().forEachRemaining(names::add);
    return names;
  }

  private void refused(Reason reason, HttpLeaseClient by, String to, long keepMs, Id id) {
    var e =
        assertThrows(
            LeaseRefusedException.class,
            () -> by.hand(A, to, keepMs, id.high() == 0 ? Optional.empty() : Optional.of(id)));
    assertEquals(reason, e.reason(), e.getMessage());
  }

  @Test
  void itNeedsTheRightOrTheGrant() throws Exception {
    var none = new Id(0, 0);
    Grant grant = anybody.acquire(by("first", "a"));
    Grant other = anybody.acquire(by("first", "b"));
    refused(Reason.FORBIDDEN, anybody, "next", 1, none);
    refused(Reason.FORBIDDEN, anybody, "next", 1, other.id());
    assertEquals(Optional.empty(), anybody.detail(A).orElseThrow().handTo());
    try (var reader = new RawClient(server.port())) {
      JsonNode event = reader.get("/v1/history?name=a").json().get("events").get(0);
      while (!event.get("event").textValue().equals("refused")) { // until it has the time
        refused(Reason.FORBIDDEN, anybody, "next", 1, none);
        event = reader.get("/v1/history?name=a").json().get("events").get(0);
      }
      assertTrue(event.get("reason").textValue().startsWith("FORBIDDEN"), event.toString());
    }
    anybody.hand(A, "next", 1_000, Optional.of(grant.id()));
    try (var reader = new RawClient(server.port())) {
      JsonNode event = reader.get("/v1/history?name=a").json().get("events").get(0);
      assertEquals("handed", event.get("event").textValue());
      assertEquals("first", event.get("holder").textValue());
      assertEquals("to next", event.get("reason").textValue());
    }
    assertTrue(anybody.detail(A).orElseThrow().handTo().isPresent());
    var e =
        assertThrows(
            LeaseRefusedException.class,
            () -> operator.hand(new LeaseName("b"), "next", 1, Optional.empty()));
    assertEquals(Reason.FORBIDDEN, e.reason());
  }

  /** Of a token that ended the leases run out, and a lease that was revoked is not its holder's. */
  @Test
  void aGrantsSecretIsNotEnough() throws Exception {
    Grant grant = anybody.acquire(by("first", "a"));
    var file = new TokenFile(directory.resolve("closed"));
    try (LeaseServer closed = server(rig.service, Access.of(file, false, rig.time))) {
      refused(Reason.FORBIDDEN, client(closed, Credentials.NONE), "next", 1, grant.id());
    }
    var unused = operator.revoke(new Operation.Revoke(A, "it hangs", Optional.empty()));
    refused(Reason.FORBIDDEN, anybody, "next", 1, grant.id());
    assertEquals(Optional.empty(), anybody.detail(A).orElseThrow().handTo());
    operator.hand(A, "next", 1_000, Optional.of(grant.id()));
  }

  @Test
  void whatIsWrongIsRefused() throws Exception {
    var none = new Id(0, 0);
    refused(Reason.NOT_HELD, operator, "next", 1, none);
    Grant unused = anybody.acquire(by("first", "a"));
    refused(Reason.INVALID, operator, "", 1, none);
    refused(Reason.INVALID, operator, "a\nb", 1, none);
    refused(Reason.INVALID, operator, "x".repeat(256), 1, none);
    refused(Reason.INVALID, operator, "next", -1, none);
    refused(Reason.INVALID, operator, "next", 3_600_001, none);
    assertEquals(Optional.empty(), anybody.detail(A).orElseThrow().handTo());
  }

  /** Each server would know only of its own. */
  @Test
  void leasesOfSeveralServersAreNotHandedOver() throws Exception {
    LeaseService shared =
        Between.of(LeaseService.class, call -> call.is("isShared") ? true : call.by(rig.service));
    Grant grant = anybody.acquire(by("first", "a"));
    try (LeaseServer cell = server(shared, Access.withoutTokens())) {
      HttpLeaseClient client = client(cell, Credentials.NONE);
      var e =
          assertThrows(
              LeaseRefusedException.class,
              () -> client.hand(A, "next", 1, Optional.of(grant.id())));
      assertEquals(Reason.INVALID, e.reason());
      assertTrue(e.getMessage().contains("several servers"), e.getMessage());
    }
  }

  /** One that is started anew knows nothing of it: whoever comes first has the name. */
  @Test
  void aRestartForgetsIt() throws Exception {
    Grant first = anybody.acquire(by("first", "a"));
    operator.hand(A, "next", 60_000, Optional.empty());
    server.close();
    server = server(rig.service, Access.withoutTokens());
    HttpLeaseClient again = client(server, Credentials.NONE);
    again.release(first.id(), LeaseReport.NOTHING);
    assertEquals(1, again.acquire(by("other", "a")).witnesses().size());
  }

  /** In a batch and in a request that does not wait, too. */
  @Test
  void othersAreRefusedHoweverTheyAsk() throws Exception {
    Grant first = anybody.acquire(by("first", "a"));
    operator.hand(A, "next", 60_000, Optional.empty());
    List<Operation> batch =
        List.of(
            new Operation.Release(first.id(), LeaseReport.NOTHING),
            by("other", "b"),
            by("other", "a"),
            by("next", "a"));
    var outcomes = anybody.carryOut(batch);
    assertEquals(dev.cinch.lease.Outcome.RELEASED, outcomes.get(0));
    assertEquals(1, outcomes.get(1).grant().witnesses().size());
    assertThrows(LeaseRefusedException.class, () -> outcomes.get(2).requireDone());
    assertEquals(1, outcomes.get(3).grant().witnesses().size());
  }
}
