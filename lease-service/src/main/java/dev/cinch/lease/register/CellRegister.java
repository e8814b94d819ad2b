package dev.cinch.lease.register;

import static java.nio.charset.StandardCharsets.US_ASCII;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.cell.Bytes;
import dev.cinch.lease.cell.Message.Memory;
import dev.cinch.lease.cell.Step;
import dev.cinch.lease.cell.net.CellNode;
import dev.cinch.lease.cell.net.CellNode.Outcome;
import dev.cinch.lease.register.StateRegister.ChangeQueue;
import dev.cinch.lease.rules.Refusals;
import dev.cinch.lease.table.LeaseBackend.UnansweredException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.function.LongFunction;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * The values of names at a cell. A node that changes one takes the name's lease in the cell for as
 * long as that takes, which keeps all others out; the value is what its acceptors agree on, and
 * remember. (PaxosLease, 2.2: the value of a lease is its owner. Here it is what the owner leaves
 * behind.)
 *
 * <p>A node that stops in between keeps a name for a second or so, and nobody else. The cell's
 * longest lease is the longest that what is written may count, so that nobody forgets before.
 */
@CheckReturnValue
public final class CellRegister implements StateRegister {
  /** The longest that a change of one name takes, or it fails; nanoseconds. */
  private static final long TURN_NANOS = 1_000_000_000L;

  /** For so long a name is kept for acceptors that are a little late to hear of a change. */
  private static final long LINGER_NANOS = 2_000_000L;

  /** For how long a change is tried. */
  static final long PATIENCE_NANOS = 3_000_000_000L;

  /** How soon a name is tried again that another node changes; then twice as long, and so on. */
  private static final long RETRY_NANOS = 1_000_000L;

  private static final long RETRY_AFTER = 200_000_000L;

  /** A name: whether nodes answer for it does not hang on which. */
  private static final Bytes ANY = Bytes.of("0");

  /** So many names of a list are asked for at once: the answers fit the buffers of sockets. */
  private static final int ASKED_AT_ONCE = 64;

  private final CellNode node;
  private final RandomGenerator random;
  private final LongFunction<Executor> later;

  /** How long a node that stops in the middle of a change keeps others out. */
  private final long turnNanos;

  private final ChangeQueue queue;

  /**
   * @param random spreads out attempts of several nodes for one name
   */
  public CellRegister(CellNode node, RandomGenerator random) {
    this(
        node,
        random,
        nanos -> CompletableFuture.delayedExecutor(nanos, TimeUnit.NANOSECONDS),
        new ChangeQueue());
  }

  /**
   * @param later runs tasks after so many nanoseconds
   * @param queue of the changes of a name
   */
  CellRegister(
      CellNode node, RandomGenerator random, LongFunction<Executor> later, ChangeQueue queue) {
    this.node = node;
    this.random = random;
    this.later = later;
    this.queue = queue;
    this.turnNanos = Math.min(TURN_NANOS + 2 * node.shortest(), node.longest());
  }

  @Override
  public CompletableFuture<Boolean> change(LeaseName name, Change change) {
    long giveUpAt = node.now() + PATIENCE_NANOS;
    return queue.next(name, done -> new Changing(name, change, giveUpAt, done).begin());
  }

  /** One change. */
  private final class Changing {
    private final LeaseName name;
    private final Bytes key;
    private final Change change;
    private final long giveUpAt;
    private final CompletableFuture<Boolean> done;

    /** Why the last call of the change left everything as it was; of the node's thread. */
    private volatile @Nullable LeaseRefusedException refusal;

    /** Whether anything was proposed: then it may have been written. */
    private volatile boolean proposed;

    private long retry = RETRY_NANOS;

    Changing(LeaseName name, Change change, long giveUpAt, CompletableFuture<Boolean> done) {
      this.name = name;
      this.key = key(name);
      this.change = change;
      this.giveUpAt = giveUpAt;
      this.done = done;
    }

    void begin() {
      long left = giveUpAt - node.now();
      if (left <= 0) {
        giveUp("other nodes change it");
        return;
      }
      CompletionStage<Outcome> outcome = node.acquire(key, turnNanos, left, this::decide);
      var unused = outcome.whenComplete(this::ended).whenComplete(this::failed);
    }

    private Optional<Bytes> decide(Step.Found found) {
      refusal = null;
      try {
        Optional<byte[]> next = change.of(found(found));
        proposed |= next.isPresent();
        return next.map(Bytes::of);
      } catch (LeaseRefusedException e) {
        refusal = e;
        return Optional.empty();
      }
    }

    private void ended(@Nullable Outcome outcome, @Nullable Throwable failure) {
      if (outcome == null) {
        done.completeExceptionally(failure == null ? new IllegalStateException() : failure);
      } else if (outcome instanceof Outcome.Ended ended) {
        ended(ended.step());
      } else {
        switch ((Outcome.Refused) outcome) {
          case DECLINED -> declined();
          case FULL -> giveUp("the nodes of the cell remember as many names as they may");
          case OVERLOADED -> giveUp("this node has too much to do");
          case CLOSED, LOST -> giveUp("this node ends");
          case BUSY, HELD_HERE -> again(retry);
        }
      }
    }

