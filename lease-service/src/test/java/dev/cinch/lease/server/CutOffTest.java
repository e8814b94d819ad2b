package dev.cinch.lease.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.Grant;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.cell.PaxosLease;
import dev.cinch.lease.cell.net.CellSettings;
import dev.cinch.lease.cell.net.LoopbackCell;
import dev.cinch.lease.instance.Rig;
import dev.cinch.lease.register.CellRegister;
import dev.cinch.lease.register.RegisterBackend;
import dev.cinch.lease.time.ManualTime;
import dev.cinch.lease.wire.Health;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Servers on the nodes of a cell, one of which is cut off from the others. */
@Timeout(120)
final class CutOffTest {
  private static final long MILLI = 1_000_000;
  private static final HttpClient HTTP = HttpClient.newHttpClient();

  @TempDir Path temp;
  private LoopbackCell cell;
  private final List<Rig> rigs = new ArrayList<>();
  private final List<LeaseServer> servers = new ArrayList<>();

  @BeforeEach
  void start() throws Exception {
    cell =
        new LoopbackCell(
            temp,
            new PaxosLease(60_000 * MILLI, 500, 3_600_000 * MILLI),
            true,
            CellSettings.DEFAULT);
    for (var node : cell.nodes) {
      var register = new CellRegister(node, RandomGenerator.of("L64X128MixRandom"));
      var rig = new Rig(RegisterBackend.on(register, ManualTime.START, 60_000, 1_000));
      rigs.add(rig);
      servers.add(
          LeaseServer.builder(rig.service, rig.service::info)
              .health(
                  () ->
                      new Health(
                          java.util.OptionalLong.of(rig.service.number()),
                          "",
                          rig.service.obstacle()))
              .clock(() -> 0)
              .port(0)
              .start());
    }
  }

  @AfterEach
  void stop() throws Exception {
    for (LeaseServer server : servers) {
      server.close();
    }
    cell.close();
  }

  /** Lets the nodes' time pass until something is done, no faster than any clock. */
  private <T> T passing(Callable<T> what) throws Exception {
    return passing(what, MILLI);
  }

  private <T> T passing(Callable<T> what, long nanosEach) throws Exception {
    var task = new FutureTask<>(what);
    new Thread(task).start();
    while (true) {
      try {
        return task.get(1, TimeUnit.MILLISECONDS);
      } catch (TimeoutException e) {
        cell.forward(nanosEach);
      }
    }
  }

  private String get(int node, String path) throws Exception {
    return get(node, path, MILLI);
  }

  /** What nobody else answers, in less time than it takes. */
  private String alone(int node, String path) throws Exception {
    return get(node, path, 100 * MILLI);
  }

  private String get(int node, String path, long nanosEach) throws Exception {
    return passing(
        () -> {
          HttpResponse<String> answer =
              HTTP.send(
                  HttpRequest.newBuilder(URI.create(servers.get(node - 1).uri() + path)).build(),
                  HttpResponse.BodyHandlers.ofString());
          return answer.statusCode() + " " + answer.body();
        },
        nanosEach);
  }

  private void probe(int node, boolean reached) throws Exception {
    rigs.get(node - 1).service.probe();
    boolean unused =
        passing(
            () -> {
              while (rigs.get(node - 1).service.obstacle().isEmpty() != reached) {
                Thread.onSpinWait();
              }
              return true;
            },
            reached ? MILLI : 100 * MILLI);
  }

  private Grant acquire(int node, String... names) throws Exception {
    return passing(() -> rigs.get(node - 1).acquire(names));
  }

