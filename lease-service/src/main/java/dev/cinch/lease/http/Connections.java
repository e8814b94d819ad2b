package dev.cinch.lease.http;

import com.sun.management.UnixOperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.Comparator;
import java.util.HashSet;
import java.util.Set;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Who is connected, and who has to go where there are too many. A newcomer takes the place of the
 * connection of the lowest rank that was quiet for the longest: so a crowd of strangers replaces
 * strangers, and whoever keeps leases stays. Only connections whose request is being carried out
 * stay in any case. Knows no network and no clock. Confined to one event loop.
 */
final class Connections {
  /** What a connection has shown so far, the least first. */
  enum Rank {
    /** No request of it has succeeded. */
    NEW,
    /** It asked something that was answered. */
    SERVED,
    /** It took, renewed or gave back leases. */
    HOLDER
  }

  /** One connection's place. */
  final class Place {
    private final String peer;
    private Runnable evict = () -> {};
    private Rank rank = Rank.NEW;
    private boolean busy;
    private long quietSince = ++turns;
    private long held;
    private long heldSince;

    private Place(String peer) {
      this.peer = peer;
    }

    /** What is told that the connection has lost its place and is to be closed. */
    void whenEvicted(Runnable told) {
      evict = told;
    }

    /** From now on its request is carried out: it stays. */
    void busy() {
      busy = true;
    }

    /**
     * Nothing is carried out for it any more.
     *
     * @param shown what its request has shown; a rank is never lost
     */
    void quiet(Rank shown) {
      busy = false;
      rank = rank.compareTo(shown) < 0 ? shown : rank;
      quietSince = ++turns;
    }

    /** It holds so many bytes of memory, until it says otherwise. */
    void hold(long bytes) {
      if (!all.contains(this)) {
        return;
      }
      heldSince = held == 0 ? ++turns : heldSince;
      total += bytes - held;
      held = bytes;
      while (total > mostHeld) {
        all.stream()
            .filter(p -> p.held > 0)
            .min(Comparator.comparingLong(p -> p.heldSince))
            .ifPresent(Place::goes);
      }
    }

    /** Its connection is closed. */
    void leave() {
      if (all.remove(this)) {
        total -= held;
      }
    }

    private void goes() {
      leave();
      evict.run();
    }
  }

  private final Limits limits;
  private final long mostHeld;
  private final Set<Place> all = new HashSet<>();
  private long turns;
  private long total;

  Connections(Limits limits) {
    this.limits = limits;
    mostHeld = limits.heldBytes();
  }

  /**
   * A new connection.
   *
   * @return null if there is no place for it, since all others are being served
   */
  @Nullable Place enter(String peer) {
    if (!room(place -> place.peer.equals(peer), limits.perPeer())
        || !room(place -> true, limits.connections())) {
      return null;
    }
    var place = new Place(peer);
    all.add(place);
    return place;
  }

  /** Makes room for one more, if it has to. */
  private boolean room(Predicate<Place> crowd, int most) {
    if (all.size() < most || all.stream().filter(crowd).count() < most) {
      return true;
    }
    var first =
        all.stream()
            .filter(place -> crowd.test(place) && !place.busy)
            .min(Comparator.<Place, Rank>comparing(p -> p.rank).thenComparing(p -> p.quietSince));
    first.ifPresent(Place::goes);
    return first.isPresent();
  }

  /** How many there are. */
  int count() {
    return all.size();
  }

  /**
   * What a server allows those who connect to it (docs/decisions/http-server.md says why).
   *
   * @param connections open at once, at least 1
   * @param perPeer open at once from one address, at least 1
   * @param requestMs how long a request may take to arrive, from its first byte, or from the
   *     beginning of a new connection, milliseconds
   * @param idleMs how long a connection may be quiet between requests, milliseconds
   * @param answerMs how long an answer may take to leave, milliseconds
   * @param heldBytes bodies that arrive and answers that leave, all together, at most
   */
  record Limits(
      int connections, int perPeer, long requestMs, long idleMs, long answerMs, long heldBytes) {
    private static final int MOST = 4_096;
    private static final int LEAST = 16;

    /** What a connection may cost of the heap besides what is counted as held. */
    private static final long BYTES_PER_CONNECTION = 64 << 10;

    /** Where the system does not say how many files a process may have open. */
    private static final long USUAL_DESCRIPTORS = 1_024;

    Limits {
      if (connections < 1 || perPeer < 1) {
        throw new IllegalArgumentException(
            "at least one connection, and one from each address, not "
                + connections
                + " and "
                + perPeer);
      }
    }

    /** For this process: its heap, and half of the descriptors that it may have. */
    static Limits ofProcess() {
      long heap = Runtime.getRuntime().maxMemory();
      long descriptors =
          ManagementFactory.getOperatingSystemMXBean() instanceof UnixOperatingSystemMXBean unix
              ? unix.getMaxFileDescriptorCount()
              : USUAL_DESCRIPTORS;
      return of(heap, descriptors);
    }

    /**
     * For a process.
     *
     * @param heap bytes
     * @param descriptors files and connections that it may have open
     */
    static Limits of(long heap, long descriptors) {
      long most = Math.min(MOST, Math.min(descriptors / 2, heap / BYTES_PER_CONNECTION));
      int connections = (int) Math.max(LEAST, most);
      return new Limits(connections, connections / 2, 10_000, 60_000, 30_000, heap / 8);
    }

    /** How many TLS handshakes may be under way. */
    int handshakes() {
      return Math.max(LEAST, connections / 8);
    }

    /** How many are accepted at all: some more, so that newcomers can take the place of others. */
    int accepted() {
      return connections + Math.max(4 * LEAST, connections / 4);
    }

    /** The same with so many connections in all; no more than that from one address. */
    Limits withConnections(int most) {
      return new Limits(
          most, Math.min(perPeer, Math.max(1, most)), requestMs, idleMs, answerMs, heldBytes);
    }

    /** The same with so many connections from each address. */
    Limits withPerPeer(int most) {
      return new Limits(connections, most, requestMs, idleMs, answerMs, heldBytes);
    }
  }
}
