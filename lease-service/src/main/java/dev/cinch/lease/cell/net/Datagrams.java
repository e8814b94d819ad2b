package dev.cinch.lease.cell.net;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.cinch.lease.OneLine;
import dev.cinch.lease.cell.Message;
import dev.cinch.lease.cell.net.Clients.Peer;
import dev.cinch.lease.cell.net.Seals.Seal;
import java.io.IOException;
import java.nio.BufferOverflowException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Datagrams of many messages, authenticated with the key of the cell. Numbers are big-endian.
 *
 * <pre>
 *   0  version: 1, or 2 of a client that has a pass (1)
 *   1  node that sends, or a client: below 0 (4)
 *   5  its boot (4)
 *   9  node, or client, that is to receive (4)
 *  13  what the sender's clock showed: a node's own, a client's wall clock, which only rises (8)
 *  21  how many datagrams it has sent to this receiver before, since it started (4)
 *  25  with version 2 the length of what the pass says (1), and that: {@link CellPass#text}
 *      messages, one behind the other, as {@link MessageCodec} has them
 * end  the seal (16): {@link Seals}, by the key of the cell; to and from a client that has a pass
 *      by the key of that
 * </pre>
 *
 * <p>A datagram may be replayed, by whoever has heard it, or doubled by the network: the algorithms
 * count each acceptor once for one ballot, ballots are never used again, and an acceptor takes no
 * accept whose promise is of another life or long ago. A replayed {@code LEARN} is a wrong hint,
 * which nobody may rely on. Of a client each is taken once, in the order of its clock: its answers
 * go to where it came from ({@link Clients}). What is in a datagram is not secret.
 *
 * <p>Not thread-safe.
 */
final class Datagrams {
  private static final Logger LOG = LoggerFactory.getLogger(Datagrams.class);

  static final int VERSION = 1;

  /** Of a client that has a pass. */
  static final int WITH_PASS = 2;

  /** Larger ones are split by networks, or don't fit UDP. */
  static final int LARGEST = 60 << 10;

  static final int HEADER = 25;
  private static final byte[] NONE = {};

  private static final int SENDER = 1;
  private static final int BOOT = 5;
  private static final int RECEIVER = 9;
  private static final int CLOCK = 13;
  private static final int NUMBER = 21;

  /** Takes the messages of a datagram, in their order. */
  @FunctionalInterface
  interface Receiver {
    void receive(int from, Message message, long now);
  }

  private final int self;
  private final int boot;
  private final int limit;
  private final Link link;
  private final LongSupplier clock;
  private final LongSupplier wall;
  private final Seals seals;
  private final Peer[] peers;

  /** Of a node; a client knows no others. */
  private final Clients clients;

  private final List<Message> opened = new ArrayList<>();

  /** The message that is sent next. */
  private final ByteBuffer encoded;

  /** Whether a node has sent something that did not come, or came late. */
  private boolean missed;

  private long datagramsSent;
  private long messagesSent;
  private long datagramsReceived;
  private long messagesReceived;
  private long malformed;
  private long otherVersion;
  private long notForThisNode;
  private long unknownSender;
  private long wrongKey;
  private long stale;
  private long notSent;

  /** Messages of clients whose passes do not permit them. */
  private long notPermitted;

  /** What a client's last datagram said of its clock. */
  private long showed = Long.MIN_VALUE;

  /**
   * @param self id of the node; below 0 for a client
   * @param others ids of the other nodes
   * @param key of the cell, or a client's pass, as it is now; must not wait
   * @param limit bytes that a datagram may have
   * @param clock the node's own, which its datagrams tell
   * @param wall clients' clock, and what a node compares it with; nanoseconds since the Unix epoch
   */
  Datagrams(
      int self,
      int boot,
      List<Integer> others,
      Supplier<CellKey> key,
      int limit,
      Link link,
      LongSupplier clock,
      LongSupplier wall) {
    this.self = self;
    this.boot = boot;
    this.limit = limit;
    this.link = link;
    this.clock = clock;
    this.wall = wall;
    this.encoded = ByteBuffer.allocate(limit - HEADER - Seals.BYTES);
    this.peers = others.stream().map(Peer::new).toArray(Peer[]::new);
    for (Peer peer : peers) {
      peer.out = ByteBuffer.allocate(limit);
    }
    this.clients = new Clients(link, limit, wall);
    this.seals = new Seals(key);
  }

  /** Puts a message into the datagram for a node or a client; one that is full goes off. */
  void add(int node, Message message) {
    Peer peer = peer(node);
    byte[] pass = pass();
    if (peer == null || !encode(message, pass.length)) {
      notSent++;
      return;
    }
    ByteBuffer out = peer.out == null ? clients.begin(peer) : peer.out;
    if (peer.messages > 0 && out.position() + encoded.remaining() + Seals.BYTES > limit) {
      send(peer, out);
    }
    if (peer.messages == 0) {
      out.clear().put(0, (byte) (pass.length == 0 ? VERSION : WITH_PASS)).position(HEADER);
      out.put(pass);
    }
    out.put(encoded);
    peer.messages++;
  }

  /** What is said of this member's pass: a length and the text, or nothing. */
  private byte[] pass() {
    CellPass pass = seals.own().pass;
    if (pass == null) {
      return NONE;
    }
    byte[] text = pass.text().getBytes(US_ASCII);
    return ByteBuffer.allocate(1 + text.length).put((byte) text.length).put(text).array();
  }

  /** Leaves a message in {@link #encoded}; false if no datagram has room for it. */
  private boolean encode(Message message, int taken) {
    try {
      MessageCodec.encode(message, encoded.clear().limit(encoded.capacity() - taken));
      encoded.flip();
      return true;
    } catch (BufferOverflowException e) {
      return false;
    }
  }

  /** Sends what is ready. */
  void flush() {
    for (Peer peer : peers) {
      flush(peer);
    }
    for (Peer peer : clients.drain()) {
      flush(peer);
      clients.sent(peer);
    }
  }

  private void flush(Peer peer) {
    if (peer.messages > 0 && peer.out != null) {
      send(peer, peer.out);
    }
  }

  private void send(Peer peer, ByteBuffer out) {
    out.putInt(SENDER, self).putInt(BOOT, boot);
    out.putInt(RECEIVER, peer.id).putLong(CLOCK, showing());
    out.putInt(NUMBER, peer.sent++);
    (peer.seal == null ? seals.own() : peer.seal).seal(out);
    out.flip();
    try {
      if (link.send(peer.id, out)) {
        datagramsSent++;
        messagesSent += peer.messages;
      } else {
        notSent++;
      }
    } catch (IOException e) {
      notSent++; // as if it were lost
    }
    peer.messages = 0;
  }

  private long showing() {
    if (self >= 0) {
      return clock.getAsLong();
    }
    showed = Math.max(showed + 1, wall.getAsLong()); // nodes take no datagram as old as another
    return showed;
  }

  /**
   * Takes a datagram: all its messages, or none.
   *
   * @param in with an array that begins where the buffer does
   * @param now read after it came
   */
  void open(ByteBuffer in, long now, Receiver receiver) {
    datagramsReceived++;
    Seal seal = seal(in);
    if (seal == null) {
      return;
    }
    in.position(HEADER).limit(in.limit() - Seals.BYTES);
    if (in.get(0) == WITH_PASS) {
      in.position(HEADER + 1 + (in.get(HEADER) & 0xFF));
    }
    opened.clear();
    while (in.hasRemaining()) {
      Message message = MessageCodec.decode(in);
      if (message == null) {
        malformed++;
        return;
      }
      opened.add(message);
    }
    int sender = in.getInt(SENDER);
    int sentByBoot = in.getInt(BOOT);
    long sentAt = in.getLong(CLOCK);
    Peer node = node(sender);
    if (node != null) {
      missed |= node.misses(sentByBoot, in.getInt(NUMBER));
      node.heard(sentByBoot, sentAt, now);
    } else {
      node = clients.heard(sender, sentByBoot, sentAt, now, seal);
      if (node == null) {
        stale++;
        return;
      }
    }
    messagesReceived += opened.size();
    for (int i = 0; i < opened.size(); i++) {
      if (seal.pass != null && !isPermitted(seal.pass, opened.get(i))) {
        continue;
      }
      if (isAnswer(opened.get(i))) {
        node.answeredAt = now;
      }
      receiver.receive(node.id, opened.get(i), now);
    }
  }

  private boolean isPermitted(CellPass pass, Message message) {
    if (self < 0 || pass.permits(message)) { // its own answers
      return true;
    }
    if (notPermitted++ == 0) {
      LOG.warn(
          "a client with {} asks for {}; of more such requests nothing is told",
          pass.shown(),
          OneLine.of(new String(message.name().toArray(), US_ASCII), 80));
    }
    return false;
  }

  private static boolean isAnswer(Message message) {
    return message instanceof Message.Promise
        || message instanceof Message.Accepted
        || message instanceof Message.Reject
        || message instanceof Message.Told;
  }

  /** Who a datagram is of, if it is authentic; null if it is to be dropped. */
  private @Nullable Seal seal(ByteBuffer in) {
    if (in.remaining() <= HEADER + Seals.BYTES) {
      malformed++;
      return null;
    }
    byte version = in.get(0);
    if (version != VERSION && version != WITH_PASS) {
      otherVersion++;
    } else if (in.getInt(RECEIVER) != self) {
      notForThisNode++;
    } else {
      int sender = in.getInt(SENDER);
      boolean known = node(sender) != null;
      if (known ? version != VERSION : sender >= 0 || self < 0) {
        unknownSender++;
        return null;
      }
      Seal seal = version == VERSION ? seals.ofCell(in) : sealOfPass(in);
      if (seal != null && (seal.pass == null || seal.pass.countsAt(wall.getAsLong()))) {
        return seal;
      }
      wrongKey++;
    }
    return null;
  }

  private @Nullable Seal sealOfPass(ByteBuffer in) {
    int length = in.get(HEADER) & 0xFF;
    if (in.limit() <= HEADER + 1 + length + Seals.BYTES) {
      return null;
    }
    var text = new byte[length];
    in.get(HEADER + 1, text);
    return seals.ofPass(in, text);
  }

  private @Nullable Peer peer(int member) {
    return member < 0 ? clients.get(member) : node(member);
  }

  private @Nullable Peer node(int node) {
    for (Peer peer : peers) {
      if (peer.id == node) {
        return peer;
      }
    }
    return null;
  }

  /** Whether datagrams of nodes were lost since this was asked the last time. */
  boolean hasMissed() {
    boolean before = missed;
    missed = false;
    return before;
  }

  Peer[] peers() {
    return peers.clone();
  }

  /** How many clients it remembers. */
  int clients() {
    return clients.size();
  }

  /**
   * @param within messages from the node to itself
   */
  CellStatus.Traffic traffic(long within) {
    return new CellStatus.Traffic(
        datagramsSent,
        messagesSent,
        datagramsReceived,
        messagesReceived,
        within,
        malformed,
        otherVersion,
        notForThisNode,
        unknownSender,
        wrongKey,
        stale,
        notSent);
  }
}
