package dev.cinch.lease.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.Between;
import dev.cinch.lease.LeaseHost;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.client.HttpLeaseClient;
import dev.cinch.lease.instance.Rig;
import dev.cinch.lease.wire.Health;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What probes are answered. */
@Timeout(600)
final class HealthTest {
  private static final HttpClient HTTP = HttpClient.newHttpClient();
  private static final Rig RIG = new Rig();

  private static HttpRequest get(LeaseServer server, String path) {
    return HttpRequest.newBuilder(URI.create(server.uri() + path)).build();
  }

  private static String answered(LeaseServer server, String path) throws Exception {
    HttpResponse<String> r = HTTP.send(get(server, path), HttpResponse.BodyHandlers.ofString());
    return r.statusCode() + " " + r.body();
  }

  private static LeaseServer serving(Health health) throws Exception {
    return LeaseServer.builder(RIG.service, RIG.service::info).health(() -> health).port(0).start();
  }

  @Test
  void oneThatGrantsIsLiveAndReady() throws Exception {
    try (LeaseServer server = serving(new Health(OptionalLong.of(7), "ab", Optional.empty()))) {
      assertEquals(
          "200 {\"live\":true,\"instance\":7,\"store\":\"ab\"}", answered(server, "/healthz"));
      assertEquals("200 {\"ready\":true}", answered(server, "/readyz"));
      Health asked = HttpLeaseClient.builder(server.uri()).build().health();
      assertEquals(new Health(OptionalLong.of(7), "ab", Optional.empty()), asked);
      assertTrue(answered(server, "/healthz/").startsWith("404 "));
    }
  }

  @Test
  void oneThatWaitsIsLiveAndSaysWhyItIsNotReady() throws Exception {
    var wait = new LeaseRefusedException(Reason.NOT_YET, "grants again in 12 min", 720_000);
    try (LeaseServer server = serving(new Health(OptionalLong.of(7), "", Optional.of(wait)))) {
      assertEquals("200 {\"live\":true,\"instance\":7}", answered(server, "/healthz"));
      assertEquals(
          "503 {\"error\":\"NOT_YET\",\"message\":\"grants again in 12"
              + " min\",\"retryAfterMs\":720000}",
          answered(server, "/readyz"));
    }
    try (LeaseServer server = serving(Health.starting("ab"))) {
      assertEquals("200 {\"live\":true,\"store\":\"ab\"}", answered(server, "/healthz"));
      assertTrue(answered(server, "/readyz").startsWith("503 "));
    }
  }

  /** A store that hangs is no reason to end the server, and to lose all leases. */
  @Test
  void oneWhoseThreadsAllWaitForTheStoreIsLive() throws Exception {
    var answer = new CountDownLatch(1);
    LeaseHost hangs =
        Between.of(
            LeaseHost.class,
            call -> {
              if (call.is("listen")) {
                return false;
              }
              answer.await();
              return 0L;
            });
    try (LeaseServer server = LeaseServer.builder(hangs, RIG.service::info).port(0).start()) {
      List<CompletableFuture<?>> waiting = new ArrayList<>();
      for (int i = 0; i < 2 * Math.max(8, 2 * Runtime.getRuntime().availableProcessors()); i++) {
        waiting.add(HTTP.sendAsync(get(server, "/v1/time"), HttpResponse.BodyHandlers.ofString()));
      }
      assertTrue(answered(server, "/healthz").startsWith("200 "));
      answer.countDown();
      CompletableFuture.allOf(waiting.toArray(CompletableFuture[]::new)).join();
    }
  }
}
