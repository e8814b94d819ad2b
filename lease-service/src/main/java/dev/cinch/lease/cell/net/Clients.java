package dev.cinch.lease.cell.net;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The clients that a node has heard of, in no file: each says who it is by datagrams that the
 * cell's key authenticates. A node answers them and remembers nothing else of them; those that are
 * silent are forgotten, and where there are too many, the one that was silent for longest. Whoever
 * was forgotten is known again by its next datagram. Not thread-safe.
 */
final class Clients {
  /** So many are remembered. */
  static final int MOST = 4_096;

  /** After so long a silence one is forgotten: no answer takes as long. */
  static final long SILENCE_NANOS = 60_000_000_000L;

  private final Link link;
  private final int limit;

  /** The one that was silent for longest comes first. */
  private final Map<Integer, Peer> heard = new LinkedHashMap<>(16, 0.75f, true);

  /** Those that have something ready. */
  private final ArrayDeque<Peer> ready = new ArrayDeque<>();

  /** Buffers that nobody uses: as many as clients were answered in one turn. */
  private final ArrayDeque<ByteBuffer> spare = new ArrayDeque<>();

  /**
   * @param limit bytes that a datagram may have
   */
  Clients(Link link, int limit) {
    this.link = link;
    this.limit = limit;
  }

  int size() {
    return heard.size();
  }

  @Nullable Peer get(int id) {
    return heard.get(id);
  }

  /** Takes note of an authentic datagram, the last that came. */
  Peer heard(int id, int boot, long clock, long now) {
    Peer peer = heard.computeIfAbsent(id, Peer::new);
    if (peer.heard(boot, clock, now)) {
      link.remember(id);
    }
    forget(now);
    return peer;
  }

  private void forget(long now) {
    var eldest = heard.values().iterator();
    while (eldest.hasNext()) {
      Peer peer = eldest.next();
      if (heard.size() <= MOST && now - peer.heardAt < SILENCE_NANOS) {
        return;
      }
      eldest.remove();
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
}
