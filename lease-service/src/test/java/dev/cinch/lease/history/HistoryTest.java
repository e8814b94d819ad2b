package dev.cinch.lease.history;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Outcome;
import dev.cinch.lease.Share;
import dev.cinch.lease.client.HttpLeaseClient;
import dev.cinch.lease.history.LeaseModel.Kind;
import dev.cinch.lease.instance.ServiceInstance;
import dev.cinch.lease.instance.SharedStore;
import dev.cinch.lease.server.LeaseServer;
import dev.cinch.lease.time.ManualTime;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Clients over HTTP, of which answers are lost, clocks step and the server is replaced: what they
 * were told of each name can be explained. A seed says what is asked for and what goes wrong, and
 * the machine what overlaps.
 */
final class HistoryTest {
  private static final int HISTORIES = Share.of(200, 8);
  private static final int CLIENTS = 3;
  private static final int CALLS = 14;
  private static final long LEASE_MS = 10_000;
  private static final List<LeaseName> NAMES = Stream.of("a", "b").map(LeaseName::new).toList();

  @Test
  @Tag("share")
  void whatClientsAreToldOfANameCanBeExplained() throws Exception {
    int granted = 0;
    for (long seed = 1; seed <= HISTORIES; seed++) {
      granted += new World(seed).run();
    }
    assertTrue(granted > 5 * HISTORIES, granted + " granted"); // or nothing was tried
  }

  /** One server after the other, and the clients. */
  private static final class World {
    final long seed;
    final ManualTime time = new ManualTime();
    final Recorder recorder = new Recorder(time);
    final SharedStore store = new SharedStore();
    private LeaseServer server;
    private final CuttingProxy proxy;

    World(long seed) throws IOException {
      this.seed = seed;
      server = served();
      proxy = new CuttingProxy(server.uri(), seed, (int) (seed % 3) * 12);
    }

    private LeaseServer served() throws IOException {
      ServiceInstance service = store.start(time);
      return LeaseServer.builder(service, service::info).port(0).start();
    }

    /** Another instance takes over. */
    synchronized void replace() throws IOException {
      LeaseServer before = server;
      server = served();
      proxy.to(server.uri());
      before.close();
    }

    int run() throws Exception {
      var pool = Executors.newFixedThreadPool(CLIENTS);
      try {
        var clients = new ArrayList<Callable<Integer>>();
        for (int i = 0; i < CLIENTS; i++) {
          var random = new Random(seed * CLIENTS + i);
          clients.add(() -> new Client(this, proxy, random).run());
        }
        int granted = 0;
        for (Future<Integer> done : pool.invokeAll(clients)) {
          granted += done.get();
        }
        recorder
            .histories()
            .forEach(
                (name, history) ->
                    assertTrue(
                        Linearizability.holds(LeaseModel.Name.FREE, history, new LeaseModel()),
                        () -> "seed " + seed + ", " + name + ": " + history));
        return granted;
      } finally {
        pool.shutdownNow();
        proxy.close();
        server.close();
      }
    }
  }

  /** Asks for one thing after the other. */
  private static final class Client {
    private final World world;
    private final HttpLeaseClient service;
    private final Random random;

    /** What it may hold; null where it was not answered. */
    private final Map<Id, Held> held = new LinkedHashMap<>();

    private int granted;

    private record Held(List<LeaseName> names, @Nullable Grant grant) {}

    private record Asked(Kind kind, List<LeaseName> names, Operation operation) {}

    Client(World world, CuttingProxy proxy, Random random) {
      this.world = world;
      this.service = HttpLeaseClient.builder(proxy.uri()).build();
      this.random = random;
    }

    int run() throws IOException {
      for (int i = 0; i < CALLS; i++) {
        int kind = random.nextInt(40);
        if (kind == 0) {
          world.replace();
        } else if (kind < 6) {
          world.recorder.pass(random.nextInt(8_000), 0);
        } else if (kind < 8) {
          world.recorder.pass(0, random.nextInt(4_000) - 2_000);
        }
        call(random.nextInt(5) == 0 ? 3 : 1);
      }
      return granted;
    }

    private void call(int count) {
      var asked = new ArrayList<Asked>();
      for (int i = 0; i < count; i++) {
        asked.add(next());
      }
      long invoked = world.recorder.moment();
      List<Outcome> outcomes = List.of();
      try {
        outcomes = service.carryOut(asked.stream().map(Asked::operation).toList());
      } catch (LeaseUnavailableException e) {
        // Each of them may have been carried out.
      }
      for (int i = 0; i < count; i++) {
        Asked one = asked.get(i);
        Id id = ((Operation.Secret) one.operation).id();
        Outcome outcome = outcomes.isEmpty() ? null : outcomes.get(i);
        world.recorder.ended(invoked, one.kind, id, one.names, outcome);
        if (outcome instanceof Outcome.Granted g) {
          granted++;
          held.computeIfPresent(id, (same, was) -> new Held(one.names, g.grant()));
        } else if (outcome != null) {
          held.remove(id);
        }
      }
    }

    private Asked next() {
      List<Id> ids = List.copyOf(held.keySet());
      if (ids.isEmpty() || random.nextInt(3) == 0) {
        return acquire();
      }
      Id id = ids.get(random.nextInt(ids.size()));
      Held its = held.get(id);
      Grant grant = its == null ? null : its.grant;
      if (its == null || grant == null || random.nextInt(4) == 0) {
        held.remove(id); // after it has sent a release it asks for nothing more
        LeaseReport report = grant == null ? LeaseReport.NOTHING : report(grant);
        List<LeaseName> names = its == null ? List.of() : its.names;
        return new Asked(Kind.RELEASE, names, new Operation.Release(id, report));
      }
      if (random.nextInt(4) == 0) {
        var request = new Operation.Resume(id, grant.witnesses(), LEASE_MS);
        return new Asked(Kind.RESUME, its.names, request);
      }
      var renew = new Operation.Renew(id, LEASE_MS, LogSet.NONE, report(grant));
      return new Asked(Kind.RENEW, its.names, renew);
    }

    private Asked acquire() {
      List<LeaseName> names =
          random.nextInt(4) == 0 ? NAMES : List.of(NAMES.get(random.nextInt(NAMES.size())));
      var request =
          new Operation.Acquire(Id.random(random), names, "h", LEASE_MS, LogSet.NONE, false);
      held.put(request.id(), new Held(names, null));
      return new Asked(Kind.ACQUIRE, names, request);
    }

    private static LeaseReport report(Grant grant) {
      return LeaseReport.NOTHING.to(grant.witnesses().get(0).witness().instance());
    }
  }
}
