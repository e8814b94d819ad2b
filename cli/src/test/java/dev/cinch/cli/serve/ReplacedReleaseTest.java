package dev.cinch.cli.serve;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.cinch.bag.Store;
import dev.cinch.bag.model.MachineName;
import dev.cinch.bag.registry.InstanceFile;
import dev.cinch.bag.registry.StoreInstances;
import dev.cinch.bag.store.TrustedKeyFiles;
import dev.cinch.cli.Cinch;
import dev.cinch.lease.Ending;
import dev.cinch.lease.Fence;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Witness;
import dev.cinch.lease.hold.HeldLease;
import dev.cinch.lease.hold.HoldSettings;
import dev.cinch.lease.http.HttpLeaseClient;
import dev.cinch.lease.http.LeaseServer;
import dev.cinch.lease.http.ShardRouter;
import dev.cinch.lease.memory.MemoryLeaseService;
import dev.cinch.lease.time.SystemTime;
import dev.cinch.lease.witness.SigningKey;
import dev.cinch.lease.witness.WitnessSigner;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Rule L13, from a client to the server that took over: a release meets one that was replaced. */
@Timeout(600)
class ReplacedReleaseTest {
  private static final long LEASE_MS = 20_000;

  @TempDir Path temp;
  private final SigningKey key = SigningKey.generate();
  private final SecureRandom random = new SecureRandom();

  /** Listens, and then takes a number, as {@code cinch serve} does. */
  private LeaseServer serve(Store store) throws Exception {
    var service = new LateService(store.context());
    LeaseServer server = LeaseServer.builder(service, service::info).port(0).start();
    var where = new InstanceFile(server.uri().toString(), "server");
    service.start(
        MemoryLeaseService.builder(new WitnessSigner(key), SystemTime.INSTANCE)
            .registry(new StoreInstances(store.context(), where, key)));
    return server;
  }

  private Operation.Acquire request(String name, long durationMs) {
    return new Operation.Acquire(
        Id.random(random), List.of(new LeaseName(name)), "tester", durationMs, LogSet.ALL, false);
  }

  @Test
  void l13_itIsReleasedAtTheOneThatTookOver() throws Exception {
    Path path = Cinch.quickStore(temp);
    Store store =
        Store.open(path, Store.Environment.of(new MachineName("server"), SystemTime.INSTANCE));
    long unused = TrustedKeyFiles.add(store.context(), key);
    try (LeaseServer first = serve(store)) {
      HeldLease held =
          HeldLease.acquire(
              ShardRouter.of(first.uri()),
              SystemTime.INSTANCE,
              HoldSettings.of(LEASE_MS),
              request("x", LEASE_MS),
              () -> LeaseReport.NOTHING,
              (lease, why) -> {},
              random);
      try (LeaseServer second = serve(store)) {
        HttpLeaseClient toFirst = HttpLeaseClient.builder(first.uri()).build();
        // It needs a higher ceiling, and looks for a later instance once it has published that.
        var e =
            assertThrows(
                LeaseRefusedException.class,
                () -> {
                  var never = toFirst.acquire(request("y", 3 * LEASE_MS));
                });
        assertEquals(Reason.SUPERSEDED, e.reason());
        held.release(LeaseReport.NOTHING);
        Witness next =
            ShardRouter.of(second.uri())
                .acquire(request("x", LEASE_MS))
                .witnesses()
                .get(0)
                .witness();
        assertEquals(2, next.instance());
        assertEquals(Ending.RELEASED, next.previousEnding());
        assertEquals(Fence.NONE, next.fence());
      }
    }
  }
}
