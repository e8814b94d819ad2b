package dev.cinch.lease.cell.net;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.cell.Ballot;
import dev.cinch.lease.cell.Bytes;
import dev.cinch.lease.cell.Message;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

final class DatagramsTest {
  private static final CellKey KEY = new CellKey(new byte[CellKey.BYTES]);
  private static final int LIMIT = 1_400;

  private final QueuedLink link = new QueuedLink();
  private final List<Message> received = new ArrayList<>();
  private final Datagrams one = node(1, KEY, List.of(2, 3));
  private final Datagrams two = node(2, KEY, List.of(1, 3));

  private Datagrams node(int id, CellKey key, List<Integer> others) {
    return new Datagrams(id, 5, others, key, LIMIT, link, () -> 1_000);
  }

  private void open(Datagrams node, byte[] datagram) {
    node.open(ByteBuffer.wrap(datagram), 900, (from, message, now) -> received.add(message));
  }

  private byte[] datagram() {
    one.add(2, new Message.Query(Bytes.of("a")));
    one.flush();
    return link.sent.remove(0).bytes();
  }

  @Test
  void manyMessagesGoInOneDatagramWhenTheTurnEnds() {
    for (Message message : Samples.MESSAGES) {
      if (Samples.encoded(message).length < 200) {
        one.add(2, message);
      }
    }
    assertEquals(0, link.sent.size());
    one.flush();
    one.flush();
    assertEquals(1, link.sent.size());
    assertEquals(2, link.sent.get(0).to());
    open(two, link.sent.get(0).bytes());
    assertEquals(
        Samples.MESSAGES.stream().filter(m -> Samples.encoded(m).length < 200).toList(), received);
    assertEquals(1, one.traffic(0).datagramsSent());
    assertEquals(received.size(), two.traffic(0).messagesReceived());
  }

  @Test
  void whatDoesNotFitGoesInTheNext() {
    List<Message> messages = new ArrayList<>();
    for (int i = 0; i < 100; i++) {
      messages.add(new Message.Prepare(Bytes.of("name-" + i), new Ballot(i + 1, 1, 1)));
    }
    messages.forEach(m -> one.add(2, m));
    one.flush();
    assertEquals(2, link.sent.size());
    for (QueuedLink.Sent sent : link.sent) {
      assertTrue(sent.bytes().length <= LIMIT);
      open(two, sent.bytes());
    }
    assertEquals(messages, received);
  }

  @Test
  void aMessageThatFitsNoDatagramIsCountedAndNotSent() {
    one.add(2, new Message.Learn(Bytes.of("a"), new Ballot(1, 1, 1), 1, Bytes.of(new byte[LIMIT])));
    one.add(4, new Message.Query(Bytes.of("a")));
    one.flush();
    assertEquals(0, link.sent.size());
    assertEquals(2, one.traffic(0).notSent());
  }

  /** The longest value that is let in fits everything that carries it. */
  @Test
  void theLongestValueFits() {
    int longest = CellSettings.DEFAULT.withDatagramBytes(LIMIT).longestValue();
    var memory =
        new dev.cinch.lease.cell.Message.Memory(
            dev.cinch.lease.cell.Message.Memory.State.LIVE,
            new Ballot(1, 1, 1),
            Bytes.of(new byte[longest]),
            1);
    Bytes name = Bytes.of("n".repeat(255));
    one.add(2, new Message.Reject(name, new Ballot(1, 1, 1), new Ballot(1, 1, 1), memory));
    one.flush();
    assertEquals(LIMIT, link.sent.get(0).bytes().length);
  }

  @Test
  void anyBitThatIsFlippedSpoilsIt() {
    byte[] good = datagram();
    for (int bit = 0; bit < 8 * good.length; bit++) {
      byte[] flipped = good.clone();
      flipped[bit / 8] ^= (byte) (1 << (bit % 8));
      open(two, flipped);
    }
    for (int length = 0; length < good.length; length++) {
      open(two, Arrays.copyOf(good, length));
    }
    open(two, Arrays.copyOf(good, good.length + 1));
    assertEquals(List.of(), received);
    assertEquals(9L * good.length + 1, two.traffic(0).dropped());
    assertEquals(9L * good.length + 1, two.traffic(0).datagramsReceived());
    open(two, good);
    assertEquals(1, received.size());
  }

  @Test
  void whatIsDroppedIsCountedByItsReason() {
    byte[] good = datagram();
    byte[] otherVersion = good.clone();
    otherVersion[0] = 3;
    open(two, otherVersion);
    assertEquals(1, two.traffic(0).otherVersion());
    open(node(3, KEY, List.of(1, 2)), good);
    Datagrams three = node(3, KEY, List.of(1, 2));
    open(three, good);
    assertEquals(1, three.traffic(0).notForThisNode());
    var otherKey = new byte[CellKey.BYTES];
    otherKey[31] = 1;
    Datagrams stranger = node(2, new CellKey(otherKey), List.of(1, 3));
    open(stranger, good);
    assertEquals(1, stranger.traffic(0).wrongKey());
    Datagrams alone = node(2, KEY, List.of(3));
    open(alone, good);
    assertEquals(1, alone.traffic(0).unknownSender());
    open(two, new byte[0]);
    assertEquals(1, two.traffic(0).malformed());
    assertEquals(List.of(), received);
  }

  /** Also one whose first message is good. */
  @Test
  void anAuthenticDatagramWithAMessageThatIsNoneIsDroppedWhole() {
    one.add(2, new Message.Query(Bytes.of("a")));
    one.add(2, new Message.Query(Bytes.EMPTY));
    one.flush();
    open(two, link.sent.get(0).bytes());
    assertEquals(List.of(), received);
    assertEquals(1, two.traffic(0).malformed());
  }

  @Test
  void aNodeKnowsWhatItHeardOfOthers() {
    assertEquals(-1, two.peers()[0].heardAt);
    open(two, datagram());
    assertEquals(900, two.peers()[0].heardAt);
    assertEquals(5, two.peers()[0].boot);
    assertEquals(100, two.peers()[0].ahead);
    assertEquals(-1, two.peers()[1].heardAt);
  }
}
