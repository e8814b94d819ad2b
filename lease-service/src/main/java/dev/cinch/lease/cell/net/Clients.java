package dev.cinch.lease.cell.net;

import dev.cinch.lease.cell.net.Seals.Seal;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The clients that a node has heard of, in no file: each says who it is by datagrams that the
 * cell's key authenticates. A node answers them and remembers nothing else of them; those that are
 * silent are forgotten, and where there are too many, the one that was silent for longest. Whoever
 * was forgotten is known again by its next datagram.
 *
 * <p>An answer goes to where the newest datagram came from, and whoever heard a datagram can send
 * it again from anywhere. So each counts once: by the client's wall clock it is later than all that
 * the node heard of this client, and than all that it heard of those that it has forgotten. Clients
 * whose clocks are off by less than the silence after which they are forgotten are kept out by that
 * for no longer than their clocks are apart. Not thread-safe.
 */
final class Clients {
  /** So many are remembered. */
  static final int MOST = 4_096;

  /** After so long a silence one is forgotten: no answer takes as long. */
  static final long SILENCE_NANOS = 60_000_000_000L;

  /**
   * So far a client's wall clock may be from the node's; nanoseconds. Else one whose clock is years
   * ahead would keep out all others once it is forgotten. Below half of {@link #SILENCE_NANOS}.
   */
  static final long APART_NANOS = 25_000_000_000L;

  private final Link link;
  private final int limit;
  private final LongSupplier wall;

  /** The latest that a client's clock showed that was forgotten; at first, when the node began. */
  private long floor;

  /** The one that was silent for longest comes first. */
  private final Map<Integer, Peer> heard = new LinkedHashMap<>(16, 0.75f, true);

  /** Those that have something ready. */
  private final ArrayDeque<Peer> ready = new ArrayDeque<>();

  /** Buffers that nobody uses: as many as clients were answered in one turn. */
  private final ArrayDeque<ByteBuffer> spare = new ArrayDeque<>();

  /**
   * @param limit bytes that a datagram may have
   * @param wall this node's wall clock, nanoseconds since the Unix epoch
   */
  Clients(Link link, int limit, LongSupplier wall) {
    this.link = link;
    this.limit = limit;
    this.wall = wall;
    this.floor = wall.getAsLong() - 1;
  }

  int size() {
    return heard.size();
  }

  @Nullable Peer get(int id) {
    return heard.get(id);
  }

  /**
   * Takes note of an authentic datagram, the last that came.
   *
   * @param clock the client's wall clock when it sent
   * @param seal that it had, and that answers have
   * @return null if it came before, or may have; or if another client has that id
   */
  @Nullable Peer heard(int id, int boot, long clock, long now, Seal seal) {
    long ahead = clock - wall.getAsLong();
    if (ahead > APART_NANOS || ahead < -APART_NANOS) {
      return null;
    }
    Peer known = heard.get(id);
    if (clock <= (known == null ? floor : known.latest)) {
      return null;
    }
    if (known != null && !Objects.equals(name(known.seal), name(seal))) {
      return null;
    }
    Peer peer = known == null ? new Peer(id) : known;
    heard.put(id, peer);
    peer.heard(boot, clock, now);
    peer.latest = clock;
    peer.seal = seal;
    link.remember(id);
    forget(now);
    return peer;
  }

  /** Of its pass: who has another one may not have answers of this one sent elsewhere. */
  private static @Nullable String name(@Nullable Seal seal) {
    return seal == null || seal.pass == null ? null : seal.pass.name();
  }

  private void forget(long now) {
    var eldest = heard.values().iterator();
    while (eldest.hasNext()) {
      Peer peer = eldest.next();
      if (heard.size() <= MOST && now - peer.heardAt < SILENCE_NANOS) {
        return;
      }
      eldest.remove();
      floor = Math.max(floor, peer.latest);
      ready.remove(peer);
      link.forget(peer.id);
    }
  }

  /** A buffer for what is ready for a client. */
  ByteBuffer begin(Peer client) {
    ByteBuffer out = spare.poll();
    if (out == null) {
      out = ByteBuffer.allocate(limit);
    }
    client.out = out;
    ready.add(client);
    return out;
  }

  /** What was ready was sent. */
  void sent(Peer client) {
    if (client.out != null) {
      spare.add(client.out);
      client.out = null;
    }
  }

  /** Those that have something ready, each once. */
  Collection<Peer> drain() {
    var all = new ArrayDeque<>(ready);
    ready.clear();
    return all;
  }

  /** Another member of the cell: a node, or a client, whose id is below 0. Not thread-safe. */
  static final class Peer {
    final int id;

    /** What is ready for it; null while nothing is, for clients. */
    @Nullable ByteBuffer out;

    /** Of a client, what answers are sealed with; null for nodes. */
    @Nullable Seal seal;

    /** How many messages that is. */
    int messages;

    /** When it was heard last, by this node's clock; -1 if never. */
    long heardAt = -1;

    /** When its acceptor last answered, by this node's clock; -1 if never. */
    long answeredAt = -1;

    int boot;

    /** How many datagrams were sent to it. */
    int sent;

    /** The number that its next datagram should have. */
    private int expected;

    /** What its clock showed when it sent, less what ours did when that came. */
    long ahead;

    /** What a client's clock showed at the latest. */
    long latest;

    Peer(int id) {
      this.id = id;
    }

    /**
     * Whether a datagram shows that others were sent before it, and did not come. To be asked
     * before {@link #heard}.
     *
     * @param number of datagrams that it sent before
     */
    boolean misses(int sentByBoot, int number) {
      boolean first = heardAt < 0;
      boolean other = boot != sentByBoot;
      int ahead = number - expected;
      if (first || other || ahead >= 0) {
        expected = number + 1;
      }
      return !first && (other || ahead > 0);
    }

    /**
     * Takes note of a datagram.
     *
     * @param clock what it says of the sender's clock
     */
    void heard(int sentByBoot, long clock, long now) {
      heardAt = now;
      boot = sentByBoot;
      ahead = clock - now;
    }
  }
}
