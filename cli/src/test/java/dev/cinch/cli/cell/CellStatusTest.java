package dev.cinch.cli.cell;

import static dev.cinch.cli.ServedCell.NOW;
import static dev.cinch.cli.ServedCell.QUIET;
import static dev.cinch.cli.ServedCell.SECOND;
import static dev.cinch.cli.ServedCell.status;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.cinch.cli.Cinch;
import dev.cinch.cli.ServedCell;
import dev.cinch.cli.base.Io;
import dev.cinch.cli.base.Progress;
import dev.cinch.cli.base.Stop;
import dev.cinch.lease.Altered;
import dev.cinch.lease.cell.net.CellFile;
import dev.cinch.lease.cell.net.CellNode;
import dev.cinch.lease.cell.net.CellSettings;
import dev.cinch.lease.cell.net.CellStatus;
import dev.cinch.lease.cell.net.CellStatus.Traffic;
import dev.cinch.lease.time.SystemTime;
import dev.cinch.lease.time.TimeSource;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(120)
class CellStatusTest {
  private static final ObjectMapper JSON = new ObjectMapper();

  @TempDir Path temp;
  private @Nullable ServedCell served;
  private final List<CellNode> nodes = new ArrayList<>();

  @AfterEach
  void close() throws IOException {
    if (served != null) {
      served.close();
    }
    for (CellNode node : nodes) {
      node.close();
    }
  }

  private ServedCell cell(String... more) throws Exception {
    ServedCell made = new ServedCell(temp, more);
    served = made;
    return made;
  }

  @Test
  void eachNodeHasALineAndAMajorityIsEnough() throws Exception {
    ServedCell cell = cell();
    cell.tell(status(1, 0, 0, QUIET));
    cell.tell(status(2, 40 * SECOND - 1, 0, QUIET));
    cell.tell(status(3, -SECOND, 0, QUIET));
    List<String> lines = cell.status().ended(0).out().lines().toList();
    assertEquals(
        "instance 1 of store %s: paxoslease, leases of at most 60 s"
            .formatted(cell.cell.store().orElseThrow()),
        lines.get(0));
    assertTrue(
        lines.get(1).matches("NODE +ADDRESS +STATE +BOOT +LEASES +ATTEMPTS +ROWS +BALLOT .*"),
        lines.get(1));
    assertEquals(
        "1 %s votes 7 5 6 4 99 1 3 0".formatted(cell.servers.get(0).uri()),
        lines.get(2).replaceAll(" +", " "));
    assertEquals(
        "2 %s quarantined until 2026-01-01T00:00:40Z, in 40 s 7 5 6 4 99 1 3 0"
            .formatted(cell.servers.get(1).uri()),
        lines.get(3).replaceAll(" +", " "));
    assertEquals("2 of 3 nodes vote: leases are granted", lines.get(5));
    assertEquals(6, lines.size());
  }

  /** Until the leases of an earlier instance are over, all of them vote, and none grants. */
  @Test
  void nodesThatVoteMayGrantNothingYet() throws Exception {
    ServedCell cell = cell();
    String why = "the service was started anew and grants again in 40 s, at 00:00:40 UTC";
    for (int node = 1; node <= 3; node++) {
      cell.tell(status(node, 0, 0, QUIET));
      if (node > 1) {
        cell.hinder(node, why);
      }
    }
    List<String> lines = cell.status().ended(3).out().lines().toList();
    assertTrue(lines.get(2).contains(" votes  "), lines.get(2));
    assertTrue(lines.get(3).contains(" votes, grants nothing: " + why + " "), lines.get(3));
    assertEquals("3 of 3 nodes vote, and nothing is granted: " + why, lines.get(5));
    String json = cell.status("--json").ended(3).out();
    assertTrue(json.contains("\"majority\":true,\"all\":true,\"granting\":false"), json);
    assertTrue(json.contains("\"state\":\"VOTING\",\"why\":\"" + why + "\""), json);
    cell.status("--wait=1ms")
        .failed(3, "waited 1 ms for all nodes to vote and grant, and 1 of 3 do");
  }

  @Test
  void aMajorityThatGrantsIsEnough() throws Exception {
    ServedCell cell = cell();
    for (int node = 1; node <= 3; node++) {
      cell.tell(status(node, 0, 0, QUIET));
    }
    cell.hinder(2, "its clock is off");
    String out = cell.status().ended(0).out();
    assertTrue(out.endsWith("3 of 3 nodes vote: leases are granted\n"), out);
    assertTrue(cell.status("--json").ended(0).out().contains("\"granting\":true"));
  }

