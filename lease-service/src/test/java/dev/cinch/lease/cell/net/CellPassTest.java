package dev.cinch.lease.cell.net;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.access.Permission;
import dev.cinch.lease.cell.Ballot;
import dev.cinch.lease.cell.Bytes;
import dev.cinch.lease.cell.Message;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Clients that have a pass, and a cell's key that another one takes the place of. */
final class CellPassTest {
  private static final Instant END = Instant.parse("2027-01-01T00:00:00Z");
  private static final long BEFORE = END.getEpochSecond() * 1_000_000_000 - 1;
  private static final byte[] CELL = new byte[CellKey.BYTES];
  private static final int CLIENT = -7;

  @TempDir Path directory;

  private final QueuedLink link = new QueuedLink();
  private final List<Message> received = new ArrayList<>();
  private long wall = BEFORE;
  private final Datagrams node = node(CellKey.of(CELL));

  private Datagrams node(CellKey key) {
    return new Datagrams(
        1, 1, List.of(1, 2, 3), CellKey.Live.of(key), 1_400, link, () -> 0, () -> wall);
  }

  private static CellPass pass(String name, String... prefixes) {
    return new CellPass(
        name, END, Stream.of(prefixes).map(p -> Permission.parse("acquire:" + p)).toList());
  }

  private static CellKey key(String... prefixes) {
    return CellKey.of(CELL).pass(pass("ci", prefixes));
  }

  private static Datagrams client(CellKey key, QueuedLink link, long clock) {
    return new Datagrams(
        CLIENT, 5, List.of(1, 2, 3), CellKey.Live.of(key), 1_400, link, () -> 0, () -> clock);
  }

  private static byte[] datagram(CellKey key, long clock, Message... messages) {
    var own = new QueuedLink();
    Datagrams sender = client(key, own, clock);
    for (Message message : messages) {
      sender.add(1, message);
    }
    sender.flush();
    return own.sent.get(0).bytes();
  }

  private void open(Datagrams at, byte[] datagram) {
    at.open(ByteBuffer.wrap(datagram), 0, (from, message, now) -> received.add(message));
  }

  private static Message prepare(String name) {
    return new Message.Prepare(Bytes.of(name), new Ballot(1, 5, CLIENT));
  }

  @Test
  void aClientGetsWhatItsPrefixesPermitAndNothingElse() {
    Message query = new Message.Query(Bytes.of("ops/1"));
    Message names = new Message.Names(Bytes.of("ci/1"), Bytes.of("c"), 1, 1);
    Message release =
        new Message.Release(Bytes.of("ops/1"), new Ballot(1, 5, 1), new Ballot(1, 5, 1));
    Message accept =
        new Message.Accept(Bytes.of("ops/1"), new Ballot(1, 5, CLIENT), 1, 1, Bytes.of("v"));
    Message sign = new Message.Sign(Bytes.of("ops/1"), new Ballot(1, 5, CLIENT));
    open(
        node,
        datagram(
            key("ci/", "nightly"),
            BEFORE,
            prepare("ci/1"),
            prepare("ops/1"),
            query,
            names,
            release,
            accept,
            sign,
            prepare("nightly-2"),
            prepare("ci")));
    assertEquals(List.of(prepare("ci/1"), prepare("nightly-2")), received);
  }

  @Test
  void anAnswerHasTheSealOfTheClientsPass() {
    open(node, datagram(key("ci/"), BEFORE, prepare("ci/1")));
    node.add(CLIENT, new Message.Query(Bytes.of("a")));
    node.flush();
    byte[] answer = link.sent.get(0).bytes();
    received.clear();
    open(client(key("ops/"), new QueuedLink(), 0), answer);
    open(client(CellKey.of(CELL), new QueuedLink(), 0), answer);
    assertEquals(List.of(), received);
    open(client(key("ci/"), new QueuedLink(), BEFORE), answer);
    assertEquals(1, received.size());
  }

  /** Whoever has a pass knows what another one says, and not its key. */
  @Test
  void whoeverChangesWhatAPassSaysHasNoKeyForIt() {
    CellKey own = key("ci/");
    for (String says : List.of("ops/", "")) {
      CellKey forged = CellKey.of(pass("ci", says), own.keys().get(0));
      open(node, datagram(forged, BEFORE, prepare("ops/1")));
    }
    CellPass later = new CellPass("ci", END.plusSeconds(1), own.caller(0).get().permissions());
    open(node, datagram(CellKey.of(later, own.keys().get(0)), BEFORE, prepare("ci/1")));
    open(node, datagram(CellKey.of(own.keys().get(0)), BEFORE, prepare("ci/1"))); // as the cell's
    assertEquals(List.of(), received);
    assertEquals(4, node.traffic(0).wrongKey());
  }

  @Test
  void aNodeIsNotImpersonated() {
    byte[] forged = datagram(key(""), BEFORE, prepare("ci/1"));
    ByteBuffer.wrap(forged).putInt(1, 2);
    open(node, forged);
    assertEquals(List.of(), received);
    assertEquals(1, node.traffic(0).unknownSender());
  }

