package dev.cinch.lease.cell.net;

import dev.cinch.lease.cell.Ballot;
import dev.cinch.lease.cell.Bytes;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** What another thread asks the loop for. */
sealed interface Request
    permits HeldNames.Pursuit, Questions.Question, Request.Release, Request.Status {
  /** The node closes before it is done. */
  void close();

  /** What the other thread waits for. */
  CompletableFuture<?> result();

  /**
   * To end a lease.
   *
   * @param linger for so long it may be held until all acceptors have it
   */
  record Release(Bytes name, Ballot lease, long linger, CompletableFuture<Boolean> result)
      implements Request {
    @Override
    public void close() {
      result.complete(false);
    }
  }

  /** To tell how the node is. */
  record Status(CompletableFuture<CellStatus> result) implements Request {
    @Override
    public void close() {
      result.completeExceptionally(new IllegalStateException("the node is closed"));
    }
  }

  /**
   * What waits for the loop, in three bounded queues: what is done in a moment, renewals, and
   * acquisitions, which come last, and are turned away early when there are too many. Thread-safe;
   * only the loop takes.
   */
  final class Waiting {
    /** A queue with a bound. */
    private static final class Queue {
      private final ConcurrentLinkedQueue<Request> waiting = new ConcurrentLinkedQueue<>();
      private final AtomicInteger count = new AtomicInteger();
      private final int most;

      Queue(int most) {
        this.most = most;
      }

      boolean add(Request request) {
        if (count.incrementAndGet() > most) {
          count.decrementAndGet();
          return false;
        }
        return waiting.add(request);
      }

      @Nullable Request poll() {
        Request request = waiting.poll();
        if (request != null) {
          count.decrementAndGet();
        }
        return request;
      }
    }

    private final Queue quick;
    private final Queue renewals;
    private final Queue acquisitions;
    private final int window;

    Waiting(CellSettings settings) {
      this.quick = new Queue(settings.queuedRenewals());
      this.renewals = new Queue(settings.queuedRenewals());
      this.acquisitions = new Queue(settings.queuedAcquisitions());
      this.window = settings.window();
    }

    /** Adds a request, unless there are too many of its kind. */
    boolean add(Request request) {
      if (request instanceof HeldNames.Pursuit pursuit) {
        return (pursuit.renewed == null ? acquisitions : renewals).add(request);
      }
      return quick.add(request);
    }

    /**
     * Takes the next one that can begin.
     *
     * @param underWay how many acquisitions and renewals are
     */
    @Nullable Request poll(int underWay) {
      Request request = quick.poll();
      if (request == null && underWay < 2 * window) {
        request = renewals.poll();
      }
      if (request == null && underWay < window) {
        request = acquisitions.poll();
      }
      return request;
    }

    /** Takes the next one that is done in a moment. */
    @Nullable Request pollQuick() {
      return quick.poll();
    }

    /** Whether {@link #poll} would find one. */
    boolean canBegin(int underWay) {
      return !quick.waiting.isEmpty()
          || (underWay < 2 * window && !renewals.waiting.isEmpty())
          || (underWay < window && !acquisitions.waiting.isEmpty());
    }

    /** Ends all that wait. */
    void close() {
      for (Request r = poll(0); r != null; r = poll(0)) {
        r.close();
      }
    }
  }
}
