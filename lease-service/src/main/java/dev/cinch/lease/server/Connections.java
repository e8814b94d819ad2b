package dev.cinch.lease.server;

import com.google.errorprone.annotations.CheckReturnValue;
import com.sun.management.UnixOperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.LongSupplier;
import java.util.function.Predicate;

/**
 * Who is connected, and who has to go: for others where there are too many, for good where
 * something takes too long. A newcomer takes the place of the connection of the lowest rank that
 * was quiet for the longest: so a crowd of strangers replaces strangers, and whoever keeps leases
 * stays. A connection whose request is being carried out stays in any case. Knows no network.
 * Thread-safe.
 */
@CheckReturnValue
final class Connections {
  /** For so long a connection of a server that ends may bring one more request, milliseconds. */
  static final long LAST_MS = 250;

  /** For so long one that had its last answer may take to hang up, milliseconds. */
  static final long LINGER_MS = 2_000;

  private static final long NANOS_PER_MS = 1_000_000;

  /** What a connection has shown so far, the least first. */
  enum Rank {
    /** No request of it has succeeded. */
    NEW,
    /** It asked something that was answered. */
    SERVED,
    /** It took, renewed or gave back leases. */
    HOLDER
  }

  private enum State {
    /** Nothing of a request is there. */
    QUIET,
    /** A request arrives. */
    RECEIVING,
    /** It is carried out. */
    WORKING,
    /** Its answer leaves. */
    ANSWERING
  }

  /** What a connection can be told, and asked. */
  interface Line {
    /** How many bytes have come on it so far. */
    long received();

    void close();
  }

  /** One connection's place. */
  final class Place {
    private final String peer;
    private final Line line;
    private Rank rank = Rank.NEW;
    private State state = State.QUIET;

    /** By the clock, nanoseconds: so long this state may last; none has {@link State#WORKING}. */
    private long deadline;

    /** What had come when the state last was quiet. */
    private long received;

    private Runnable late = () -> {};
    private boolean last;
    private long quietSince = ++ticks;
    private long held;
    private long heldSince;

    private Place(String peer, Line line) {
      this.peer = peer;
      this.line = line;
      deadline = within(limits.requestMs());
    }

    /**
     * The head of a request has come.
     *
     * @param late what is told should the rest not come in time; its sender can still be answered
     */
    void arrives(Runnable late) {
      change(
          () -> {
            if (state == State.QUIET) {
              receives();
            }
            this.late = late;
          });
    }

    private void receives() {
      state = State.RECEIVING;
      deadline = within(limits.requestMs());
    }

    /** From now on its request is carried out: it stays. */
    void works() {
      change(() -> state = State.WORKING);
    }

    /**
     * Its answer leaves, of so many bytes.
     *
     * @return whether it is the last one
     */
    boolean answers(Rank shown, int length) {
      change(
          () -> {
            state = State.ANSWERING;
            deadline = within(limits.answerMs());
            quiet(shown); // who does not take an answer may have to go
            holds(length);
            last = last || draining;
          });
      return last;
    }

    /** After this answer the connection ends in any case. */
    void endsWithIt() {
      change(() -> last = true);
    }

    /** The answer has left, or never will. */
    void answered() {
      change(
          () -> {
            state = State.QUIET;
            late = () -> {};
            received = line.received();
            quiet(Rank.NEW);
            holds(0);
            deadline = last ? within(LINGER_MS) : draining ? lastUntil : within(limits.idleMs());
          });
    }

    private void quiet(Rank shown) {
      rank = rank.compareTo(shown) < 0 ? shown : rank; // a rank is never lost
      quietSince = ++ticks;
    }

    /** It holds so many bytes of memory, until it says otherwise. */
    void hold(long bytes) {
      change(() -> holds(bytes));
    }

    private void holds(long bytes) {
      if (!all.contains(this)) {
        return;
      }
      heldSince = held == 0 ? ++ticks : heldSince;
      total += bytes - held;
      held = bytes;
      while (total > limits.heldBytes()) {
        all.stream()
            .filter(p -> p.held > 0)
            .min(Comparator.comparingLong(p -> p.heldSince))
            .ifPresent(Place::goes);
      }
    }