  @Test
  void anotherPassGetsNoAnswersOfAClientThatIsKnown() {
    open(node, datagram(key("ci/"), BEFORE, prepare("ci/1")));
    CellKey other = CellKey.of(CELL).pass(pass("ops", "ops/"));
    open(node, datagram(other, BEFORE + 1, prepare("ops/1")));
    open(node, datagram(CellKey.of(CELL), BEFORE + 2, prepare("ops/1")));
    assertEquals(List.of(prepare("ci/1")), received);
    assertEquals(List.of(CLIENT), link.remembered);
    // The same one with another end is the same client, which has a new file.
    CellPass renewed = new CellPass("ci", END.plusSeconds(9), List.of(Permission.parse("acquire")));
    open(node, datagram(CellKey.of(CELL).pass(renewed), BEFORE + 3, prepare("ops/2")));
    assertEquals(List.of(prepare("ci/1"), prepare("ops/2")), received);
  }

  @Test
  void aPassEnds() {
    byte[] datagram = datagram(key("ci/"), BEFORE, prepare("ci/1"));
    wall = BEFORE + 1;
    open(node, datagram);
    assertEquals(List.of(), received);
    assertEquals(1, node.traffic(0).wrongKey());
    assertTrue(key("ci/").caller(BEFORE + 1).get().permissions().isEmpty());
    assertFalse(key("ci/").caller(BEFORE).get().permissions().isEmpty());
  }

  /** Each byte counts; what is no pass at all is dropped, too. */
  @Test
  void anAlteredDatagramIsDropped() {
    byte[] good = datagram(key("ci/"), BEFORE, prepare("ci/1"));
    for (int at = 0; at < good.length; at++) {
      byte[] bad = good.clone();
      bad[at] ^= 1;
      open(node, bad);
      open(node, java.util.Arrays.copyOf(good, at));
    }
    assertEquals(List.of(), received);
    open(node, good);
    assertEquals(1, received.size());
  }

  /** A cell's key is changed while its members go on: each step leaves all of them able to talk. */
  @Test
  void aKeyIsChangedInThreeSteps() {
    CellKey first = CellKey.of(CELL);
    CellKey both = first.added();
    CellKey turned = both.turned();
    CellKey second = turned.alone();
    List<CellKey> steps = List.of(first, both, turned, second);
    for (int i = 0; i + 1 < steps.size(); i++) {
      open(node(steps.get(i)), datagram(steps.get(i + 1), BEFORE, prepare("a")));
      open(node(steps.get(i + 1)), datagram(steps.get(i), BEFORE, prepare("a")));
    }
    assertEquals(6, received.size());
    open(node(second), datagram(first, BEFORE, prepare("a")));
    open(node(second), datagram(first.pass(pass("ci", "")), BEFORE, prepare("a")));
    assertEquals(6, received.size());
    open(node(both), datagram(first.pass(pass("ci", "")), BEFORE, prepare("a")));
    open(node(turned), datagram(first.pass(pass("ci", "")), BEFORE, prepare("a")));
    assertEquals(8, received.size());
    assertThrows(IllegalStateException.class, first::turned);
    assertThrows(IllegalStateException.class, second::alone);
    assertThrows(IllegalStateException.class, both.added().added()::added);
  }

  @Test
  void aFileIsReadAgain() throws IOException {
    Path file = directory.resolve("cell.key");
    CellKey.create(file);
    var live = CellKey.Live.of(file);
    CellKey first = live.get();
    live.reload();
    assertEquals(first, live.get()); // unchanged, not even anew
    first.added().replace(file);
    live.reload();
    assertEquals(2, live.get().size());
    assertArrayEquals(first.keys().get(0), live.get().keys().get(0));
    CellKey before = live.get();
    Files.writeString(file, "half");
    live.reload();
    assertEquals(before, live.get());
    first.pass(pass("ci", "ci/")).replace(file); // a node's file is no client's
    live.reload();
    assertEquals(before, live.get());
    assertThrows(IOException.class, () -> CellKey.loadWhole(file));
    assertEquals("ci", CellKey.load(file).pass().name());
    Files.delete(file);
    live.reload();
    assertEquals(before, live.get());
  }

  @Test
  void passesAreReadAsTheyAreWritten() {
    CellPass pass = pass("ci@web-1", "ci/", "");
    assertEquals(pass, CellPass.parse(pass.text()));
    for (String bad :
        List.of(
            "ci",
            "ci 2027-01-01T00:00:00Z",
            "ci 2027 acquire",
            "ci 2027-01-01T00:00:00.5Z acquire",
            "ci 2027-01-01T00:00:00Z admin",
            "ci 2027-01-01T00:00:00Z observe",
            "c\u00ef 2027-01-01T00:00:00Z acquire",
            "ci 2027-01-01T00:00:00Z  acquire")) {
      assertThrows(IllegalArgumentException.class, () -> CellPass.parse(bad), bad);
    }
    String long60 = "a".repeat(60);
    assertThrows(IllegalArgumentException.class, () -> pass("ci", long60, long60, long60, long60));
  }
}
