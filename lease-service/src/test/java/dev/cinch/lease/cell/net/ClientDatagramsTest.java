package dev.cinch.lease.cell.net;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.cell.Bytes;
import dev.cinch.lease.cell.Message;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What a node remembers of clients, which no file names. */
final class ClientDatagramsTest {
  private static final CellKey.Live KEY = CellKey.Live.of(CellKey.of(new byte[CellKey.BYTES]));
  private static final CellKey.Live OTHER_KEY = CellKey.Live.of(CellKey.of(new byte[] {1}));
  private static final Message QUERY = new Message.Query(Bytes.of("a"));
  private static final int CLIENT = -7;

  private final QueuedLink link = new QueuedLink();
  private final List<Integer> received = new ArrayList<>();
  private long wall;
  private final Datagrams node =
      new Datagrams(1, 1, List.of(1, 2, 3), KEY, 1_400, link, () -> 0, () -> wall);

  private static Datagrams member(int id, int boot, CellKey.Live key, QueuedLink link, long clock) {
    return new Datagrams(id, boot, List.of(1, 2, 3), key, 1_400, link, () -> 0, () -> clock);
  }

  private static byte[] datagram(int id, int boot, CellKey.Live key, int to, long clock) {
    var own = new QueuedLink();
    Datagrams sender = member(id, boot, key, own, clock);
    sender.add(to, QUERY);
    sender.flush();
    return own.sent.get(0).bytes();
  }

  private void open(byte[] datagram, long now) {
    node.open(ByteBuffer.wrap(datagram), now, (from, message, at) -> received.add(from));
  }

  @Test
  void aNodeAnswersAClientThatHasTheKey() {
    node.add(CLIENT, QUERY);
    node.flush();
    assertEquals(List.of(), link.sent);
    open(datagram(CLIENT, 5, OTHER_KEY, 1, 0), 0);
    assertEquals(List.of(), received);
    assertEquals(0, node.clients());
    open(datagram(CLIENT, 5, KEY, 1, 0), 0);
    assertEquals(List.of(CLIENT), received);
    assertEquals(List.of(CLIENT), link.remembered);
    for (int i = 0; i < 3; i++) {
      node.add(CLIENT, QUERY);
    }
    node.flush();
    node.flush();
    assertEquals(1, link.sent.size());
    assertEquals(CLIENT, link.sent.get(0).to());
    Datagrams client = member(CLIENT, 5, KEY, new QueuedLink(), 0);
    client.open(
        ByteBuffer.wrap(link.sent.get(0).bytes()), 0, (from, message, at) -> received.add(from));
    assertEquals(List.of(CLIENT, 1, 1, 1), received);
  }

  @Test
  void aClientHearsNodesAlone() {
    Datagrams client = member(CLIENT, 5, KEY, new QueuedLink(), 0);
    // No sender makes one for another client: none knows it.
    byte[] forged = datagram(-8, 5, KEY, 1, 0);
    ByteBuffer.wrap(forged).putInt(9, CLIENT);
    client.open(ByteBuffer.wrap(forged), 0, (from, message, at) -> received.add(from));
    assertEquals(1, client.traffic(0).unknownSender());
    assertEquals(List.of(), received);
  }

  /** Who has heard a datagram may send it again, from anywhere. */
  @Test
  void aDatagramOfAClientIsTakenOnce() {
    byte[] first = datagram(CLIENT, 5, KEY, 1, 10);
    byte[] second = datagram(CLIENT, 5, KEY, 1, 20);
    open(first, 0);
    open(first, 0);
    open(second, 0);
    open(first, 0);
    open(second, 0);
    open(datagram(CLIENT, 6, KEY, 1, 20), 0); // nor in the name of another start
    assertEquals(List.of(CLIENT, CLIENT), received);
    assertEquals(2, link.remembered.size());
    assertEquals(4, node.traffic(0).stale());
  }

  /** Each of its datagrams is later than the one before, also where its clock stands still. */
  @Test
  void aClientsDatagramsAreTakenWhateverItsClockDoes() {
    var own = new QueuedLink();
    var clock = new long[] {10, 10, 3};
    var next = new int[1];
    var client =
        new Datagrams(CLIENT, 5, List.of(1), KEY, 1_400, own, () -> 0, () -> clock[next[0]++]);
    next[0] = 0; // it looks when it is made, as nodes do
    for (int i = 0; i < clock.length; i++) {
      client.add(1, QUERY);
      client.flush();
    }
    own.sent.forEach(d -> open(d.bytes(), 0));
    assertEquals(3, received.size());
  }

  @Test
  void silentClientsAreForgottenAndWhatTheySentStaysOld() {
    byte[] first = datagram(-1, 5, KEY, 1, 1);
    open(first, 0);
    open(datagram(-2, 5, KEY, 1, 0), Clients.SILENCE_NANOS / 2);
    assertEquals(2, node.clients());
    open(datagram(-2, 5, KEY, 1, 1), Clients.SILENCE_NANOS);
    assertEquals(1, node.clients());
    assertEquals(List.of(-1), link.forgotten);
    open(first, Clients.SILENCE_NANOS);
    open(datagram(-3, 5, KEY, 1, 1), Clients.SILENCE_NANOS); // nor as another's: one floor for all
    assertEquals(List.of(-1, -2, -2), link.remembered);
    open(datagram(-1, 5, KEY, 1, 2), Clients.SILENCE_NANOS);
    assertEquals(List.of(-1, -2, -2, -1), link.remembered);
  }

  /** Else one whose clock is far ahead would keep out all others once it is forgotten. */
  @Test
  void aClientWhoseClockIsFarOffIsNotHeard() {
    wall = 3 * Clients.APART_NANOS;
    open(datagram(-1, 5, KEY, 1, wall + Clients.APART_NANOS + 1), 0);
    open(datagram(-1, 5, KEY, 1, wall - Clients.APART_NANOS - 1), 0);
    assertEquals(0, node.clients());
    open(datagram(-1, 5, KEY, 1, wall + Clients.APART_NANOS), 0);
    assertEquals(1, node.clients());
    // What a client sent before a node began may have been taken by the one before it.
    open(datagram(-2, 5, KEY, 1, -2), 0);
    assertEquals(1, node.clients());
  }

  @Test
  void whoeverHasTheKeyMakesANodeRememberSoManyAtMost() {
    open(datagram(-1, 5, KEY, 1, 1), 0);
    node.add(-1, QUERY); // what is ready for one that is forgotten is lost
    for (int i = 2; i <= Clients.MOST + 10; i++) {
      open(datagram(-i, 5, KEY, 1, i), i);
    }
    assertEquals(Clients.MOST, node.clients());
    assertEquals(10, link.forgotten.size());
    assertTrue(link.forgotten.contains(-1));
    node.flush();
    assertEquals(List.of(), link.sent);
  }
}