  @Test
  void aNodeThatTooFewAnswerIsCutOffAndDoesNotCount() throws Exception {
    ServedCell cell = cell();
    cell.tell(status(1, 0, 0, QUIET));
    cell.tell(status(2, 0, 0, QUIET));
    cell.tell(3, status(3, 0, 0, QUIET).document(cell.cell, NOW).put("answering", 1));
    List<String> lines = cell.status().ended(0).out().lines().toList();
    assertTrue(lines.get(4).contains(" cut off: 1 of 3 nodes answer it "), lines.get(4));
    assertEquals("2 of 3 nodes vote: leases are granted", lines.get(5));
    cell.tell(2, status(2, 0, 0, QUIET).document(cell.cell, NOW).put("answering", 1));
    String out = cell.status("--json").ended(3).out();
    assertTrue(out.contains("\"majority\":false") && out.contains("\"CUT_OFF\""), out);
  }

  @Test
  void withoutAMajorityItSaysSoByItsExitCode() throws Exception {
    ServedCell cell = cell();
    cell.tell(status(1, SECOND, 0, QUIET));
    cell.tell(status(2, 0, 0, QUIET));
    cell.servers.get(2).close();
    String out = cell.status().ended(3).out();
    assertTrue(out.contains("no answer: can't connect"), out);
    assertTrue(
        out.endsWith("1 of 3 node votes, and 2 have to: nothing is granted or prolonged\n"), out);
    cell.documents.get(0).set(Optional.empty());
    assertTrue(cell.status().ended(3).out().contains("no answer: the cell's node is starting"));
  }

  @Test
  void aNodeThatIsAnotherIsNoneOfThisCell() throws Exception {
    ServedCell cell = cell();
    cell.tell(status(1, 0, 0, QUIET));
    cell.tell(2, status(3, 0, 0, QUIET).document(cell.cell, NOW));
    var other = Altered.with(cell.cell, "instance", 9, "sinceMs", 1_795_598_400_000L);
    cell.tell(3, status(3, 0, 0, QUIET).document(other, NOW));
    String out = cell.status().ended(3).out();
    assertTrue(out.contains("not this node: node 3 of instance 1 of store"), out);
    assertTrue(out.contains("not this node: node 3 of instance 9 of store"), out);
  }

  @Test
  void clocksThatAreTooFarApartAreTold() throws Exception {
    ServedCell cell = cell("--algorithm=flease", "--clock-error=50ms");
    for (int node = 1; node <= 3; node++) {
      cell.tell(status(node, 0, node * 1_000_000, QUIET));
    }
    String out = cell.status().ended(0).out();
    assertTrue(out.contains("node 1 sees the clock of node 2 +1 ms\n"), out);
    cell.tell(status(3, 0, 51_000_000, QUIET));
    out = cell.status().ended(3).out();
    assertTrue(
        out.contains(
            "node 3 sees the clock of node 1 ahead by 51 ms, and the cell allows 50 ms: leases"
                + " may get two owners\n"),
        out);
    cell.tell(status(3, 0, -500_000_000, QUIET)); // a datagram may have been late
    assertTrue(cell.status().ended(0).out().contains("of node 1 -500 ms"));
  }

  @Test
  void datagramsOfStrangersAreToldAndNoTrouble() throws Exception {
    ServedCell cell = cell();
    for (int node = 1; node <= 3; node++) {
      cell.tell(status(node, 0, 0, new Traffic(1, 2, 3, 4, 5, 0, 0, 0, 0, 8, 0)));
    }
    String out = cell.status().ended(0).out();
    assertTrue(out.contains("node 2 dropped 8 datagrams that were altered, or signed"), out);
  }

  @Test
  void nodesThatRunAreAskedAndTheirStopIsSeen() throws Exception {
    ServedCell cell = cell("--longest-lease=1ms");
    for (CellFile.Node each : cell.cell.nodes()) {
      CellNode node =
          CellNode.start(
              cell.cell,
              each.id(),
              temp.resolve("node-" + each.id()),
              CellSettings.DEFAULT,
              SystemTime.INSTANCE,
              false);
      nodes.add(node);
      while (node.status().join().isQuarantined()) {
        Thread.onSpinWait();
      }
    }
    tellRunning(cell);
    JsonNode printed = JSON.readTree(cell.status("--json").ended(0).out());
    assertTrue(printed.get("majority").booleanValue());
    for (JsonNode node : printed.get("nodes")) {
      assertEquals("VOTING", node.get("state").textValue());
      assertEquals(1, node.get("cell").get("boot").intValue());
      assertFalse(node.has("why"));
    }
    nodes.get(0).close();
    nodes.get(1).close();
    tellRunning(cell);
    printed = JSON.readTree(cell.status("--json").ended(3).out());
    assertFalse(printed.get("majority").booleanValue());
    assertEquals("SILENT", printed.get("nodes").get(0).get("state").textValue());
    assertFalse(printed.get("nodes").get(0).has("cell"));
  }

