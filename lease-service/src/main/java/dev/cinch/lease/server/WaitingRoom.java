package dev.cinch.lease.server;

import dev.cinch.lease.ChangeListener;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseRefusedException.LeaseHeldException;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Outcome;
import dev.cinch.lease.rules.Refusals;
import dev.cinch.lease.wire.Answer;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

/**
 * Acquires that wait while others have the leases, without a thread: each try is an acquire as if
 * it had come then. Confined to one thread, but for {@link #changed}, which any thread calls.
 */
final class WaitingRoom implements ChangeListener {
  /** The thread. */
  interface Loop {
    /** Runs a task on it, after what it does now; called by any thread. */
    void run(Runnable task);

    /** Runs a task on it later, once. */
    Runnable after(long ms, Runnable task);
  }

  /** Carries out an acquire and tells, on the loop, at once or later, what became of it. */
  interface Carrier {
    void carryOut(Operation acquire, Consumer<Outcome> done, Consumer<Answer> failed);
  }

  /** What a request's sender is told; called on the loop, one of the answers once. */
  interface Sender {
    /** From now on it waits, or waits for another name. */
    void waits();

    void outcome(Outcome outcome);

    void failed(Answer answer);
  }

  /** One request. */
  static final class Request extends Queues.Waiter {
    private final Operation.Acquire acquire;
    private final Sender sender;
    private Runnable noDeadline = () -> {};
    private boolean trying;
    private boolean over;
    private boolean gone;

    /**
     * @param since when it came, by whatever clock
     */
    Request(Operation.Acquire acquire, long since, Sender sender) {
      super(acquire.id(), since);
      this.acquire = acquire;
      this.sender = sender;
    }

    String holder() {
      return acquire.holder();
    }
  }

  /** When to ask a server alone again that ends, milliseconds. */
  private static final long ENDS_RETRY_MS = 200;

  private final int most;
  private final Loop loop;
  private final Carrier carrier;
  private final Queues<Request> queues = new Queues<>();

  /** Names that somebody waits for; read by threads that free them. */
  private final Set<String> waitedFor = ConcurrentHashMap.newKeySet();

  /** Those of them that were freed, until the loop knows. */
  private final Set<String> freed = ConcurrentHashMap.newKeySet();

  private final AtomicBoolean told = new AtomicBoolean();

  /** Ends of leases that the first of a queue waits for: how to forget them. */
  private final Map<LeaseName, Runnable> ends = new HashMap<>();

  private final ArrayDeque<Request> due = new ArrayDeque<>();
  private boolean running;
  private boolean ended;

  /**
   * @param most so many wait; others are refused at once
   */
  WaitingRoom(int most, Loop loop, Carrier carrier) {
    this.most = most;
    this.loop = loop;
    this.carrier = carrier;
  }

  @Override
  public void changed(String name, boolean free) {
    if (free && waitedFor.contains(name)) {
      freed.add(name);
      if (told.compareAndSet(false, true)) {
        loop.run(this::wake);
      }
    }
  }

  /** What is waited for may have become free: those whose turn it is ask for it. */
  @Override
  public void lost() {
    freed.addAll(waitedFor);
    if (told.compareAndSet(false, true)) {
      loop.run(this::wake);
    }
  }

  /** Runs a task on the loop, such as what follows; called by any thread. */
  void run(Runnable task) {
    loop.run(task);
  }

  private void wake() {
    hear();
    run();
  }

  private void hear() {
    told.set(false); // before the names are taken: one that comes later calls again
    for (Iterator<String> each = freed.iterator(); each.hasNext(); ) {
      String name = each.next();
      each.remove(); // first: what changes from now on is told again
      due.addAll(queues.freed(new LeaseName(name)));
    }
  }

  /** A request has come. */
  void ask(Request request) {
    hear();
    Optional<Request> copy = queues.copy(request.id());
    if (copy.isPresent() && !copy.get().acquire.names().equals(request.acquire.names())) {
      // Nobody has a right to the place of a request for other leases by its id alone.
      request.sender.outcome(new Outcome.Refused(Refusals.invalid("another request has this id")));
      return;
    }
    // Whoever asks again has given up the first, and should not find its own leases held.
    copy.ifPresent(this::replace);
    queues
        .taken(request.acquire.names())
        .filter(name -> queues.size() < most && !ended)
        .ifPresentOrElse(name -> join(request, name), () -> due.add(request));
    run();
  }

