package dev.cinch.lease.instance;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Outcome;
import dev.cinch.lease.instance.StoreCalls.StoreNeededException;
import dev.cinch.lease.table.LeaseBackend.UnansweredException;
import dev.cinch.lease.witness.GrantSigner;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * Carries requests out as far as they go without the store, has it do what they need, and goes on;
 * then signs. Thread-safe.
 */
@CheckReturnValue
final class Requests {
  /** So far below 0 that no number of those that come too late brings it up. */
  private static final long ENDED = Long.MIN_VALUE / 2;

  /**
   * No request is begun behind others that have so many: who comes next waits some milliseconds.
   */
  private static final int SIGNED_AT_ONCE = 1_000;

  private final Operations operations;
  private final Publisher publisher;
  private final GrantSigner signer;
  private final LongAdder signatures = new LongAdder();

  /** How many requests are under way; far below 0 once none ever is again (rule L19). */
  private final AtomicLong underWay = new AtomicLong();

  Requests(Operations operations, Publisher publisher, GrantSigner signer) {
    this.operations = operations;
    this.publisher = publisher;
    this.signer = signer;
  }

  /** As {@link dev.cinch.lease.LeaseService#carryOut(List)}. */
  List<Outcome> carryOut(List<Operation> wanted) throws LeaseUnavailableException {
    if (!begins()) {
      throw ended();
    }
    try {
      var request = new Request(wanted, operations);
      for (StoreNeededException needed = request.advance();
          needed != null;
          needed = request.advance()) {
        await(met(request, needed), request, needed);
      }
      return signed(List.of(request)).get(0);
    } catch (UnansweredException e) {
      throw unanswered(e);
    } finally {
      ends();
    }
  }

  /** As {@link dev.cinch.lease.LeaseHost#begin}. */
  List<CompletableFuture<List<Outcome>>> begin(List<List<Operation>> requests) {
    var through = new ArrayList<Request>(requests.size());
    var begun = new ArrayList<CompletableFuture<List<Outcome>>>(requests.size());
    int witnesses = 0;
    for (List<Operation> wanted : requests) {
      if (witnesses >= SIGNED_AT_ONCE) {
        break;
      }
      var request = new Request(wanted, operations);
      begun.add(request.done());
      if (!begins()) {
        boolean unused = request.done().completeExceptionally(ended());
      } else if (goesThrough(request)) {
        through.add(request);
        witnesses += request.batch().witnesses();
      }
    }
    answer(through);
    return begun;
  }

  /** Goes on with one; whether it came through, and is to be answered. */
  private boolean goesThrough(Request request) {
    try {
      return isThrough(request);
    } catch (UnansweredException e) {
      fail(request, unanswered(e));
    } catch (RuntimeException | Error e) {
      fail(request, e);
    }
    return false;
  }

  private void answer(List<Request> through) {
    List<List<Outcome>> outcomes;
    try {
      outcomes = signed(through);
    } catch (RuntimeException | Error e) {
      through.forEach(request -> fail(request, e));
      return;
    }
    for (int i = 0; i < through.size(); i++) {
      ends();
      boolean unused = through.get(i).done().complete(outcomes.get(i));
    }
  }

  /** Goes on with one; false if it waits for the store, and goes on by itself. */
  private boolean isThrough(Request request) {
    for (StoreNeededException needed = request.advance();
        needed != null;
        needed = request.advance()) {
      StoreNeededException waitsFor = needed;
      CompletableFuture<Boolean> met = met(request, needed);
      if (!met.isDone()) {
        var unused = met.whenComplete((done, e) -> goOn(request, waitsFor, e));
        return false;
      }
      await(met, request, needed); // at once: many in a row would each go on within another
    }
    return true;
  }

  /** Has the store do what a request needs; it fails when that takes too long. */
  private CompletableFuture<Boolean> met(Request request, StoreNeededException needed) {
    CompletableFuture<Boolean> met = publisher.meet(needed);
    return met.isDone() ? met : met.orTimeout(request.patience(needed), TimeUnit.NANOSECONDS);
  }

  private void goOn(Request request, StoreNeededException needed, @Nullable Throwable unmet) {
    try {
      if (unmet != null) {
        request.unmet(needed, unmet);
      }
    } catch (RuntimeException | Error e) {
      fail(request, e);
      return;
    }
    if (goesThrough(request)) {
      answer(List.of(request));
    }
  }

  private static void await(
      CompletableFuture<Boolean> met, Request request, StoreNeededException needed) {
    try {
      boolean unused = met.join();
    } catch (CompletionException e) {
      request.unmet(needed, e.getCause() == null ? e : e.getCause());
    }
  }

  private void fail(Request request, Throwable e) {
    ends();
    boolean unused = request.done().completeExceptionally(e);
  }

  private List<List<Outcome>> signed(List<Request> requests) {
    List<Batch> batches = requests.stream().map(Request::batch).toList();
    if (batches.stream().anyMatch(batch -> batch.witnesses() > 0)) {
      signatures.increment();
    }
    return Batch.signed(batches, signer);
  }

  private static LeaseUnavailableException ended() {
    return new LeaseUnavailableException("the lease service has ended", null);
  }

  private static LeaseUnavailableException unanswered(UnansweredException e) {
    return new LeaseUnavailableException(
        e.getMessage() + "; it may have been done: ask again with the same id", e);
  }

  /** How many signatures were made. */
  long signatures() {
    return signatures.sum();
  }

  /** Counts one more; false if it is too late, and then it must do nothing. */
  private boolean begins() {
    if (underWay.incrementAndGet() > 0) {
      return true;
    }
    ends();
    return false;
  }

  private void ends() {
    long unused = underWay.decrementAndGet();
  }

  /** Lets none begin any more, if none is under way: then nothing is signed ever again. */
  boolean end() {
    return underWay.compareAndSet(0, ENDED) || hasEnded();
  }

  boolean hasEnded() {
    return underWay.get() < 0;
  }
}
