package dev.cinch.lease.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.cell.Algorithm;
import dev.cinch.lease.cell.Flease;
import dev.cinch.lease.cell.PaxosLease;
import dev.cinch.lease.cell.net.CellSettings;
import dev.cinch.lease.cell.net.LoopbackCell;
import dev.cinch.lease.instance.Rig;
import dev.cinch.lease.register.CellRegister;
import dev.cinch.lease.register.RegisterBackend;
import dev.cinch.lease.server.LeaseServer;
import dev.cinch.lease.table.TableLimits;
import dev.cinch.lease.time.ManualTime;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Rule L18 over HTTP: servers of a cell whose clocks are as far apart as the store allows. */
@Timeout(120)
@SuppressWarnings("NullAway.Init") // each test starts its own
final class SkewedServersTest {
  private static final long MILLI = 1_000_000;
  private static final long APART_MS = 1_000;
  private static final long LEASE_MS = 4_000;
  private static final HttpClient HTTP = HttpClient.newHttpClient();

  @TempDir Path temp;
  private LoopbackCell cell;
  private final List<ManualTime> times = new ArrayList<>();
  private final List<LeaseServer> servers = new ArrayList<>();
  private int asked;

  /** Three servers, the first behind by half of what is allowed, the last ahead by as much. */
  private void start(Algorithm algorithm) throws Exception {
    cell = new LoopbackCell(temp, algorithm, true, CellSettings.DEFAULT);
    cell.stopClock();
    for (int id = 1; id <= 3; id++) {
      var register = new CellRegister(cell.node(id), RandomGenerator.of("L64X128MixRandom"));
      var time = new ManualTime();
      time.stepWallMs((id - 2) * APART_MS / 2);
      times.add(time);
      var rig =
          new Rig(
              time,
              null,
              true,
              TableLimits.DEFAULT,
              RegisterBackend.on(register, ManualTime.START - APART_MS * MILLI, 60_000, APART_MS));
      servers.add(LeaseServer.builder(rig.service, rig.service::info).port(0).start());
    }
  }

  @AfterEach
  void stop() throws Exception {
    for (LeaseServer server : servers) {
      server.close();
    }
    cell.close();
  }

  private void pass(long ms) {
    times.forEach(time -> time.advanceMs(ms));
    cell.forward(ms * MILLI);
  }

  private HttpResponse<String> acquire(int node) throws Exception {
    String body =
        "{\"id\":\"%032x\",\"names\":[\"jobs/1\"],\"holder\":\"h\",\"durationMs\":%d}"
            .formatted(++asked, LEASE_MS);
    var request =
        HttpRequest.newBuilder(URI.create(servers.get(node - 1).uri() + "/v1/leases/acquire"))
            .header("Content-Type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofString(body))
            .build();
    CompletableFuture<HttpResponse<String>> answer =
        HTTP.sendAsync(request, HttpResponse.BodyHandlers.ofString());
    while (true) {
      try {
        return answer.get(2, TimeUnit.MILLISECONDS);
      } catch (TimeoutException e) {
        cell.forward(MILLI); // the time of messages, in which the lease does not grow older
      }
    }
  }

  /** The next holder is in at the deadline of the one before, and soon after it. */
  private void exclude(int holder, int next) throws Exception {
    HttpResponse<String> first = acquire(holder);
    assertEquals(200, first.statusCode(), first.body());
    long passed = 0;
    HttpResponse<String> answer = acquire(next);
    while (answer.statusCode() != 200) {
      assertTrue(answer.body().contains("HELD"), answer.body());
      assertTrue(passed < LEASE_MS + 3 * APART_MS, answer.body());
      pass(50);
      passed += 50;
      answer = acquire(next);
    }
    assertTrue(passed >= LEASE_MS, "granted " + (LEASE_MS - passed) + " ms before the deadline");
  }

  @Test
  void l18_paxosLeaseGrantsNothingBeforeTheDeadline() throws Exception {
    start(new PaxosLease(60_000 * MILLI, 500, 3_600_000 * MILLI));
    exclude(1, 3);
  }

  @Test
  void l18_fleaseGrantsNothingBeforeTheDeadline() throws Exception {
    start(new Flease(60_000 * MILLI, MILLI, 3_600_000 * MILLI));
    exclude(1, 3);
  }

  @Test
  void l18_norDoesAServerThatIsBehind() throws Exception {
    start(new PaxosLease(60_000 * MILLI, 500, 3_600_000 * MILLI));
    exclude(3, 1);
  }
}
