package dev.cinch.lease.server;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.Between;
import dev.cinch.lease.LeaseHost;
import dev.cinch.lease.Operation;
import dev.cinch.lease.instance.Rig;
import dev.cinch.lease.server.Connections.Limits;
import dev.cinch.lease.wire.LeaseDocuments;
import dev.cinch.lease.wire.OperationCodec;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A server with a few connections, over loopback. */
@Timeout(600)
final class ServerLimitsTest {
  private static final Limits LIMITS = new Limits(8, 4, 10_000, 60_000, 30_000, 1 << 20);

  private static final String HANGING =
      "POST /v1/leases/upgrade HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 59\r\n\r\n"
          + "{\"id\":\"000102030405060708090a0b0c0d0e0f\",\"durationMs\":1000}";

  private final Rig rig = new Rig();
  private final AtomicLong nanos = new AtomicLong();
  private final Semaphore begun = new Semaphore(0);
  private final Semaphore goOn = new Semaphore(0);
  private final List<RawClient> clients = new ArrayList<>();
  private LeaseServer server;

  @BeforeEach
  void start() throws IOException {
    server =
        LeaseServer.builder(hanging(rig.service), rig.service::info)
            .port(0)
            .limits(LIMITS)
            .clock(nanos::get)
            .start();
  }

  @AfterEach
  void stop() throws IOException {
    goOn.release(1_000);
    for (RawClient client : clients) {
      client.close();
    }
    server.close();
  }

  /** One whose upgrades hang. */
  private LeaseHost hanging(LeaseHost service) {
    return Between.of(
        LeaseHost.class,
        call -> {
          if (call.is("waits")) {
            return true;
          }
          if (call.carriesOut(Operation.Upgrade.class)) {
            begun.release();
            goOn.acquireUninterruptibly();
          }
          return call.by(service);
        });
  }

  private RawClient connect(int peer) throws IOException {
    var client = new RawClient("127.0.0." + peer, server.port());
    clients.add(client);
    return client;
  }

  private byte[] acquire(Operation.Acquire request) {
    return LeaseDocuments.bytes(OperationCodec.write(request));
  }

  private byte[] renew(Operation.Acquire request) {
    return ("{\"id\":\"" + request.id() + "\",\"durationMs\":" + Rig.LEASE_MS + "}")
        .getBytes(UTF_8);
  }

  @Test
  void whoHoldsLeasesStaysWhoeverComes() throws Exception {
    Operation.Acquire request = rig.request("a");
    RawClient holder = connect(1);
    assertEquals(200, holder.post("/v1/leases/acquire", acquire(request)).status());
    for (int i = 0; i < 100; i++) {
      connect(2 + i % 7);
    }
    assertEquals(200, holder.post("/v1/leases/renew", renew(request)).status());
    // And a new one of its gets in.
    assertEquals(200, connect(1).post("/v1/leases/renew", renew(request)).status());
    assertTrue(clients.get(1).isClosed());
  }

  @Test
  void oneAddressCanNotTakeAllPlaces() throws Exception {
    RawClient other = connect(2);
    assertEquals(200, other.get("/v1/service").status());
    for (int i = 0; i < 20; i++) {
      assertEquals(200, connect(1).get("/v1/service").status());
    }
    for (int i = 1; i <= 16; i++) {
      assertTrue(clients.get(i).isClosed());
    }
    assertEquals(200, other.get("/v1/service").status());
    assertEquals(200, clients.get(17).get("/v1/service").status());
  }

  @Test
  void whereAllPlacesAreServedNewcomersAreClosed() throws Exception {
    for (int i = 0; i < LIMITS.connections(); i++) {
      connect(1 + i / 2).send(HANGING);
    }
    begun.acquire(LIMITS.connections());
    RawClient late = connect(9);
    assertTrue(late.isClosed());
  }

  @Test
  void aBodyThatTricklesIsCutOff() throws Exception {
    RawClient slow = connect(1);
    slow.send(
        "POST /v1/leases/renew HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            + "Content-Length: 100\r\nExpect: 100-continue\r\n\r\n");
    assertEquals(100, slow.response().status());
    for (int s = 0; s < 10; s++) {
      slow.send("{");
      server.sweep();
      nanos.addAndGet(1_000_000_000);
    }
    server.sweep();
    RawClient.Response response = slow.response();
    assertEquals(408, response.status());
    assertEquals("TIMEOUT", response.json().get("error").textValue());
    assertTrue(slow.isClosed());
  }

  @Test
  void whoIsCarriedOutIsNotTimedOut() throws Exception {
    RawClient asking = connect(1);
    asking.send(HANGING);
    begun.acquire();
    nanos.addAndGet(1_000_000_000_000L);
    server.sweep();
    goOn.release();
    assertEquals(410, asking.response().status());
  }

  @Test
  void limitsBelowOneAreRefused() {
    LeaseServer.Builder builder = LeaseServer.builder(rig.service, rig.service::info);
    assertThrows(IllegalArgumentException.class, () -> builder.connections(0));
    assertThrows(IllegalArgumentException.class, () -> builder.connectionsPerAddress(0));
  }

  @Test
  void aProcessHasMoreDescriptorsThanItsServerHasConnections() {
    Limits own = Limits.ofProcess();
    assertTrue(own.connections() >= 16 && own.connections() <= 4_096, own.toString());
    assertTrue(own.perPeer() <= own.connections(), own.toString());
    assertEquals(3, own.withConnections(3).perPeer());
    long plenty = 1L << 40;
    assertEquals(4_096, Limits.of(plenty, plenty).connections());
    assertEquals(512, Limits.of(plenty, 1_024).connections());
    assertEquals(256, Limits.of(plenty, 1_024).perPeer());
    assertEquals(1_024, Limits.of(64 << 20, plenty).connections());
    assertEquals(8 << 20, Limits.of(64 << 20, plenty).heldBytes());
    assertEquals(16, Limits.of(1, 1).connections());
  }
}
