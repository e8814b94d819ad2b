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
  private static final byte[] KEY = new byte[32];
  private static final byte[] OTHER_KEY = {1};
  private static final Message QUERY = new Message.Query(Bytes.of("a"));
  private static final int CLIENT = -7;

  private final QueuedLink link = new QueuedLink();
  private final List<Integer> received = new ArrayList<>();
  private final Datagrams node = member(1, 1, KEY, link, 0);

  private static Datagrams member(int id, int boot, byte[] key, QueuedLink link, long clock) {
    return new Datagrams(id, boot, List.of(1, 2, 3), key, 1_400, link, () -> clock);
  }

  private static byte[] datagram(int id, int boot, byte[] key, int to, long clock) {
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
  void anOlderDatagramDoesNotSayWhereAClientIs() {
    byte[] first = datagram(CLIENT, 5, KEY, 1, 10);
    open(first, 0);
    open(datagram(CLIENT, 5, KEY, 1, 20), 0);
    open(first, 0);
    assertEquals(3, received.size());
    assertEquals(2, link.remembered.size());
  }

  @Test
  void silentClientsAreForgotten() {
    open(datagram(-1, 5, KEY, 1, 0), 0);
    open(datagram(-2, 5, KEY, 1, 0), Clients.SILENCE_NANOS / 2);
    assertEquals(2, node.clients());
    open(datagram(-2, 5, KEY, 1, 1), Clients.SILENCE_NANOS);
    assertEquals(1, node.clients());
    assertEquals(List.of(-1), link.forgotten);
    open(datagram(-1, 5, KEY, 1, 0), Clients.SILENCE_NANOS);
    assertEquals(List.of(-1, -2, -2, -1), link.remembered);
  }

  @Test
  void whoeverHasTheKeyMakesANodeRememberSoManyAtMost() {
    open(datagram(-1, 5, KEY, 1, 0), 0);
    node.add(-1, QUERY); // what is ready for one that is forgotten is lost
    for (int i = 2; i <= Clients.MOST + 10; i++) {
      open(datagram(-i, 5, KEY, 1, 0), i);
    }
    assertEquals(Clients.MOST, node.clients());
    assertEquals(10, link.forgotten.size());
    assertTrue(link.forgotten.contains(-1));
    node.flush();
    assertEquals(List.of(), link.sent);
  }
}
