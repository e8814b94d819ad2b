package dev.cinch.lease.http;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Who is connected, and who has to go where there are too many. A newcomer takes the place of the
 * connection of the lowest rank that was quiet for the longest: so a crowd of strangers replaces
 * strangers, and whoever keeps leases stays. Only connections whose request is being carried out
 * stay in any case. Knows no network and no clock. Thread-safe; nobody is told to go under its
 * lock.
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
    private final Consumer<Place> evict;
    private Rank rank = Rank.NEW;
    private boolean quiet = true;
    private boolean left;
    private long held;

    private Place(String peer, Consumer<Place> evict) {
      this.peer = peer;
      this.evict = evict;
    }

    /** From now on its request is carried out: it stays. */
    void busy() {
      synchronized (Connections.this) {
        if (!left && quiet) {
          quiet = false;
          all.quiet(rank).remove(this);
          of(peer).quiet(rank).remove(this);
        }
      }
    }

    /**
     * Nothing is carried out for it any more.
     *
     * @param shown what its request has shown; a rank is never lost
     */
    void quiet(Rank shown) {
      synchronized (Connections.this) {
        if (left) {
          return;
        }
        busy();
        rank = rank.compareTo(shown) < 0 ? shown : rank;
        quiet = true;
        all.quiet(rank).add(this);
        of(peer).quiet(rank).add(this);
      }
    }

    /** It holds so many bytes of memory, until it says otherwise. */
    void hold(long bytes) {
      var gone = new ArrayList<Place>();
      synchronized (Connections.this) {
        if (left) {
          return;
        }
        total += bytes - held;
        held = bytes;
        if (bytes == 0) {
          holding.remove(this);
        } else {
          holding.add(this); // keeps its place among them if it has one
        }
        while (total > mostHeld && !holding.isEmpty()) {
          Place longest = holding.iterator().next();
          longest.leave();
          gone.add(longest);
        }
      }
      gone.forEach(place -> place.evict.accept(place));
    }

    /** Its connection is closed. */
    void leave() {
      synchronized (Connections.this) {
        if (left) {
          return;
        }
        busy();
        left = true;
        total -= held;
        holding.remove(this);
        all.count--;
        Crowd there = of(peer);
        if (--there.count == 0) {
          peers.remove(peer);
        }
      }
    }
  }

  /** All connections, or those of one peer. */
  private static final class Crowd {
    private final Map<Rank, LinkedHashSet<Place>> quiet = new EnumMap<>(Rank.class);
    private int count;

    LinkedHashSet<Place> quiet(Rank rank) {
      return quiet.computeIfAbsent(rank, r -> new LinkedHashSet<>());
    }

    @Nullable Place first() {
      for (LinkedHashSet<Place> ranked : quiet.values()) { // in the order of ranks
        if (!ranked.isEmpty()) {
          return ranked.iterator().next();
        }
      }
      return null;
    }
  }

  private final int most;
  private final int mostPerPeer;
  private final long mostHeld;
  private final Crowd all = new Crowd();
  private final Map<String, Crowd> peers = new HashMap<>();

  /** Those that hold memory, the one that does so for the longest first. */
  private final LinkedHashSet<Place> holding = new LinkedHashSet<>();

  private long total;

  Connections(ServerLimits limits) {
    most = limits.connections();
    mostPerPeer = limits.perPeer();
    mostHeld = limits.heldBytes();
  }

  /**
   * A new connection.
   *
   * @param evict told, on any thread, that the connection has lost its place and is to be closed
   * @return null if there is no place for it, since all others are being served
   */
  @Nullable Place enter(String peer, Consumer<Place> evict) {
    List<Place> gone = new ArrayList<>();
    Place place;
    synchronized (this) {
      if (!room(of(peer), mostPerPeer, gone) || !room(all, most, gone)) {
        place = null;
      } else {
        place = new Place(peer, evict);
        all.count++;
        of(peer).count++;
        place.quiet(Rank.NEW);
      }
      if (of(peer).count == 0) {
        peers.remove(peer);
      }
    }
    gone.forEach(one -> one.evict.accept(one));
    return place;
  }

  /** Makes room for one more. */
  private static boolean room(Crowd crowd, int most, List<Place> gone) {
    if (crowd.count < most) {
      return true;
    }
    Place first = crowd.first();
    if (first == null) {
      return false;
    }
    first.leave();
    gone.add(first);
    return true;
  }

  private Crowd of(String peer) {
    return peers.computeIfAbsent(peer, p -> new Crowd());
  }

  /** How many there are. */
  synchronized int count() {
    return all.count;
  }
}