    /** Its connection is closed. */
    void leave() {
      change(this::leaves);
    }

    private void leaves() {
      if (all.remove(this)) {
        total -= held;
      }
      if (draining && all.isEmpty()) {
        due.add(() -> drained.complete(0));
      }
    }

    private void goes() {
      leaves();
      due.add(line::close);
    }

    private void expire(long now) {
      if (state == State.QUIET && !last && line.received() != received) {
        receives(); // of a head nobody tells but its bytes
      }
      if (state == State.WORKING || now - deadline < 0) {
        return;
      }
      if (state == State.RECEIVING && !last) {
        // Whoever still sends hears why it was too late.
        last = true;
        deadline = within(LINGER_MS);
        due.add(late);
      } else {
        goes();
      }
    }
  }

  private final Limits limits;
  private final LongSupplier clock;
  private final Set<Place> all = new HashSet<>();

  /** What is to be done once this object's lock is free. */
  private final Queue<Runnable> due = new ArrayDeque<>();

  private final CompletableFuture<Integer> drained = new CompletableFuture<>();
  private long ticks;
  private long total;
  private boolean draining;

  /** By the clock, nanoseconds, of a server that ends: its end, and that of quiet connections. */
  private long end;

  private long lastUntil;

  /**
   * @param clock monotonic, nanoseconds
   */
  Connections(Limits limits, LongSupplier clock) {
    this.limits = limits;
    this.clock = clock;
  }

  private long within(long ms) {
    return clock.getAsLong() + ms * NANOS_PER_MS;
  }

  /** Changes something, and tells those concerned when others may change again. */
  private void change(Runnable change) {
    List<Runnable> told;
    synchronized (this) {
      change.run();
      if (due.isEmpty()) {
        return;
      }
      told = List.copyOf(due);
      due.clear();
    }
    told.forEach(Runnable::run);
  }

  /** A new connection, which is closed at once if all others are being served. */
  Place enter(String peer, Line line) {
    var place = new Place(peer, line);
    change(
        () -> {
          if (room(p -> p.peer.equals(peer), limits.perPeer())
              && room(p -> true, limits.connections())) {
            all.add(place);
            place.deadline = draining ? lastUntil : place.deadline;
          } else {
            due.add(line::close);
          }
        });
    return place;
  }

  /** Makes room for one more, if it has to. */
  private boolean room(Predicate<Place> crowd, int most) {
    if (all.size() < most || all.stream().filter(crowd).count() < most) {
      return true;
    }
    var first =
        all.stream()
            .filter(place -> crowd.test(place) && place.state != State.WORKING)
            .min(Comparator.<Place, Rank>comparing(p -> p.rank).thenComparing(p -> p.quietSince));
    first.ifPresent(Place::goes);
    return first.isPresent();
  }

  /** How many there are. */
  synchronized int count() {
    return all.size();
  }

  /** Ends what takes too long. */
  void sweep() {
    change(
        () -> {
          long now = clock.getAsLong();
          List.copyOf(all).forEach(place -> place.expire(now));
          if (draining && now - end >= 0) {
            int cutOff = (int) all.stream().filter(p -> p.state != State.QUIET).count();
            due.add(() -> drained.complete(cutOff));
          }
        });
  }

  /**
   * Nobody enters any more: has each connection end with its next answer, and quiet ones after
   * {@link #LAST_MS}. A request that is on its way would be lost with its connection, and its
   * sender not know whether it was carried out.
   *
   * @param ms how long that may take
   * @return how many requests had no answer by then
   */
  CompletionStage<Integer> drain(long ms) {
    change(
        () -> {
          if (!draining) {
            draining = true;
            end = within(ms);
            lastUntil = within(LAST_MS);
            all.stream().filter(p -> p.state == State.QUIET).forEach(p -> p.deadline = lastUntil);
          }
          if (all.isEmpty()) {
            due.add(() -> drained.complete(0));
          }
        });
    return drained;
  }

  /**
   * What a server allows those who connect to it (docs/decisions/http-server.md says why).
   *
   * @param connections open at once, at least 1
   * @param perPeer open at once from one address, at least 1
   * @param requestMs how long a request may take to arrive, and a new connection to begin one,
   *     milliseconds
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