  private void replace(Request older) {
    older.over = true;
    queues.mayComeBack(older); // the copy stands in its place
    if (!older.trying) {
      due.add(older); // a last try, for an answer
    }
  }

  /**
   * Nobody waits any more: those who do are answered, and those who come likewise. What others hold
   * then may be waited for at another server.
   */
  void end() {
    ended = true;
    queues.all().forEach(this::replace);
    run();
  }

  /** Its sender has gone. */
  void cancel(Request request) {
    request.gone = true;
    queues.mayComeBack(request);
    leave(request);
    run();
  }

  private void timeOver(Request request) {
    if (!request.gone) {
      request.over = true;
      if (!request.trying) {
        due.add(request); // for a refusal that says how it is now
      }
      run();
    }
  }

  private void join(Request request, LeaseName name) {
    request.noDeadline = loop.after(request.acquire.waitMs(), () -> timeOver(request));
    request.sender.waits();
    waitedFor.add(name.value()); // before it is tried: nothing is missed from then on
    due.addAll(queues.join(request, name));
  }

  private void leave(Request request) {
    request.noDeadline.run();
    request
        .at()
        .ifPresent(
            name -> {
              due.addAll(queues.leave(request));
              forget(name);
            });
  }

  private void forget(LeaseName name) {
    if (!queues.isWaitedFor(name)) {
      waitedFor.remove(name.value());
      Runnable end = ends.remove(name);
      if (end != null) {
        end.run();
      }
    }
  }

  /** Tries those whose turn it is; no deeper for many than for one. */
  private void run() {
    if (running) {
      return;
    }
    running = true;
    try {
      for (Request next = due.poll(); next != null; next = due.poll()) {
        attempt(next);
      }
    } finally {
      running = false;
    }
  }

  private void attempt(Request request) {
    if (request.gone || request.trying) {
      return;
    }
    request.trying = true;
    carrier.carryOut(
        request.acquire,
        outcome -> {
          request.trying = false;
          tried(request, outcome);
          run();
        },
        answer -> {
          request.trying = false;
          if (!request.gone) {
            end(request);
            request.sender.failed(answer);
          }
          run();
        });
  }

  private void tried(Request request, Outcome outcome) {
    if (request.gone) {
      return;
    }
    if (outcome instanceof Outcome.Refused refused
        && refused.refusal() instanceof LeaseHeldException held
        && !request.over
        && !ended) {
      if (request.at().isPresent()) {
        stillHeld(request, held);
        return;
      }
      if (queues.size() < most) {
        join(request, held.name());
        return;
      }
    }
    if (request.over && !(outcome instanceof Outcome.Granted)) {
      queues.mayComeBack(request);
    }
    end(request);
    request.sender.outcome(ended ? elsewhere(outcome) : outcome);
  }

  /** Whoever hears that a lease is held would give up, and who is turned away asks the next one. */
  private static Outcome elsewhere(Outcome outcome) {
    return outcome instanceof Outcome.Refused refused && refused.refusal().reason() == Reason.HELD
        ? new Outcome.Refused(
            new LeaseRefusedException(
                Reason.NOT_YET,
                "this server ends, so nobody waits here any more: "
                    + refused.refusal().getMessage(),
                ENDS_RETRY_MS))
        : outcome;
  }

  private void stillHeld(Request request, LeaseHeldException held) {
    LeaseName before = request.at().orElseThrow();
    LeaseName by = held.name();
    waitedFor.add(by.value());
    List<Request> next = queues.held(request, by);
    due.addAll(next);
    if (!before.equals(by)) {
      request.sender.waits(); // elsewhere than was listed
      forget(before);
    } else if (next.isEmpty()) {
      Runnable earlier =
          ends.put(
              by,
              loop.after(
                  Math.max(1, held.retryAfterMs()),
                  () -> {
                    due.addAll(queues.freed(by));
                    run();
                  }));
      if (earlier != null) {
        earlier.run();
      }
    }
  }

  private void end(Request request) {
    request.gone = true;
    leave(request);
  }

  /** Those who wait, in the order in which they would have each name. */
  Map<LeaseName, List<Request>> byName() {
    return queues.byName();
  }

  /** How many names somebody waits for; called by any thread. */
  int names() {
    return waitedFor.size();
  }

  /** How many wait; for tests, and no more than a hint elsewhere than on the loop. */
  int size() {
    return queues.size();
  }
}
