package dev.cinch.lease.server;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Outcome;
import dev.cinch.lease.ServiceCounts;
import dev.cinch.lease.access.Access;
import dev.cinch.lease.client.HttpLeaseClient;
import dev.cinch.lease.instance.Rig;
import dev.cinch.lease.wire.Health;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** {@code GET /metrics}. */
@Timeout(600)
final class MetricsApiTest {
  private static final HttpClient HTTP = HttpClient.newHttpClient();
  private static final Pattern LINE =
      Pattern.compile(
          "# (HELP|TYPE) cinch_[a-z_]+ .+|cinch_[a-z_]+(\\{[a-z_]+=\"[^\"]*\"(,[a-z_]+=\"[^\"]*\")*\\})? -?[0-9.]+(E-?[0-9]+)?");

  private final Rig rig = new Rig();

  private LeaseServer.Builder builder() {
    return LeaseServer.builder(rig.service, rig.service::info).port(0);
  }

  private static HttpResponse<String> ask(LeaseServer server, String method) throws Exception {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(server.uri() + "/metrics"))
            .method(method, HttpRequest.BodyPublishers.noBody())
            .build();
    return HTTP.send(request, HttpResponse.BodyHandlers.ofString());
  }

  private static Set<String> lines(String text) {
    assertTrue(text.endsWith("\n"));
    text.lines().forEach(line -> assertTrue(LINE.matcher(line).matches(), line));
    return text.lines().collect(Collectors.toSet());
  }

  private static void assertHas(Set<String> lines, String... wanted) {
    for (String line : wanted) {
      assertTrue(lines.contains(line), () -> line + " is not among " + lines);
    }
  }

  @Test
  void whatWasAskedForIsCountedByWhatBecameOfIt() throws Exception {
    try (LeaseServer server = builder().start()) {
      HttpLeaseClient client = HttpLeaseClient.builder(server.uri()).build();
      Grant grant = client.acquire(rig.request("a", "b"));
      for (int i = 0; i < 2; i++) {
        assertThrows(LeaseRefusedException.class, () -> client.acquire(rig.request("a")));
        assertThrows(
            LeaseRefusedException.class, () -> client.acquire(rig.request("a").waiting(1)));
      }
      var unused = client.renew(grant.id(), Rig.LEASE_MS, LogSet.NONE, LeaseReport.NOTHING);
      client.release(grant.id(), LeaseReport.NOTHING);
      List<Outcome> batch =
          client.carryOut(
              List.of(rig.request("c"), new Operation.Release(new Id(1, 2), LeaseReport.NOTHING)));
      assertEquals(2, batch.size());
      HttpResponse<String> answer = ask(server, "GET");
      assertEquals(200, answer.statusCode());
      assertEquals(
          "text/plain; version=0.0.4; charset=utf-8",
          answer.headers().firstValue("Content-Type").orElseThrow());
      Set<String> lines = lines(answer.body());
      assertHas(
          lines,
          "cinch_granting 1.0",
          "cinch_instance " + (double) rig.service.info().instance(),
          "cinch_waiting 0.0",
          "cinch_waiting_names 0.0",
          "cinch_wait_seconds_count 2",
          "cinch_leases_held 1.0",
          "cinch_leases_expired_total 0.0",
          "cinch_signatures_total 3.0",
          "cinch_operations_total{operation=\"acquire\",outcome=\"DONE\"} 2.0",
          "cinch_operations_total{operation=\"acquire\",outcome=\"HELD\"} 4.0",
          "cinch_operations_total{operation=\"renew\",outcome=\"DONE\"} 1.0",
          "cinch_operations_total{operation=\"release\",outcome=\"DONE\"} 1.0",
          "cinch_operations_total{operation=\"release\",outcome=\"NOT_HELD\"} 1.0",
          "cinch_operations_total{operation=\"upgrade\",outcome=\"DONE\"} 0.0",
          "cinch_operation_seconds_count{operation=\"acquire\"} 4",
          "cinch_operation_seconds_count{operation=\"acquire_queued\"} 2",
          "cinch_witnesses_total 5.0",
          "cinch_overloaded_total 0.0");
      assertFalse(answer.body().contains("cinch_cell"));
      assertEquals(405, ask(server, "POST").statusCode());
    }
  }

  /** Each has one help and one type, before its values, which stand together. */
  @Test
  void eachMetricIsDescribedOnce() throws Exception {
    try (LeaseServer server = builder().start()) {
      var described = new HashSet<String>();
      String metric = "";
      for (String line : ask(server, "GET").body().lines().toList()) {
        String[] words = line.split("[ {]", 4);
        if (words[0].equals("#") && words[1].equals("HELP")) {
          metric = words[2];
          assertTrue(described.add(metric), line);
        } else if (words[0].equals("#")) {
          assertEquals(List.of("TYPE", metric), List.of(words[1], words[2]));
          assertTrue(Set.of("counter", "gauge", "histogram").contains(words[3]), line);
          assertEquals(words[3].equals("counter"), metric.endsWith("_total"), line);
        } else {
          assertEquals(metric, words[0].replaceAll("_(bucket|sum|count)$", ""), line);
        }
      }
      assertTrue(described.size() > 10, described::toString);
    }
  }

  @Test
  void leasesAreHeldUntilTheyAreOver() throws Exception {
    String[] many = IntStream.range(0, 900).mapToObj(i -> "m/" + i).toArray(String[]::new);
    Grant first = rig.acquire(many);
    Grant unused =
        rig.acquire(IntStream.range(0, 900).mapToObj(i -> "n/" + i).toArray(String[]::new));
    assertEquals(OptionalLong.of(1_800), rig.service.counts().held());
    rig.service.release(first.id(), LeaseReport.NOTHING);
    assertEquals(OptionalLong.of(900), rig.service.counts().held());
    rig.time.advanceMs(Rig.LEASE_MS);
    assertEquals(OptionalLong.of(0), rig.service.counts().held());
  }

  @Test
  void aNodeOfACellTellsHowItIs() throws Exception {
    ObjectNode node = JsonNodeFactory.instance.objectNode().put("node", 2).put("boot", 7);
    node.put("quarantined", true).put("quarantinedUntil", "2026-01-01T00:00:00.5Z");
    node.put("rows", 3)
        .put("names", 2)
        .put("attempts", 1)
        .put("answering", 2)
        .put("faults", 0)
        .put("ballots", 13);
    node.putArray("peers")
        .addObject()
        .put("node", 1)
        .put("heardAgoMs", 250)
        .put("clockAheadMs", -7);
    ObjectNode traffic = node.putObject("traffic").put("datagramsSent", 11);
    traffic.put("datagramsReceived", 12).put("notSent", 1).put("wrongKey", 4);
    try (LeaseServer server = builder().cell(() -> Optional.of(node)).start()) {
      assertHas(
          lines(ask(server, "GET").body()),
          "cinch_cell_voting 0.0",
          "cinch_cell_quarantined_until_seconds 1.7672256005E9",
          "cinch_cell_boot 7.0",
          "cinch_cell_rows 3.0",
          "cinch_cell_names 2.0",
          "cinch_cell_attempts 1.0",
          "cinch_cell_answering 2.0",
          "cinch_cell_ballots_total 13.0",
          "cinch_cell_datagrams_sent_total 11.0",
          "cinch_cell_datagrams_received_total 12.0",
          "cinch_cell_datagrams_not_sent_total 1.0",
          "cinch_cell_datagrams_dropped_total{reason=\"wrongKey\"} 4.0",
          "cinch_cell_datagrams_dropped_total{reason=\"malformed\"} 0.0",
          "cinch_cell_peer_heard_seconds{node=\"1\"} 0.25",
          "cinch_cell_peer_clock_ahead_seconds{node=\"1\"} -0.007");
    }
    try (LeaseServer server = builder().cell(Optional::empty).start()) {
      assertFalse(ask(server, "GET").body().contains("cinch_cell")); // it is starting
    }
  }

  @Test
  void howLongItTookIsCountedInBuckets() {
    var metrics = new ServerMetrics(rig.time::monotonicNanos);
    Operation renew = new Operation.Renew(new Id(1, 2), 1, LogSet.NONE, LeaseReport.NOTHING);
    for (long ms : new long[] {1, 2, 30, 60_000}) {
      var asked =
          new Routes.Asked(
              List.of(renew),
              Collections.emptySortedMap(),
              false,
              Access.withoutTokens().caller(List.of(), null, Optional.empty()),
              metrics.now());
      rig.time.advanceMs(ms);
      metrics.unavailable(asked);
    }
    String text =
        new String(
            metrics.text(
                Health.starting(""),
                new ServerMetrics.Now(0, 0, 0, ServiceCounts.NONE),
                Optional.empty()),
            UTF_8);
    String labels = "operation=\"renew\"";
    assertHas(
        lines(text.replace("+Inf\"} ", "inf\"} ")),
        "cinch_operations_total{" + labels + ",outcome=\"UNAVAILABLE\"} 4.0",
        "cinch_operation_seconds_bucket{" + labels + ",le=\"5.0E-4\"} 0",
        "cinch_operation_seconds_bucket{" + labels + ",le=\"0.001\"} 1",
        "cinch_operation_seconds_bucket{" + labels + ",le=\"0.0025\"} 2",
        "cinch_operation_seconds_bucket{" + labels + ",le=\"0.025\"} 2",
        "cinch_operation_seconds_bucket{" + labels + ",le=\"0.05\"} 3",
        "cinch_operation_seconds_bucket{" + labels + ",le=\"10.0\"} 3",
        "cinch_operation_seconds_bucket{" + labels + ",le=\"inf\"} 4",
        "cinch_operation_seconds_sum{" + labels + "} 60.033",
        "cinch_operation_seconds_count{" + labels + "} 4");
  }
}
