package dev.cinch.lease.cell.net;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.cell.Ballot;
import dev.cinch.lease.cell.Bytes;
import dev.cinch.lease.cell.Message;
import dev.cinch.lease.cell.Message.Memory;
import dev.cinch.lease.cell.PaxosLease;
import java.util.List;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.Test;

/** What a node takes of clients. */
final class ClientClocksTest {
  private static final CellKey.Live KEY = CellKey.Live.of(CellKey.of(new byte[CellKey.BYTES]));
  private static final Bytes NAME = Bytes.of("a");
  private static final long SECOND = 1_000_000_000;
  private static final long LONGEST = 60 * SECOND;
  private static final long NOW = 1_000_000 * SECOND;
  private static final int CLIENT = -7;

  private long sentAt = NOW;
  private final QueuedLink link = new QueuedLink();
  private final Request.Waiting requests = new Request.Waiting(CellSettings.DEFAULT);
  private final CellLoop node =
      new CellLoop(
          1,
          1,
          true,
          new CellSettings.CellParts(
              List.of(1, 2, 3),
              KEY,
              new PaxosLease(LONGEST, 500, LONGEST),
              CellSettings.DEFAULT,
              link,
              () -> 5 * SECOND,
              () -> NOW,
              RandomGenerator.of("L64X128MixRandom")),
          requests);

  /** How many datagrams the node answers with. */
  private int sends(int from, Message message) {
    var own = new QueuedLink();
    var sender = new Datagrams(from, 9, List.of(1), KEY, 1_400, own, () -> 0, () -> ++sentAt);
    sender.add(1, message);
    sender.flush();
    link.sent.clear();
    link.come(own.sent.get(0).bytes());
    while (node.turn()) {
      // until it would wait
    }
    return link.sent.size();
  }

  private static Message prepare(long ahead) {
    return new Message.Prepare(NAME, new Ballot(NOW + ahead, 9, CLIENT));
  }

  private static Message accept(long ahead) {
    return new Message.Accept(NAME, new Ballot(NOW + ahead, 9, CLIENT), 0, SECOND, NAME);
  }

  /** Else a value that acceptors forgot might seem to be the later. */
  @Test
  void p4_aClientsBallotsAreNearTheTime() {
    assertEquals(0, sends(CLIENT, prepare(LONGEST / 4 + 1)));
    assertEquals(0, sends(CLIENT, prepare(-LONGEST / 4 - 1)));
    assertEquals(0, sends(CLIENT, accept(LONGEST / 4 + 1)));
    assertEquals(0, sends(CLIENT, accept(-LONGEST / 4 - 1)));
    assertEquals(1, sends(CLIENT, accept(LONGEST / 4))); // it is told why not
    assertEquals(1, sends(CLIENT, prepare(-LONGEST / 4)));
    assertEquals(1, sends(CLIENT, prepare(LONGEST / 4)));
  }

  /** One that did not hear of the end may keep it for as long as a change may take. */
  @Test
  void p6_theLastLeaseSaysMoreThanAnEarlierOneThatIsTakenForLive() {
    var inquiry = new Questions.Inquiry(NAME, 1L << 60);
    var earlier = new Memory(Memory.State.LIVE, new Ballot(7, 1, 1), Bytes.of("earlier"), SECOND);
    var last = new Memory(Memory.State.RELEASED, new Ballot(8, 1, 2), Bytes.of("last"), 0);
    assertEquals(1, inquiry.add(3, earlier));
    assertEquals(2, inquiry.add(2, last));
    inquiry.complete(true);
    assertEquals(last, inquiry.result.join().orElseThrow());
  }

  @Test
  void p1_whatAClientAnswersCountsForNothing() {
    var inquiry = new Questions.Inquiry(NAME, 1L << 60);
    assertTrue(requests.add(inquiry));
    Message told = new Message.Told(NAME, Memory.forgotten(0));
    int unused = sends(CLIENT, told) + sends(-8, told);
    assertFalse(inquiry.result.isDone());
    unused = sends(2, told);
    assertTrue(inquiry.result.isDone(), "with this node's own, these are two of three");
  }
}
