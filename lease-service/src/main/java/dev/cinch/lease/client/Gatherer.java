package dev.cinch.lease.client;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.LeaseService;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.Operation;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/**
 * Gathers what threads ask while requests are under way, and sends it as one. A thread that finds
 * none under way sends its own at once; the first of those that came meanwhile sends all of them.
 * Where several ask at once it first yields, for as long as that brings more of them. It has no
 * thread of its own. Thread-safe.
 *
 * @param <R> what becomes of an operation
 */
final class Gatherer<R> {
  /** How operations are sent. */
  interface Sender<R> {
    /**
     * @param operations 1 to {@link LeaseService#MAX_OPERATIONS}
     * @return one for each, in the same order
     */
    List<R> send(List<Operation> operations) throws LeaseUnavailableException;
  }

  /** Requests under way at once: while one is answered the next is made. */
  private static final int MOST_UNDER_WAY = 2;

  /** One part in so many is lost with each request. */
  private static final int FADES = 4;

  private final Sender<R> sender;
  private final Runnable yield;
  private final Deque<Call> waiting = new ArrayDeque<>();

  /** Threads that send, or were told to. */
  private int senders;

  /** How many operations go together of late: the last request's, or what earlier ones fade to. */
  private volatile int usual = 1;

  Gatherer(Sender<R> sender) {
    this(sender, Thread::yield);
  }

  /**
   * @param yield has other threads run, those of a test
   */
  Gatherer(Sender<R> sender, Runnable yield) {
    this.sender = sender;
    this.yield = yield;
  }

  /** One thread's operation. */
  private final class Call {
    private final Operation operation;
    private final Thread thread = Thread.currentThread();

    /** Whether it is to send what waits. */
    private volatile boolean told;

    private volatile boolean done;
    private @Nullable R result;
    private @Nullable Throwable failure;

    Call(Operation operation) {
      this.operation = operation;
    }

    void tell() {
      told = true;
      LockSupport.unpark(thread);
    }

    void end() {
      done = true;
      if (thread != Thread.currentThread()) {
        LockSupport.unpark(thread);
      }
    }

    R result() throws LeaseUnavailableException {
      Throwable e = failure;
      if (e != null) {
        throw new LeaseUnavailableException(String.valueOf(e.getMessage()), e);
      }
      R found = result;
      if (found == null) {
        throw new LeaseUnavailableException("the request was not sent", null);
      }
      return found;
    }
  }

  /**
   * Sends an operation, with others that wait.
   *
   * @throws LeaseUnavailableException if no answer came, or the thread was interrupted, which is
   *     kept; it may have been carried out
   */
  R call(Operation operation) throws LeaseUnavailableException {
    var own = new Call(operation);
    boolean sends;
    synchronized (this) {
      waiting.add(own);
      sends = senders < MOST_UNDER_WAY;
      senders += sends ? 1 : 0;
    }
    while (true) {
      if (sends) {
        sendWhatWaits();
      }
      while (!own.done && !own.told) {
        LockSupport.park(this);
        if (!own.done && !own.told && Thread.currentThread().isInterrupted()) {
          giveUp(own);
          throw new LeaseUnavailableException("interrupted while asking the lease service", null);
        }
      }
      sends = own.told;
      own.told = false;
      if (own.done) {
        if (sends) {
          goOn(); // Another thread has sent its operation, too.
        }
        return own.result();
      }
    }
  }

  private void sendWhatWaits() {
    try {
      letOthersCome();
      List<Call> calls = next();
      if (!calls.isEmpty()) {
        send(calls);
      }
    } finally {
      goOn();
    }
  }

  /**
   * Where several asked lately, has the threads run that could ask now. An answer wakes as many as
   * its request had operations, and without this the first of them would send alone.
   */
  private void letOthersCome() {
    int before;
    int now = waitingNow();
    do {
      before = now;
      if (before >= usual) {
        return;
      }
      yield.run();
      now = waitingNow();
    } while (now > before);
  }

  private synchronized int waitingNow() {
    return waiting.size();
  }

  private synchronized List<Call> next() {
    var calls = new ArrayList<Call>();
    while (calls.size() < LeaseService.MAX_OPERATIONS && !waiting.isEmpty()) {
      calls.add(waiting.remove());
    }
    usual = Math.max(calls.size(), usual - usual / FADES - 1);
    return calls;
  }

  /** Has whoever came first send what waits, or lets the next one that comes. */
  private synchronized void goOn() {
    Call next = waiting.peek();
    if (next == null || next.told) {
      senders--;
    } else {
      next.tell();
    }
  }

  private void send(List<Call> calls) {
    @Nullable Throwable failure = new IllegalStateException("the request was not sent");
    List<R> results = List.of();
    try {
      results = sender.send(calls.stream().map(c -> c.operation).toList());
      failure = null;
    } catch (LeaseUnavailableException e) {
      failure = e;
    } finally {
      // Whatever was thrown, nobody is left waiting.
      for (int i = 0; i < calls.size(); i++) {
        Call call = calls.get(i);
        if (failure == null) {
          call.result = results.get(i);
        } else {
          call.failure = failure;
        }
        call.end();
      }
    }
  }

  /** Takes back what was not sent; what was is answered to nobody. */
  private synchronized void giveUp(Call own) {
    boolean unused = waiting.remove(own);
    if (own.told) {
      goOn();
    }
  }

  /**
   * Gathers operations with those that wait for a server about as long. What is gathered waits
   * while requests are under way, and so for as long as a server may hang: the renewal of a short
   * lease would run out behind that of a long one. Thread-safe.
   *
   * @param <R> what becomes of an operation
   */
  @CheckReturnValue
  static final class ByWait<R> {
    private final Gatherer.Sender<R> sender;
    private final ToLongFunction<Operation> waitMs;

    /** By the length of the wait in bits: those of one lane differ by less than a factor of two. */
    private final Map<Integer, Gatherer<R>> lanes = new ConcurrentHashMap<>();

    /**
     * @param waitMs how long one server is waited for, milliseconds
     */
    ByWait(Gatherer.Sender<R> sender, ToLongFunction<Operation> waitMs) {
      this.sender = sender;
      this.waitMs = waitMs;
    }

    /** As {@link Gatherer#call}. */
    R call(Operation operation) throws LeaseUnavailableException {
      int bits = Long.SIZE - Long.numberOfLeadingZeros(waitMs.applyAsLong(operation));
      return lanes.computeIfAbsent(bits, unused -> new Gatherer<>(sender)).call(operation);
    }
  }
}
