package dev.cinch.lease.cell.net;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.cell.Algorithm;
import dev.cinch.lease.cell.Bytes;
import dev.cinch.lease.cell.Flease;
import dev.cinch.lease.cell.PaxosLease;
import dev.cinch.lease.cell.Step;
import dev.cinch.lease.cell.net.CellNode.Outcome;
import dev.cinch.lease.time.TimeSource;
import java.io.IOException;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A cell of one node, started from its file. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class CellStartTest {
  private static final long SECOND = 1_000_000_000;
  private static final long START_2026 = 1_767_225_600 * SECOND;
  private static final long EPSILON = SECOND / 10;
  private static final Bytes NAME = Bytes.of("name");
  private static final Algorithm FLEASE = new Flease(30 * SECOND, EPSILON, 60 * SECOND);
  private static final Algorithm PAXOS_LEASE = new PaxosLease(30 * SECOND, 500, 60 * SECOND);

  @TempDir private Path directory;

  /** Two clocks that have nothing to do with each other, and stand until a test moves them. */
  private static final class Clocks implements TimeSource {
    final AtomicLong wall = new AtomicLong(START_2026);
    final AtomicLong monotonic = new AtomicLong(-77 * SECOND);

    void forward(long nanos) {
      wall.addAndGet(nanos);
      monotonic.addAndGet(nanos);
    }

    @Override
    public long wallNanos() {
      return wall.get();
    }

    @Override
    public long monotonicNanos() {
      return monotonic.get();
    }

    @Override
    public void sleepNanos(long nanos) {
      throw new IllegalStateException("a node never sleeps by these");
    }
  }

  private final Clocks clocks = new Clocks();

  private CellNode start(Algorithm algorithm) throws IOException {
    int port;
    try (var free =
        new DatagramSocket(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))) {
      port = free.getLocalPort();
    }
    Path key = directory.resolve("cell.key");
    CellKey.create(key);
    var only = new CellFile.Node(1, "127.0.0.1", port, "http://127.0.0.1:8470");
    var file = new CellFile(1, 0, Optional.empty(), algorithm, 1_400, key, List.of(only));
    return CellNode.start(file, 1, directory.resolve("node"), CellSettings.DEFAULT, clocks, false);
  }

  private Step acquire(CellNode node, long ttl) {
    Outcome outcome =
        node.acquire(NAME, ttl, SECOND, found -> Optional.of(Bytes.of("value"))).join();
    return assertInstanceOf(Outcome.Ended.class, outcome).step();
  }

  @Test
  void fleaseGoesByTheWallClockAndItsBallotsAreTimes() throws IOException {
    try (CellNode node = start(FLEASE)) {
      assertEquals(START_2026, node.now());
      assertTrue(node.status().join().isQuarantined());
      clocks.forward(30 * SECOND + 2 * EPSILON);
      long now = node.now();
      var granted = assertInstanceOf(Step.Granted.class, acquire(node, 10 * SECOND));
      assertEquals(now + 10 * SECOND, granted.until());
      assertTrue(granted.ballot().counter() >= now, granted::toString);
      clocks.wall.addAndGet(-EPSILON);
      assertEquals(now, node.now(), "a step back within the error is not seen");
    }
  }

  @Test
  void fleaseHasNoLeaseThatMayBeOverWhenItBegins() throws IOException {
    try (CellNode node = start(FLEASE)) {
      for (long ttl : new long[] {0, EPSILON, 30 * SECOND + 1}) {
        assertThrows(IllegalArgumentException.class, () -> acquire(node, ttl), ttl + " ns");
      }
      clocks.forward(40 * SECOND);
      assertInstanceOf(Step.Granted.class, acquire(node, EPSILON + 1));
      assertEquals(0, node.status().join().faults());
    }
  }

  @Test
  void paxosLeaseGoesByAMonotonicClockThatBeginsAtZero() throws IOException {
    try (CellNode node = start(PAXOS_LEASE)) {
      assertEquals(0, node.now());
      clocks.wall.addAndGet(-3_600 * SECOND); // nothing to it
      clocks.monotonic.addAndGet(31 * SECOND);
      assertEquals(31 * SECOND, node.now());
      var granted = assertInstanceOf(Step.Granted.class, acquire(node, 10 * SECOND));
      assertEquals(41 * SECOND, granted.until());
    }
  }

  /** Of a fault that no handler has: whoever runs it has to hear of that. */
  @Test
  void aNodeThatCanNotGoOnSaysSo() throws IOException {
    var broken =
        new Link() {
          @Override
          public boolean receive(ByteBuffer into) {
            throw new UnsupportedOperationException("no network");
          }

          @Override
          public boolean send(int node, ByteBuffer datagram) {
            return false;
          }

          @Override
          public void await(long nanos) {}

          @Override
          public void wakeUp() {}

          @Override
          public void close() {}
        };
    try (CellNode node =
        CellNode.start(
            1,
            true,
            directory.resolve("node"),
            new CellSettings.CellParts(
                List.of(1),
                new CellKey(new byte[CellKey.BYTES]),
                PAXOS_LEASE,
                CellSettings.DEFAULT,
                broken,
                CommonClock.of(PAXOS_LEASE, clocks),
                clocks::wallNanos,
                RandomGenerator.getDefault()))) {
      assertTrue(node.stopped().join());
      Outcome outcome =
          node.acquire(NAME, SECOND, SECOND, found -> Optional.of(Bytes.EMPTY)).join();
      assertEquals(Outcome.Refused.CLOSED, outcome);
    }
  }
}
