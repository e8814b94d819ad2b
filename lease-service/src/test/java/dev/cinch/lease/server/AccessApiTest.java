package dev.cinch.lease.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LeaseService;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Outcome;
import dev.cinch.lease.access.Access;
import dev.cinch.lease.access.Permission;
import dev.cinch.lease.access.TokenFile;
import dev.cinch.lease.client.Credentials;
import dev.cinch.lease.client.HttpLeaseClient;
import dev.cinch.lease.instance.Rig;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What a server does for whom. */
@Timeout(60)
final class AccessApiTest {
  private static final HttpClient HTTP = HttpClient.newHttpClient();

  private final Rig rig = new Rig();
  private long ids;
  @TempDir Path directory;

  private LeaseServer server(boolean openToAll) throws Exception {
    return LeaseServer.builder(rig.service, rig.service::info)
        .port(0)
        .access(Access.of(file(), openToAll, rig.time))
        .start();
  }

  private TokenFile file() {
    return new TokenFile(directory.resolve("tokens"));
  }

  private String token(String... rights) throws Exception {
    var all = Arrays.stream(rights).map(Permission::parse).toList();
    return file().add("", all, Instant.EPOCH, Optional.empty());
  }

  private static HttpLeaseClient client(LeaseServer server, String token) {
    var credentials = new Credentials(Optional.of(token), Optional.empty());
    return HttpLeaseClient.builder(server.uri()).credentials(credentials).build();
  }

  private Operation.Acquire acquire(String name) {
    var names = List.of(new LeaseName(name));
    return new Operation.Acquire(
        new Id(0, ++ids), names, "somebody", Rig.LEASE_MS, LogSet.ALL, false);
  }

  private static Operation.Revoke revoke(String name) {
    return new Operation.Revoke(new LeaseName(name), "it hangs", Optional.empty());
  }

  private static Optional<Reason> refused(LeaseService by, Operation operation) throws Exception {
    Outcome outcome = by.carryOut(List.of(operation)).get(0);
    return outcome instanceof Outcome.Refused r
        ? Optional.of(r.refusal().reason())
        : Optional.empty();
  }

  private static int status(LeaseServer server, String path, String... headers) throws Exception {
    var request = HttpRequest.newBuilder(URI.create(server.uri() + path));
    if (headers.length > 0) {
      request.headers(headers);
    }
    return HTTP.send(request.build(), HttpResponse.BodyHandlers.ofString()).statusCode();
  }

  @Test
  void aStrangerEndsNobodysLease() throws Exception {
    String admin = token("admin");
    try (LeaseServer server = server(true)) {
      HttpLeaseClient stranger = HttpLeaseClient.builder(server.uri()).build();
      assertEquals(Optional.empty(), refused(stranger, acquire("jobs/1")));
      LeaseRefusedException e =
          assertThrows(LeaseRefusedException.class, () -> stranger.revoke(revoke("jobs/1")));
      assertEquals(Reason.FORBIDDEN, e.reason());
      assertTrue(e.getMessage().contains("the right revoke:jobs/1"), e::getMessage);
      assertTrue(rig.service.show(new LeaseName("jobs/1")).orElseThrow().state().excludes());
      assertEquals(Optional.empty(), refused(client(server, admin), revoke("jobs/1")));
    }
  }

  @Test
  void detailsNeedTheRightToObserve() throws Exception {
    String ci = token("acquire:ci/");
    try (LeaseServer server = server(false)) {
      assertEquals(Optional.empty(), refused(client(server, ci), acquire("ci/1")));
      String[] header = {"Authorization", "Bearer " + ci};
      assertEquals(200, status(server, "/v1/leases/ci/1?detail=true", header));
      assertEquals(403, status(server, "/v1/leases/jobs/1?detail=true", header));
      assertEquals(200, status(server, "/v1/leases?detail=true&prefix=ci/", header));
      assertEquals(403, status(server, "/v1/leases?detail=true", header));
      assertEquals(403, status(server, "/v1/leases/ci/1?detail=true"));
    }
  }

  @Test
  void aTokenTakesWhatItHasTheRightTo() throws Exception {
    String ci = token("acquire:ci/");
    String screen = token("observe");
    try (LeaseServer server = server(false)) {
      HttpLeaseClient builder = client(server, ci);
      assertEquals(Optional.empty(), refused(builder, acquire("ci/1")));
      assertEquals(Optional.of(Reason.FORBIDDEN), refused(builder, acquire("jobs/1")));
      assertEquals(Optional.of(Reason.FORBIDDEN), refused(client(server, screen), acquire("ci/2")));
      assertEquals(1, builder.list("ci/", Optional.empty(), 10).size());
      assertEquals(1, client(server, screen).list("", Optional.empty(), 10).size());
      assertThrows(LeaseUnavailableException.class, () -> builder.list("", Optional.empty(), 10));
      assertEquals(Optional.empty(), builder.show(new LeaseName("ci/none")));
      assertThrows(LeaseUnavailableException.class, () -> builder.show(new LeaseName("jobs/1")));
    }
  }

