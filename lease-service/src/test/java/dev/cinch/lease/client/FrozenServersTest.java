package dev.cinch.lease.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.hold.HeldLease;
import dev.cinch.lease.hold.HoldSettings;
import dev.cinch.lease.http.HttpConnections.Patience;
import dev.cinch.lease.instance.Rig;
import java.io.IOException;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Servers that take a request and never answer it, as under SIGSTOP. Whoever waits for one lets the
 * rig's time pass for so long, and no other time does.
 */
@Timeout(600)
final class FrozenServersTest {
  /** As clients have them unless they are told otherwise. */
  private static final Patience USUAL = new Patience(Duration.ofSeconds(2), Duration.ofSeconds(5));

  private static final Patience ENDLESS = new Patience(Duration.ofDays(1), Duration.ofDays(1));
  private static final long MS = 1_000_000;

  private final Rig rig = new Rig();
  private final List<CellNode> nodes = new ArrayList<>();
  private final Set<String> frozen = new HashSet<>();
  private final Random ids = new Random(1);
  private final List<String> losses = new ArrayList<>();

  @AfterEach
  void stop() throws IOException {
    for (CellNode node : nodes) {
      node.close();
    }
  }

  /** A client of so many servers. */
  private HttpLeaseClient client(int count) throws IOException {
    for (int i = 0; i < count; i++) {
      nodes.add(new CellNode(rig.service));
    }
    String all = nodes.stream().map(CellNode::address).collect(Collectors.joining(","));
    return HttpLeaseClient.builder(ServerAddresses.parse(all))
        .by(this::transport, rig.time::monotonicNanos)
        .build();
  }

  private Endpoints.Transport transport(URI base) {
    Endpoints.Transport plain = new HttpTransport(ENDLESS, Credentials.NONE);
    return (method, uri, body, more) -> {
      if (!frozen.contains(base.toString())) {
        return plain.exchange(method, uri, body, Duration.ZERO);
      }
      rig.time.advanceNanos(USUAL.answer().plus(more).toNanos());
      throw new SocketTimeoutException("frozen");
    };
  }

  private void freeze(int count) {
    nodes.subList(0, count).forEach(node -> frozen.add(node.address()));
  }

  private HeldLease hold(HttpLeaseClient by, long durationMs, int seed) throws Exception {
    return HeldLease.acquire(
        by,
        rig.time,
        HoldSettings.of(durationMs),
        request(durationMs),
        () -> LeaseReport.NOTHING,
        (lease, why) -> losses.add(why),
        new Random(seed));
  }

  private Operation.Acquire request(long durationMs) {
    List<LeaseName> names = List.of(new LeaseName("x"));
    return new Operation.Acquire(Id.random(ids), names, "h", durationMs, LogSet.ALL, false);
  }

  private void live(HeldLease lease, long ms) {
    long end = rig.time.monotonicNanos() + ms * MS;
    while (rig.time.monotonicNanos() < end && lease.state() == HeldLease.State.HELD) {
      long next = lease.doWork(rig.time.monotonicNanos());
      rig.time.advanceNanos(Math.max(1, Math.min(next, end) - rig.time.monotonicNanos()));
    }
  }

  /** Of every lease length, also below the time that a client waits; with every jitter. */
  @ParameterizedTest
  @CsvSource({"2,1", "3,1", "3,2", "5,2", "5,4", "16,15"})
  void l10_aLeaseGoesOnWhileOneServerDoes(int count, int ill) throws Exception {
    HttpLeaseClient client = client(count);
    for (long durationMs : new long[] {500, 4_000, 5_000, 6_000, 30_000}) {
      for (int seed = 0; seed < 20; seed++) {
        frozen.clear();
        HeldLease lease = hold(client, durationMs, seed);
        freeze(ill);
        live(lease, 3 * durationMs);
        assertEquals(List.of(), losses, "of " + durationMs + " ms, " + seed);
        lease.release(LeaseReport.NOTHING);
      }
    }
  }

  /** A lease runs from before the first request. */
  @ParameterizedTest
  @CsvSource({"2,1,500", "2,1,5000", "3,1,4000", "3,1,5000", "5,2,5000", "5,2,6000"})
  void aLeaseThatTheNextServerGrantsHasTimeLeft(int count, int ill, long durationMs)
      throws Exception {
    HttpLeaseClient client = client(count);
    freeze(ill);
    HeldLease lease = hold(client, durationMs, 1);
    assertTrue(lease.remainingNanos() > durationMs * MS / 3, lease.remainingNanos() + " ns");
    live(lease, 3 * durationMs);
    assertEquals(List.of(), losses);
  }

  /** Then the leases run out. */
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 5})
  void l13_aReleaseThatNobodyHearsTakesTwoSeconds(int count) throws Exception {
    HeldLease lease = hold(client(count), 60_000, 1);
    freeze(count);
    long from = rig.time.monotonicNanos();
    assertThrows(LeaseUnavailableException.class, () -> lease.release(LeaseReport.NOTHING));
    assertEquals(2_000 * MS, rig.time.monotonicNanos() - from);
  }

  /** What has no lease that runs out is asked of all within the time that two answers may take. */
  @Test
  void allAreAskedWithinTwiceTheTimeOfAnAnswer() throws Exception {
    HttpLeaseClient client = client(5);
    freeze(4);
    long from = rig.time.monotonicNanos();
    assertEquals(rig.service.info().instance(), client.info().instance());
    assertTrue(rig.time.monotonicNanos() - from <= 2 * USUAL.answer().toNanos());
  }
}
