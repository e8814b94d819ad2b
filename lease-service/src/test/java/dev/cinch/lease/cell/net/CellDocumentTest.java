package dev.cinch.lease.cell.net;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.cinch.lease.Id;
import dev.cinch.lease.cell.Algorithm;
import dev.cinch.lease.cell.Flease;
import dev.cinch.lease.cell.PaxosLease;
import dev.cinch.lease.time.ManualTime;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class CellDocumentTest {
  private static final long SECOND = 1_000_000_000;
  private static final long WALL = 1_767_225_600 * SECOND;
  private static final PaxosLease PAXOS = new PaxosLease(30 * SECOND, 500, 60 * SECOND);
  private static final CellStatus.Traffic TRAFFIC =
      new CellStatus.Traffic(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);

  @TempDir private Path directory;

  private static CellFile cell(Algorithm algorithm) {
    return new CellFile(
        7,
        1_795_598_400_000L,
        Optional.of(new Id(0, 1)),
        algorithm,
        1_400,
        Path.of("cell.key"),
        List.of());
  }

  private static CellStatus status(long now) {
    return new CellStatus(
        1,
        3,
        now,
        now + 12 * SECOND,
        4,
        5,
        6,
        2,
        1L << 60,
        8,
        7,
        TRAFFIC,
        List.of(
            new CellStatus.Peer(2, now - SECOND / 4, 9, -3_000_000),
            new CellStatus.Peer(3, -1, 0, 0)));
  }

  @Test
  void theDocumentHasTimesOfTheWallClock() {
    ObjectNode document = status(SECOND).document(cell(PAXOS), WALL);
    assertEquals(
        "{\"node\":1,\"instance\":7,\"store\":\"00000000000000000000000000000001\","
            + "\"algorithm\":\"paxoslease\",\"longestLeaseMs\":30000,\"boot\":3,"
            + "\"now\":\"2026-01-01T00:00:00.000000000Z\","
            + "\"quarantined\":true,\"quarantinedUntil\":\"2026-01-01T00:00:12.000000000Z\","
            + "\"rows\":4,\"names\":5,"
            + "\"attempts\":6,\"answering\":2,\"counter\":\"1152921504606846976\",\"ballots\":8,\"faults\":7,"
            + "\"peers\":[{\"node\":2,\"heardAgoMs\":250,\"boot\":9},{\"node\":3}],"
            + "\"traffic\":{\"datagramsSent\":1,\"messagesSent\":2,\"datagramsReceived\":3,"
            + "\"messagesReceived\":4,\"messagesWithin\":5,\"notSent\":11,\"dropped\":40,"
            + "\"malformed\":6,\"otherVersion\":7,\"notForThisNode\":8,\"unknownSender\":9,"
            + "\"wrongKey\":10}}",
        document.toString());
  }

  @Test
  void clocksThatHaveACommonTimeAreCompared() {
    var durations = new Flease(30 * SECOND, SECOND, SECOND);
    ObjectNode document = status(WALL).document(cell(durations), WALL);
    assertEquals(
        "[{\"node\":2,\"heardAgoMs\":250,\"boot\":9,\"clockAheadMs\":-3},{\"node\":3}]",
        document.get("peers").toString());
  }

  @Test
  void aNodeIsAskedOnceItHasStartedAndUntilItEnds() throws Exception {
    var time = new ManualTime();
    CellFile cell = cell(PAXOS);
    assertEquals(Optional.empty(), CellStatus.supplier(cell, Optional::empty, time).get());
    var running = new LoopbackCell(directory, PAXOS, CellSettings.DEFAULT);
    CellNode node = running.node(1);
    var supplier = CellStatus.supplier(cell, () -> Optional.of(node), time);
    ObjectNode document = supplier.get().orElseThrow();
    assertEquals("2026-01-01T00:00:00.000000000Z", document.get("now").textValue());
    assertTrue(document.get("quarantined").booleanValue());
    running.endQuarantine();
    assertFalse(supplier.get().orElseThrow().get("quarantined").booleanValue());
    running.close();
    assertEquals(Optional.empty(), supplier.get());
  }
}