  /** Whoever has seen the secret of a grant needs the right to its leases, too. */
  @Test
  void theSecretOfAGrantGivesNoRightToIt() throws Exception {
    var mine = acquire("jobs/1");
    var open =
        new Operation.Acquire(mine.id(), List.of(new LeaseName("ci/9")), "x", 1, LogSet.ALL, false);
    String jobs = token("acquire:jobs/", "acquire:db/");
    String ci = token("acquire:ci/", "observe", "revoke:ci/");
    try (LeaseServer server = server(false)) {
      HttpLeaseClient holder = client(server, jobs);
      HttpLeaseClient thief = client(server, ci);
      Grant grant = holder.acquire(mine);
      List<Operation> wanted =
          List.of(
              new Operation.Renew(mine.id(), Rig.LEASE_MS, LogSet.NONE, LeaseReport.NOTHING),
              new Operation.Upgrade(mine.id(), Rig.LEASE_MS),
              new Operation.Resume(mine.id(), grant.witnesses(), Rig.LEASE_MS),
              new Operation.Release(mine.id(), LeaseReport.NOTHING),
              mine);
      for (Operation each : wanted) {
        LeaseRefusedException e =
            assertThrows(LeaseRefusedException.class, () -> thief.carryOut(each).requireDone());
        assertEquals(Reason.FORBIDDEN, e.reason(), e::getMessage);
        assertTrue(e.getMessage().contains("the right acquire:jobs/1"), e::getMessage);
      }
      for (Outcome outcome : thief.carryOut(wanted)) {
        assertTrue(
            outcome instanceof Outcome.Refused r && r.refusal().reason() == Reason.FORBIDDEN);
      }
      assertEquals(Optional.of(Reason.FORBIDDEN), refused(thief, revoke("jobs/1")));
      assertEquals(Optional.of(Reason.INVALID), refused(thief, open));
      assertTrue(rig.service.show(new LeaseName("jobs/1")).orElseThrow().state().excludes());
      for (int place : List.of(0, 1, 3)) {
        holder.carryOut(wanted.get(place)).requireDone();
      }
    }
  }

  /** Others of the same batch are carried out. */
  @Test
  void inABatchEachIsJudgedByItself() throws Exception {
    String ci = token("acquire:ci/");
    try (LeaseServer server = server(true)) {
      var mine = acquire("ci/1");
      List<Outcome> outcomes =
          client(server, ci)
              .carryOut(
                  List.of(
                      acquire("a"),
                      mine,
                      acquire("b"),
                      acquire("ci/2"),
                      new Operation.Release(mine.id(), LeaseReport.NOTHING),
                      acquire("c")));
      var done = outcomes.stream().map(o -> !(o instanceof Outcome.Refused)).toList();
      assertEquals(List.of(false, true, false, true, true, false), done);
      List<Outcome> none = client(server, ci).carryOut(List.of(acquire("a"), acquire("b")));
      assertTrue(none.stream().allMatch(o -> o instanceof Outcome.Refused));
      assertEquals(2, none.size());
    }
  }

  @Test
  void withoutATokenNothingIsToldButHowTheServerIs() throws Exception {
    String screen = token("observe");
    try (LeaseServer server = server(false)) {
      for (String path : List.of("/v1/time", "/v1/service", "/v1/shards", "/healthz", "/readyz")) {
        assertEquals(200, status(server, path), path);
      }
      for (String path : List.of("/v1/leases", "/v1/leases/a", "/v1/lately", "/metrics")) {
        assertEquals(403, status(server, path), path);
      }
      for (String path : List.of("/v1/leases", "/v1/lately", "/metrics")) {
        assertEquals(200, status(server, path, "Authorization", "Bearer " + screen), path);
        assertEquals(403, status(server, path, "Authorization", "Bearer x" + screen), path);
      }
    }
  }

  /** The server's upkeep reads the file again. */
  @Test
  void aTokenThatIsRemovedCountsNoMore() throws Exception {
    String ci = token("acquire");
    try (LeaseServer server = server(false)) {
      HttpLeaseClient builder = client(server, ci);
      assertEquals(Optional.empty(), refused(builder, acquire("a")));
      assertTrue(file().remove(file().read().get(0).id()));
      while (refused(builder, acquire("b" + ids)).isEmpty()) {
        server.maintain();
      }
    }
  }
}