    private void ended(Step step) {
      if (step instanceof Step.Granted granted) {
        var unused = node.release(key, granted.ballot(), LINGER_NANOS);
        done.complete(true);
      } else if (step instanceof Step.Held held) {
        again(Math.min(held.retryAfterNanos(), retry));
      } else {
        proposed |= step instanceof Step.Indeterminate;
        giveUp("too few nodes of the cell answer");
      }
    }

    private void declined() {
      LeaseRefusedException why = refusal;
      if (why == null) {
        done.complete(false);
      } else {
        done.completeExceptionally(why);
      }
    }

    private void again(long nanos) {
      retry = Math.min(2 * retry, TURN_NANOS / 4);
      Executor then = later.apply(1 + random.nextLong(Math.max(1, nanos)));
      var unused = CompletableFuture.runAsync(this::begin, then).whenComplete(this::failed);
    }

    /** Nobody else ends it where going on with it failed: for want of a thread, say. */
    private void failed(@Nullable Object unused, @Nullable Throwable failure) {
      if (failure != null) {
        boolean alsoUnused = done.completeExceptionally(failure);
      }
    }

    private void giveUp(String why) {
      done.completeExceptionally(
          proposed
              ? new UnansweredException(name + ": " + why)
              : Refusals.notYet(name + " can't be changed now: " + why, RETRY_AFTER));
    }
  }

  @Override
  public CompletableFuture<Found> look(LeaseName name) {
    return node.query(key(name), TURN_NANOS).thenApply(memory -> found(name, memory));
  }

  private static Found found(LeaseName name, Optional<Memory> memory) {
    if (memory.isEmpty()) {
      throw new CompletionException(
          Refusals.notYet(
              name + " can't be looked at: too few nodes of the cell answer", RETRY_AFTER));
    }
    Memory known = memory.get();
    return new Found(
        known.known() ? Optional.of(known.value().toArray()) : Optional.empty(),
        known.known(),
        known.known() ? 0 : known.nanos());
  }

  /** The ballots of a node are times, so the highest is the last. */
  private static Found found(Step.Found found) {
    return new Found(
        found.lasts().stream().findFirst().map(last -> last.value().toArray()),
        found.remembered(),
        found.quietNanos());
  }

  /** {@inheritDoc} A majority says which names there are, and then how each of them is. */
  @Override
  public CompletableFuture<NavigableMap<String, byte[]>> list(
      String prefix, String after, int limit) {
    return node.names(Bytes.of(prefix), Bytes.of(after), limit, PATIENCE_NANOS)
        .thenCompose(
            names -> {
              if (names.isEmpty()) {
                throw new CompletionException(
                    Refusals.notYet(
                        "names can't be listed: too few nodes of the cell answer", RETRY_AFTER));
              }
              List<Bytes> known = names.get();
              return values(known, 0, new TreeMap<>())
                  // Only one node may know of all of these, which it accepted and others did not:
                  // an empty page would say that there are no more.
                  .thenCompose(
                      page ->
                          page.isEmpty() && !known.isEmpty()
                              ? list(prefix, text(known.get(known.size() - 1)), limit)
                              : CompletableFuture.completedFuture(page));
            });
  }

  /** Asks for the values of some names, and then for the next. */
  private CompletableFuture<NavigableMap<String, byte[]>> values(
      List<Bytes> names, int from, NavigableMap<String, byte[]> found) {
    if (from >= names.size()) {
      return CompletableFuture.completedFuture(found);
    }
    var asked = new LinkedHashMap<String, CompletableFuture<Found>>();
    for (Bytes name : names.subList(from, Math.min(names.size(), from + ASKED_AT_ONCE))) {
      asked.put(text(name), look(new LeaseName(text(name))));
    }
    return CompletableFuture.allOf(asked.values().toArray(CompletableFuture<?>[]::new))
        .thenCompose(
            all -> {
              asked.forEach(
                  (name, value) -> value.join().value().ifPresent(v -> found.put(name, v)));
              return values(names, from + ASKED_AT_ONCE, found);
            });
  }

  @Override
  public CompletableFuture<?> reach() {
    return node.query(ANY, TURN_NANOS)
        .thenApply(
            memory ->
                memory.orElseThrow(
                    () ->
                        new CompletionException(
                            Refusals.notYet(
                                "too few nodes of the cell answer this one: it may be cut off",
                                RETRY_AFTER))));
  }

  @Override
  public boolean hears() {
    return node.hears();
  }

  @Override
  public void listen(BiConsumer<String, byte[]> listener) {
    node.listen((name, value) -> listener.accept(text(name), value.toArray()));
  }

  @Override
  public void onLoss(Runnable lost) {
    node.onLoss(lost);
  }

  @Override
  public int longestValue() {
    return node.longestValue();
  }

  private static Bytes key(LeaseName name) {
    return Bytes.of(name.value());
  }

  /** Names of leases are ASCII. */
  private static String text(Bytes key) {
    return new String(key.toArray(), US_ASCII);
  }
}