  private void tellRunning(ServedCell cell) {
    for (int i = 0; i < 3; i++) {
      CellNode node = nodes.get(i);
      cell.documents
          .get(i)
          .set(CellStatus.supplier(cell.cell, () -> Optional.of(node), SystemTime.INSTANCE).get());
    }
  }

  @Test
  void whoWaitsIsToldWhetherAllVote() throws Exception {
    ServedCell cell = cell();
    cell.tell(status(1, 0, 0, QUIET));
    cell.tell(status(2, 0, 0, QUIET));
    cell.tell(status(3, 40 * SECOND, 0, QUIET));
    cell.status().ended(0);
    Cinch.Ran ran = cell.status("--wait=1ms", "--json").failed(3, "and 2 of 3 do; see why above");
    assertFalse(JSON.readTree(ran.out()).get("all").booleanValue());
    cell.tell(status(3, 0, 0, QUIET));
    ran = cell.status("--wait=1h", "--json").ended(0);
    assertEquals("", ran.err());
    assertTrue(JSON.readTree(ran.out()).get("all").booleanValue());
    cell.status("--wait=-1s").failed(2, "--wait");
  }

  /** One step after the other, by a clock of its own. */
  @Test
  void itWaitsUntilTheLastNodeVotes() throws Exception {
    ServedCell cell = cell();
    var slept = new ArrayList<Long>();
    var time =
        new TimeSource() {
          @Override
          public long wallNanos() {
            throw new AssertionError("nobody asks what time it is");
          }

          @Override
          public long monotonicNanos() {
            return Long.MAX_VALUE - SECOND + slept.stream().mapToLong(n -> n).sum();
          }

          @Override
          public void sleepNanos(long nanos) {
            slept.add(nanos);
          }
        };
    var err = new ByteArrayOutputStream();
    var io =
        new Io(
            InputStream.nullInputStream(),
            OutputStream.nullOutputStream(),
            new PrintStream(err, true, StandardCharsets.UTF_8),
            name -> null,
            true,
            false,
            Stop.byHand());
    var wait = new CellWait(time, new Progress(io, time));
    int[] silent = {4};
    List<CellNodeLook> nodes =
        wait.untilAllVote(Duration.ofSeconds(10), () -> looked(cell, silent[0]-- > 0 ? 2 : 3));
    assertTrue(nodes.stream().allMatch(CellNodeLook::votes));
    assertEquals(4, slept.size());
    String shown = err.toString(StandardCharsets.UTF_8);
    assertTrue(shown.contains("2 of 3 nodes vote and grant; waits for 10 s"), shown);
    assertTrue(shown.endsWith("\r\033[K"), shown);
    slept.clear();
    nodes = wait.untilAllVote(Duration.ofMillis(1_200), () -> looked(cell, 1));
    assertEquals(1, nodes.stream().filter(CellNodeLook::votes).count());
    assertEquals(List.of(SECOND / 2, SECOND / 2, SECOND / 5), slept);
    slept.clear();
    nodes = wait.untilAllVote(Duration.ZERO, () -> looked(cell, 1));
    assertEquals(List.of(), slept);
  }

  private static List<CellNodeLook> looked(ServedCell cell, int voting) {
    var nodes = new ArrayList<CellNodeLook>();
    for (CellFile.Node node : cell.cell.nodes()) {
      var state = node.id() <= voting ? CellNodeLook.State.VOTING : CellNodeLook.State.QUARANTINED;
      nodes.add(new CellNodeLook(node, state, "", JSON.createObjectNode()));
    }
    return nodes;
  }

  @Test
  void aFileThatIsNoneIsToldInALine() throws Exception {
    new Cinch().run("cell", "status", temp.resolve("none.json").toString()).failed(4, "none.json");
    ServedCell cell = cell();
    cell.status("--timeout=0s").failed(2, "--timeout is longer than 0s");
    Files.writeString(cell.file, "{}");
    cell.status().failed(4, cell.file + ": \"format\" is a number from 1 to 1");
    new Cinch().run("cell").failed(2, "name a command: init, status");
  }
}
