package dev.cinch.lease.cell.net;

import dev.cinch.lease.cell.Message;
import java.io.IOException;
import java.nio.BufferOverflowException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Datagrams of many messages, authenticated with the key of the cell. Numbers are big-endian.
 *
 * <pre>
 *   0  version: 1 (1)
 *   1  node that sends (4)
 *   5  its boot (4)
 *   9  node that is to receive (4)
 *  13  what the sender's clock showed (8)
 *  21  how many datagrams it has sent to this receiver before, since it started (4)
 *  25  messages, one behind the other, as {@link MessageCodec} has them
 * end  the {@link Seal} (16)
 * </pre>
 *
 * <p>A datagram may be replayed, by whoever has heard it, or doubled by the network: the algorithms
 * count each acceptor once for one ballot, ballots are never used again, and an acceptor takes no
 * accept whose promise is of another life or long ago. A replayed {@code LEARN} is a wrong hint,
 * which nobody may rely on. What is in a datagram is not secret.
 *
 * <p>Not thread-safe.
 */
final class Datagrams {
  static final byte VERSION = 1;

  /** Larger ones are split by networks, or don't fit UDP. */
  static final int LARGEST = 60 << 10;

  static final int HEADER = 25;

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
  private final Seal seal;
  private final Peer[] peers;
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
  private long notSent;

  /**
   * @param self id of the node
   * @param others ids of the other nodes
   * @param key of the cell
   * @param limit bytes that a datagram may have
   * @param clock the node's own, which its datagrams tell
   */
  Datagrams(
      int self,
      int boot,
      List<Integer> others,
      CellKey key,
      int limit,
      Link link,
      LongSupplier clock) {
    this.self = self;
    this.boot = boot;
    this.limit = limit;
    this.link = link;
    this.clock = clock;
    this.encoded = ByteBuffer.allocate(limit - HEADER - Seal.BYTES);
    this.peers = others.stream().map(node -> new Peer(node, limit)).toArray(Peer[]::new);
    this.seal = new Seal(key);
  }

  /** Puts a message into the datagram for a node; one that is full goes off. */
  void add(int node, Message message) {
    Peer peer = peer(node);
    if (peer == null || !encode(message)) {
      notSent++;
      return;
    }
    if (peer.messages > 0 && peer.out.position() + encoded.remaining() + Seal.BYTES > limit) {
      send(peer);
    }
    if (peer.messages == 0) {
      peer.out.clear().put(0, VERSION).position(HEADER);
    }
    peer.out.put(encoded);
    peer.messages++;
  }

  /** Leaves a message in {@link #encoded}; false if no datagram has room for it. */
  private boolean encode(Message message) {
    try {
      MessageCodec.encode(message, encoded.clear());
      encoded.flip();
      return true;
    } catch (BufferOverflowException e) {
      return false;
    }
  }

  /** Sends what is ready. */
  void flush() {
    for (Peer peer : peers) {
      if (peer.messages > 0) {
        send(peer);
      }
    }
  }

  private void send(Peer peer) {
    ByteBuffer out = peer.out;
    out.putInt(SENDER, self).putInt(BOOT, boot);
    out.putInt(RECEIVER, peer.id).putLong(CLOCK, clock.getAsLong());
    out.putInt(NUMBER, peer.sent++);
    seal.put(out);
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

  /**
   * Takes a datagram: all its messages, or none.
   *
   * @param in with an array that begins where the buffer does
   * @param now read after it came
   */
  void open(ByteBuffer in, long now, Receiver receiver) {
    datagramsReceived++;
    Peer peer = sender(in);
    if (peer == null) {
      return;
    }
    in.position(HEADER).limit(in.limit() - Seal.BYTES);
    opened.clear();
    while (in.hasRemaining()) {
      Message message = MessageCodec.decode(in);
      if (message == null) {
        malformed++;
        return;
      }
      opened.add(message);
    }
    missed |= peer.heard(in.getInt(BOOT), in.getLong(CLOCK), in.getInt(NUMBER), now);
    messagesReceived += opened.size();
    for (int i = 0; i < opened.size(); i++) {
      if (isAnswer(opened.get(i))) {
        peer.answeredAt = now;
      }
      receiver.receive(peer.id, opened.get(i), now);
    }
  }

  private static boolean isAnswer(Message message) {
    return message instanceof Message.Promise
        || message instanceof Message.Accepted
        || message instanceof Message.Reject
        || message instanceof Message.Told;
  }

  /** Who a datagram is of, if it is authentic; null if it is to be dropped. */
  private @Nullable Peer sender(ByteBuffer in) {
    if (in.remaining() <= HEADER + Seal.BYTES) {
      malformed++;
    } else if (in.get(0) != VERSION) {
      otherVersion++;
    } else if (in.getInt(RECEIVER) != self) {
      notForThisNode++;
    } else {
      Peer peer = peer(in.getInt(SENDER));
      if (peer == null) {
        unknownSender++;
      } else if (seal.isOn(in)) {
        return peer;
      } else {
        wrongKey++;
      }
    }
    return null;
  }

  private @Nullable Peer peer(int node) {
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
        notSent);
  }
}