  @Test
  void whatTakesAMajorityIsNotAnsweredByOneNodeAlone() throws Exception {
    Grant held = acquire(1, "jobs/1");
    assertTrue(get(3, "/v1/leases/jobs/1").startsWith("200 {\"state\":\"HELD\""));
    assertTrue(get(3, "/readyz").startsWith("200 "));
    cell.cut(3);
    for (String path : List.of("/v1/leases/jobs/1", "/v1/leases/none", "/v1/leases")) {
      String answer = alone(3, path);
      assertTrue(answer.startsWith("503 {\"error\":\"NOT_YET\""), path + ": " + answer);
      assertTrue(answer.contains("too few nodes of the cell answer"), answer);
    }
    probe(3, false);
    assertEquals(1, cell.node(3).status().join().answering());
    assertTrue(get(3, "/readyz").startsWith("503 {\"error\":\"NOT_YET\""));
    assertTrue(get(1, "/v1/leases/jobs/1").startsWith("200 "));
    assertTrue(get(2, "/v1/leases").startsWith("200 {\"leases\":[{\"state\":\"HELD\""));
    cell.heal();
    probe(3, true);
    assertTrue(cell.node(3).status().join().answering() >= 2);
    assertTrue(get(3, "/readyz").startsWith("200 "));
    assertEquals(1, held.witnesses().size());
  }

  /** Its own acceptor has never heard of these names. */
  @Test
  void aNodeThatWasCutOffListsAndShowsWhatTheOthersGranted() throws Exception {
    cell.cut(3);
    var names = new ArrayList<String>();
    for (int i = 0; i < 300; i++) {
      names.add("%s/%03d".formatted("n".repeat(40), i));
    }
    Grant some = acquire(1, names.toArray(String[]::new));
    cell.heal();
    String all = get(3, "/v1/leases?limit=1000");
    for (String name : names) {
      assertTrue(all.contains("\"name\":\"" + name + "\""), name);
    }
    String page = get(3, "/v1/leases?limit=2&after=" + names.get(7));
    assertTrue(page.contains(names.get(8)) && page.contains(names.get(9)), page);
    assertFalse(page.contains(names.get(7)) || page.contains(names.get(10)), page);
    assertEquals("200 {\"leases\":[]}", get(3, "/v1/leases?after=" + names.get(299)));
    assertEquals("200 {\"leases\":[]}", get(3, "/v1/leases?prefix=other"));
    assertTrue(get(3, "/v1/leases/" + names.get(0)).startsWith("200 {\"state\":\"HELD\""));
    assertEquals(300, some.witnesses().size());
  }

  /** Not the value that one acceptor took for live and has missed the end of. */
  @Test
  void theLastStateIsShownAlsoByANodeThatMissedIt() throws Exception {
    Grant first = acquire(1, "a");
    cell.cut(3);
    boolean unused =
        passing(
            () -> {
              rigs.get(0).service.release(first.id(), LeaseReport.NOTHING);
              return true;
            });
    cell.heal();
    for (int i = 0; i < 20; i++) {
      String shown = get(3, "/v1/leases/a");
      assertTrue(shown.startsWith("200 {\"state\":\"RELEASED\""), shown);
    }
  }

  private HttpResponse<String> list(int node, String tag) throws Exception {
    URI uri = URI.create(servers.get(node - 1).uri() + "/v1/leases");
    HttpRequest request = HttpRequest.newBuilder(uri).header("If-None-Match", tag).build();
    return passing(() -> HTTP.send(request, HttpResponse.BodyHandlers.ofString()));
  }

  /** So short that no look at the others fell into it; tags last for ever by this test's clock. */
  @Test
  void whatOneMissedForAMomentEndsItsTags() throws Exception {
    Grant before = acquire(3, "jobs/1");
    String tag = list(3, "").headers().firstValue("ETag").orElseThrow();
    assertEquals(304, list(3, tag).statusCode());
    cell.cut(3);
    Grant missed = acquire(1, "jobs/2");
    cell.heal();
    HttpResponse<String> answer;
    do {
      rigs.get(0).service.probe(); // as each does every second
      rigs.get(2).service.probe();
      answer = list(3, tag);
    } while (answer.statusCode() == 304);
    assertTrue(answer.body().contains("jobs/2"));
    assertEquals(2, before.witnesses().size() + missed.witnesses().size());
  }
}
