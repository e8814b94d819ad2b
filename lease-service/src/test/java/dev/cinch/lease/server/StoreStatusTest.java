package dev.cinch.lease.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.access.Access;
import dev.cinch.lease.access.Permission;
import dev.cinch.lease.access.TokenFile;
import dev.cinch.lease.client.HttpLeaseClient;
import dev.cinch.lease.instance.Rig;
import dev.cinch.lease.wire.Answer;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** {@code GET /v1/store}. */
@Timeout(60)
final class StoreStatusTest {
  private static final long SECOND = 1_000_000_000L;

  /** Longer than a test may take, so that an answer which waits is one that was not late. */
  private static final long EVER_MS = 600_000;

  private final AtomicLong clock = new AtomicLong(-3 * SECOND);
  private final AtomicInteger looks = new AtomicInteger();
  @TempDir private Path directory;

  private StoreStatus status(long patienceMs, Callable<String> look) {
    return new StoreStatus(
        () -> {
          looks.incrementAndGet();
          return look.call();
        },
        clock::get,
        patienceMs);
  }

  private static String said(StoreStatus status) throws Exception {
    Answer answer = status.ask().get();
    return answer.status() + " " + answer.body();
  }

  @Test
  void itIsLookedAtEveryFiveSecondsAtMost() throws Exception {
    StoreStatus status = status(EVER_MS, () -> "{\"look\":" + looks + "}");
    assertEquals("200 {\"ageMs\":0,\"look\":1}", said(status));
    clock.addAndGet(4_999 * SECOND / 1_000);
    assertEquals("200 {\"ageMs\":4999,\"look\":1}", said(status));
    clock.addAndGet(SECOND / 1_000);
    assertEquals("200 {\"ageMs\":0,\"look\":2}", said(status));
  }

  @Test
  void aLookThatTookLongIsFollowedByARest() throws Exception {
    StoreStatus status =
        status(
            EVER_MS,
            () -> {
              clock.addAndGet(10 * SECOND);
              return "{}";
            });
    var unused = said(status);
    clock.addAndGet(39 * SECOND);
    assertEquals("200 {\"ageMs\":39000}", said(status));
    clock.addAndGet(SECOND);
    assertEquals("200 {\"ageMs\":0}", said(status));
    assertEquals(2, looks.get());
  }

  @Test
  void whileItHangsTheLastReportIsToldWithItsAge() throws Exception {
    var answers = new CountDownLatch(1);
    StoreStatus status =
        status(
            1,
            () -> {
              answers.await();
              return "{}";
            });
    for (int i = 0; i < 3; i++) {
      String said = said(status);
      assertTrue(said.startsWith("503 {\"error\":\"NOT_YET\""), said);
    }
    answers.countDown();
    while (!said(status).equals("200 {\"ageMs\":0}")) {
      // Until it has looked.
    }
    assertEquals(1, looks.get(), "nobody else waits at a store that hangs");
  }

  @Test
  void anOldReportIsBetterThanNone() throws Exception {
    var hangs = new CountDownLatch(1);
    StoreStatus status =
        status(
            1_000,
            () -> {
              if (looks.get() > 1) {
                hangs.await();
              }
              return "{}";
            });
    while (!said(status).equals("200 {\"ageMs\":0}")) {
      // A machine that is busy takes longer than the patience.
    }
    clock.addAndGet(60 * SECOND);
    assertEquals("200 {\"ageMs\":60000}", said(status));
    assertEquals(2, looks.get());
    hangs.countDown();
  }

  @Test
  void aStoreThatCanNotBeReadIsToldOf() throws Exception {
    StoreStatus status =
        status(
            EVER_MS,
            () -> {
              throw new IOException("is not a Cinch store");
            });
    String failure =
        "502 {\"error\":\"UNAVAILABLE\",\"message\":\"is not a Cinch store\",\"retryAfterMs\":1000}";
    assertEquals(failure, said(status));
    clock.addAndGet(4 * SECOND);
    assertEquals(failure, said(status));
    assertEquals(1, looks.get());
    clock.addAndGet(SECOND);
    assertEquals(failure, said(status));
    assertEquals(2, looks.get());
  }

  @Test
  void itTakesARightOnAllNames() throws Exception {
    var rig = new Rig();
    var tokens = new TokenFile(directory.resolve("tokens"));
    String some = token(tokens, "observe:a/");
    String all = token(tokens, "observe");
    try (LeaseServer server =
        LeaseServer.builder(rig.service, rig.service::info)
            .port(0)
            .access(Access.of(tokens, false, rig.time))
            .store(() -> "{\"logs\":[]}")
            .start()) {
      for (String authorization : List.of("", "Authorization: Bearer " + some + "\r\n")) {
        assertEquals(403, ask(server, "GET", authorization).status());
      }
      String mine = "Authorization: Bearer " + all + "\r\n";
      RawClient.Response response = ask(server, "GET", mine);
      assertEquals(200, response.status());
      assertTrue(response.json().has("logs"), response.body());
      assertEquals("application/json", response.headers().get("content-type"));
      assertEquals("GET, HEAD", ask(server, "POST", mine).headers().get("allow"));
    }
    try (LeaseServer without =
        LeaseServer.builder(rig.service, rig.service::info).port(0).start()) {
      assertEquals(404, ask(without, "GET", "").status());
    }
  }

  private static String token(TokenFile tokens, String right) throws Exception {
    return tokens.add("", List.of(Permission.parse(right)), Instant.EPOCH, Optional.empty());
  }

  private static RawClient.Response ask(LeaseServer server, String method, String headers)
      throws IOException {
    try (var client = new RawClient(server.port())) {
      String head = method + " /v1/store HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n";
      return client.send(head + headers + "\r\n").response();
    }
  }

  /** However many want to know of the store: they take no thread. */
  @Test
  void leasesAreTakenWhileTheStoreHangs() throws Exception {
    var rig = new Rig();
    var hangs = new CountDownLatch(1);
    var looking = new CountDownLatch(1);
    var asking = new ArrayList<RawClient>();
    try (LeaseServer server =
        LeaseServer.builder(rig.service, rig.service::info)
            .port(0)
            .store(
                () -> {
                  looking.countDown();
                  hangs.await();
                  return "{}";
                })
            .start()) {
      for (int i = 0; i < 64; i++) {
        asking.add(
            new RawClient(server.port()).send("GET /v1/store HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"));
      }
      looking.await();
      HttpLeaseClient client = HttpLeaseClient.builder(server.uri()).build();
      assertEquals(1, client.acquire(rig.request("a")).witnesses().size());
      assertEquals(1, client.list("", Optional.empty(), 10).size());
      for (RawClient each : asking) {
        assertEquals(503, each.response().status());
        each.close();
      }
    } finally {
      hangs.countDown();
    }
  }
}
