package dev.cinch.lease.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.Grant;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.cell.PaxosLease;
import dev.cinch.lease.cell.net.CellSettings;
import dev.cinch.lease.cell.net.LoopbackCell;
import dev.cinch.lease.memory.Rig;
import dev.cinch.lease.register.CellRegister;
import dev.cinch.lease.register.RegisterBackend;
import dev.cinch.lease.time.ManualTime;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
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

  private static String next(LeaseWatch watch) throws Exception {
    LeaseEvent event = watch.next();
    return event.kind() + event.lease().map(l -> " " + l.witness().name()).orElse("");
  }

  /** Of one that comes back, also by what it asks others for; returns all that was told. */
  private Set<String> awaitTold(LeaseWatch watch, String held) throws Exception {
    var told = new HashSet<String>();
    while (!told.contains("HELD " + held) && !told.contains("GRANTED " + held)) {
      told.add(passing(() -> next(watch)));
    }
    return told;
  }

  private HttpLeaseClient client(int node) {
    return HttpLeaseClient.builder(servers.get(node - 1).uri()).build();
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
    assertTrue(alone(3, "/v1/watch?name=jobs/1").startsWith("503 {\"error\":\"NOT_YET\""));
    probe(3, false);
    assertEquals(1, cell.node(3).status().join().answering());
    assertTrue(get(3, "/readyz").startsWith("503 {\"error\":\"NOT_YET\""));
    assertTrue(get(3, "/v1/watch?name=jobs/1").startsWith("503 {\"error\":\"NOT_YET\""));
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

  @Test
  void whoWatchesANodeThatIsCutOffHearsSoAndThenWhatIsHeld() throws Exception {
    Grant before = acquire(1, "jobs/1");
    LeaseWatch watch = passing(() -> client(3).watch(List.of(), List.of("jobs/")));
    String first = passing(() -> next(watch)); // the node may hear of it only now
    assertTrue(Set.of("HELD jobs/1", "GRANTED jobs/1").contains(first), first);
    assertEquals("SYNCED", passing(() -> next(watch)));
    String last = watch.lastId();
    assertFalse(last.isEmpty());
    cell.cut(3);
    probe(3, false);
    assertEquals("LAGGED", passing(() -> next(watch)));
    boolean unused =
        passing(
            () -> {
              rigs.get(0).service.release(before.id(), LeaseReport.NOTHING);
              return true;
            });
    Grant after = acquire(2, "jobs/2");
    cell.heal();
    probe(3, true);
    awaitTold(watch, "jobs/2");
    watch.close();
    LeaseWatch again =
        passing(() -> client(3).watch(List.of(new LeaseName("x")), List.of("jobs/"), last));
    assertEquals("LAGGED", passing(() -> next(again)));
    again.close();
    assertEquals(1, after.witnesses().size());
  }

  /** So short that no look at the others fell into it. */
  @Test
  void alsoWhatOneMissedForAMomentIsTold() throws Exception {
    LeaseWatch watch = passing(() -> client(3).watch(List.of(), List.of("jobs/")));
    assertEquals("SYNCED", passing(() -> next(watch)));
    cell.cut(3);
    Grant missed = acquire(1, "jobs/1");
    cell.heal();
    rigs.get(0).service.probe(); // as each does every second
    rigs.get(2).service.probe();
    Set<String> told = awaitTold(watch, "jobs/1");
    while (!told.contains("LAGGED")) {
      told.add(passing(() -> next(watch)));
    }
    watch.close();
    assertEquals(1, missed.witnesses().size());
  }

  @Test
  void whoComesBackIsToldWhatItMissedByTheIdOfItsLastEvent() throws Exception {
    Grant one = acquire(1, "jobs/1");
    LeaseWatch watch = passing(() -> client(2).watch(List.of(), List.of("jobs/")));
    assertEquals("HELD jobs/1", passing(() -> next(watch)));
    assertEquals("SYNCED", passing(() -> next(watch)));
    watch.close();
    Grant two = acquire(3, "jobs/2");
    LeaseWatch back = passing(() -> client(2).watch(List.of(), List.of("jobs/"), watch.lastId()));
    assertEquals("GRANTED jobs/2", passing(() -> next(back)));
    back.close();
    assertEquals(2, one.witnesses().size() + two.witnesses().size());
  }
}
