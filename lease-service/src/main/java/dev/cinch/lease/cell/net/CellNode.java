package dev.cinch.lease.cell.net;

import dev.cinch.lease.cell.Algorithm;
import dev.cinch.lease.cell.Ballot;
import dev.cinch.lease.cell.Bytes;
import dev.cinch.lease.cell.Message.Memory;
import dev.cinch.lease.cell.Step;
import dev.cinch.lease.cell.net.CellSettings.CellParts;
import dev.cinch.lease.time.TimeSource;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.channels.ClosedSelectorException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A running node of a cell. One thread owns its machines; it sleeps while there is nothing to do.
 *
 * <p>Results complete on that thread: what depends on them, and isn't asynchronous itself, must be
 * quick, and must not wait for the node.
 *
 * <p>Times are nanoseconds of the node's clock, {@link #now}, which its algorithm chooses. That of
 * PaxosLease is monotonic and the node's own: no other node's times have a bearing on it. A machine
 * that sleeps may stop that clock; its leases then seem to last longer than they do, so a node must
 * not run where machines are suspended. That of Flease is the wall clock, which the machine keeps
 * within the error that the cell's file allows.
 *
 * <p>Thread-safe.
 */
public final class CellNode implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(CellNode.class);

  /** Longer patience is cut, so that no time overflows. */
  private static final long MOST_PATIENCE = 1L << 60;

  private final Algorithm algorithm;
  private final Link link;
  private final LongSupplier clock;
  private final @Nullable BootCounter boots;
  private final Request.Waiting requests;
  private final CellLoop loop;
  private final int longestValue;
  private final Thread thread;

  /** The thread waits, or is about to: what it doesn't see any more must wake it. */
  private volatile boolean waiting;

  private volatile boolean closing;

  /** When the thread has ended, and nobody takes requests any more. */
  private volatile boolean closed;

  private final CompletableFuture<Boolean> stopped = new CompletableFuture<>();

  private CellNode(
      int node, int boot, boolean first, @Nullable BootCounter boots, CellParts parts) {
    this.algorithm = parts.algorithm();
    this.link = parts.link();
    this.clock = parts.clock();
    this.boots = boots;
    this.requests = new Request.Waiting(parts.settings());
    this.longestValue = parts.settings().longestValue();
    this.loop = new CellLoop(node, boot, first, parts, requests);
    this.thread = new Thread(this::run, "cinch-cell-" + node);
    this.thread.setDaemon(true);
  }

  /**
   * Starts a node; for as long as a lease may last its acceptor is silent (rule P5).
   *
   * @param file which nodes there are
   * @param node the id of this one
   * @param directory of this node alone, which keeps how often it has started
   * @param settings but for the size of datagrams, which the file has
   * @param time clocks; it never sleeps by them
   * @param first whether the caller vouches that no lease of the cell can have been granted: then
   *     the node is not silent at first
   * @throws IOException one line that says what is wrong: with the directory, or the address; also
   *     if the cell is said to be new and the node has started before
   * @throws IllegalArgumentException if the cell has no such node
   */
  public static CellNode start(
      CellFile file,
      int node,
      Path directory,
      CellSettings settings,
      TimeSource time,
      boolean first)
      throws IOException {
    InetSocketAddress at = file.addresses().get(node);
    if (at == null) {
      throw new IllegalArgumentException("the cell has no node " + node);
    }
    return start(node, first, directory, parts(file, settings, at, time));
  }

  private static CellParts parts(
      CellFile file, CellSettings settings, InetSocketAddress at, TimeSource time)
      throws IOException {
    CellKey key = CellKey.load(file.keyFile());
    Map<Integer, InetSocketAddress> addresses = file.addresses();
    return new CellParts(
        List.copyOf(addresses.keySet()),
        key,
        file.algorithm(),
        settings.withDatagramBytes(file.datagramBytes()),
        new Link.UdpLink(at, addresses),
        CommonClock.of(file.algorithm(), time),
        time::wallNanos,
        RandomGenerator.getDefault());
  }

  /** Starts a node on a link, which it closes. */
  static CellNode start(int node, boolean first, Path directory, CellParts parts)
      throws IOException {
    BootCounter boots;
    try {
      boots = BootCounter.next(directory, node);
    } catch (IOException | RuntimeException e) {
      parts.link().close();
      throw e;
    }
    if (first && boots.boot() > 1) {
      parts.link().close();
      boots.close();
      throw new IOException(
          directory + ": the node has started before, so the cell is not new; don't say --first");
    }
    var started = new CellNode(node, boots.boot(), first, boots, parts);
    started.thread.start();
    return started;
  }

  /** One without a thread: somebody else gives {@link #loop} its turns, when the link is woken. */
  static CellNode driven(int node, int boot, boolean first, CellParts parts) {
    var driven = new CellNode(node, boot, first, null, parts);
    driven.waiting = true;
    return driven;
  }

  CellLoop loop() {
    return loop;
  }

  private void run() {
    try {
      while (!closing) {
        if (!loop.turn()) {
          waiting = true;
          if (!loop.canBegin() && !closing) {
            loop.await();
          }
          waiting = false;
        }
      }
    } catch (IOException | ClosedSelectorException e) {
      LOG.error("the cell's node stops: {}", String.valueOf(e.getMessage()));
    } catch (RuntimeException e) {
      LOG.error("the cell's node stops", e);
    } finally {
      try {
        loop.close();
      } finally {
        closed = true;
        requests.close();
        boolean unused = stopped.complete(true);
      }
    }
  }

  /**
   * Completes when the node has stopped: since it was closed, or since it can't go on, which the
   * log says. It then refuses everything, and has to be started anew.
   */
  public CompletableFuture<Boolean> stopped() {
    return stopped.copy();
  }

  /**
   * What the node's clock shows, nanoseconds: with PaxosLease since it started, with Flease since
   * the Unix epoch. Goes back only with Flease, if the machine's clock is set back by more than the
   * cell allows.
   */
  public long now() {
    return clock.getAsLong();
  }

  /**
   * Tries to get a lease.
   *
   * @param name 1 to 255 bytes
   * @param ttlNanos {@link Algorithm#shortest} to {@link Algorithm#longest}; counts from when an
   *     attempt begins
   * @param patienceNanos for how long to try, from now
   * @param decide makes the value to agree on of what was found, or gives up; it may be asked again
   *     after another attempt. It runs on the node's thread: quick, and without waiting
   * @return {@link Step.Granted} is the lease, until a time of {@link #now}. Completes
   *     exceptionally with what {@code decide} throws, or if its value is too long
   * @throws IllegalArgumentException if the name or the ttl is out of its range
   */
  public CompletableFuture<Outcome> acquire(
      Bytes name, long ttlNanos, long patienceNanos, Function<Step.Found, Optional<Bytes>> decide) {
    return pursue(name, null, ttlNanos, patienceNanos, decide);
  }

  /**
   * Tries to hold a lease for longer. If it fails, the old end stays.
   *
   * @param lease a ballot with which this lease was granted, by acquiring or renewing it
   * @see #acquire
   */
  public CompletableFuture<Outcome> renew(
      Bytes name,
      Ballot lease,
      long ttlNanos,
      long patienceNanos,
      Function<Step.Found, Optional<Bytes>> decide) {
    return pursue(name, lease, ttlNanos, patienceNanos, decide);
  }

  private CompletableFuture<Outcome> pursue(
      Bytes name,
      @Nullable Ballot lease,
      long ttl,
      long patience,
      Function<Step.Found, Optional<Bytes>> decide) {
    check(name);
    if (ttl < algorithm.shortest() || ttl > algorithm.longest()) {
      throw new IllegalArgumentException(
          "a lease time is %d to %d ns, not %d"
              .formatted(algorithm.shortest(), algorithm.longest(), ttl));
    }
    long giveUpAt = giveUpAt(patience);
    long beginBy = giveUpAt - Math.max(0, giveUpAt - clock.getAsLong()) / 2;
    var pursuit = new HeldNames.Pursuit(name, lease, ttl, giveUpAt, beginBy, decide);
    if (!submit(pursuit)) {
      pursuit.result.complete(Outcome.Refused.OVERLOADED);
    }
    return pursuit.result;
  }

  private long giveUpAt(long patience) {
    return clock.getAsLong() + Math.max(0, Math.min(patience, MOST_PATIENCE));
  }

  private static void check(Bytes name) {
    if (name.size() < 1 || name.size() > MessageCodec.LONGEST_NAME) {
      throw new IllegalArgumentException("a name has 1 to 255 bytes, not " + name.size());
    }
  }

  /**
   * Ends a lease, of which the caller has stopped to act as owner before. Renewals under way end
   * with it. Completes when acceptors are told, without waiting for them: others may find it held
   * for a moment more, or until its end if what tells them is lost.
   *
   * @param lease a ballot with which it was granted
   * @param lingerNanos for so long at most, from 0, it is held until all acceptors have it, so that
   *     its successor finds it with any of them; or until this node acquires it anew
   * @return whether it was held; false also if too much waits: then it ends by itself
   */
  public CompletableFuture<Boolean> release(Bytes name, Ballot lease, long lingerNanos) {
    var release = new Request.Release(name, lease, lingerNanos, new CompletableFuture<>());
    if (!submit(release)) {
      release.result().complete(false);
    }
    return release.result();
  }

  /**
   * Asks acceptors for a name. The answer is a hint, on which nobody may act as owner, or take the
   * name for free (rule P6).
   *
   * @return what says the most of a majority's answers; empty if fewer came in time
   */
  public CompletableFuture<Optional<Memory>> query(Bytes name, long patienceNanos) {
    check(name);
    var inquiry = new Questions.Inquiry(name, giveUpAt(patienceNanos));
    if (!submit(inquiry)) {
      inquiry.close();
    }
    return inquiry.result;
  }

  /**
   * The names that a majority of acceptors knows something of, in ascending order of their bytes.
   * What was agreed on is among them, with more.
   *
   * @param prefix of the names
   * @param after only names above this one
   * @param limit how many, at least 1
   * @return empty if fewer than a majority answered in time
   */
  public CompletableFuture<Optional<List<Bytes>>> names(
      Bytes prefix, Bytes after, int limit, long patienceNanos) {
    var listing = new Questions.Listing(prefix, after, limit, giveUpAt(patienceNanos));
    if (!submit(listing)) {
      listing.close();
    }
    return listing.result;
  }

  /** Whether this node's acceptor hears of what is agreed on: not while it is quarantined. */
  public boolean hears() {
    return now() >= loop.acceptor().quarantinedUntil();
  }

  /**
   * Has somebody told of each value that this node's acceptor accepts, which need not become that
   * of a lease, and of those that others agreed on without it; a hint. Called on the node's thread:
   * quick, and without waiting.
   *
   * @param listener takes the name and the value
   */
  public void listen(BiConsumer<Bytes, Bytes> listener) {
    loop.listen(listener);
  }

  /**
   * Has somebody told that a datagram of another node was lost, so that values may have been agreed
   * on of which {@link #listen listeners} heard nothing. Called on the node's thread: quick, and
   * without waiting.
   */
  public void onLoss(Runnable lost) {
    loop.onLoss(lost);
  }

  /** The shortest lease time that {@link #acquire} takes, nanoseconds. */
  public long shortest() {
    return algorithm.shortest();
  }

  /** The longest, nanoseconds. */
  public long longest() {
    return algorithm.longest();
  }

  /** The longest value, bytes. */
  public int longestValue() {
    return longestValue;
  }

  /** How the node is. Completes exceptionally if it is closed, or too much waits. */
  public CompletableFuture<CellStatus> status() {
    var status = new Request.Status(new CompletableFuture<>());
    if (!submit(status)) {
      status.result().completeExceptionally(new IllegalStateException("too much waits"));
    }
    return status.result();
  }

  private boolean submit(Request request) {
    if (closed) {
      request.close();
      return true;
    }
    if (!requests.add(request)) {
      return false;
    }
    if (waiting) {
      link.wakeUp();
    }
    if (closed) { // meanwhile, and perhaps after its last look
      requests.close();
    }
    return true;
  }

  /** Has the loop look at its clock. */
  void nudge() {
    link.wakeUp();
  }

  /**
   * Stops the node. Attempts end as refused. Leases that were released before, or are by a caller
   * that hears so of its own end, are free at once; what else is held ends by itself. The next
   * start is quarantined like every other.
   */
  @Override
  public void close() throws IOException {
    closing = true;
    link.wakeUp();
    try {
      thread.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    try {
      link.close();
    } finally {
      if (boots != null) {
        boots.close();
      }
    }
  }

  /** How an attempt ended. Immutable. */
  public sealed interface Outcome {
    /**
     * The machines had their say.
     *
     * @param step {@link Step.Granted}, {@link Step.Held}, {@link Step.Unavailable} or {@link
     *     Step.Indeterminate}
     */
    record Ended(Step step) implements Outcome {}

    /** The node refused it, or gave it up; nobody has a lease by it. */
    enum Refused implements Outcome {
      /** Too many wait; try again later, or another node. */
      OVERLOADED,
      /** A majority of acceptors has no room for one more name; try again later. */
      FULL,
      /** This node holds the lease: it can be renewed, but not acquired. */
      HELD_HERE,
      /** Another attempt of this node for the name is under way. */
      BUSY,
      /** The lease that was to be renewed is not held any more. */
      LOST,
      /** The caller wanted to propose nothing after what was found. */
      DECLINED,
      /** The node is closed. */
      CLOSED
    }

    /** Whether the caller's node is the owner by it. */
    default boolean isGranted() {
      return this instanceof Ended ended && ended.step() instanceof Step.Granted;
    }
  }
}
