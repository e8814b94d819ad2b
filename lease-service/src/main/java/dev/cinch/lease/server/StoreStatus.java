package dev.cinch.lease.server;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.wire.Answer;
import dev.cinch.lease.wire.JsonFields;
import dev.cinch.lease.wire.LeaseDocuments;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What {@code GET /v1/store} says: how the store is. A thread of its own looks, since a store may
 * hang, and seldom, however many ask. Nobody waits for it for long. Thread-safe.
 */
final class StoreStatus {
  static final String PATH = "/v1/store";

  /** So long a report is told again, nanoseconds. */
  private static final long FRESH = 5_000_000_000L;

  /** Of a look that took long: so many times as long, so that the store has a rest. */
  private static final int REST = 4;

  private static final int RETRY_MS = 1_000;
  private static final Made NONE =
      new Made(null, failure(503, Reason.NOT_YET.name(), "the store does not answer yet"), 0, 0);
  private static final Logger log = LoggerFactory.getLogger(StoreStatus.class);

  private final Callable<String> look;
  private final LongSupplier clock;
  private final long patienceMs;

  /** Under this object's lock, as the next; null before the first. */
  private @Nullable Made last;

  /** The one that is being made; null if none is. */
  private @Nullable CompletableFuture<Made> making;

  /**
   * How the store was.
   *
   * @param report null if it could not be looked at
   * @param failure what is answered then
   * @param at when that was known, by the clock
   * @param until when it is told
   */
  private record Made(@Nullable ObjectNode report, Answer failure, long at, long until) {}

  /**
   * @param look makes a report, an object of JSON; its exceptions have one line for people. May
   *     hang
   * @param clock monotonic, nanoseconds
   * @param patienceMs how long one who asks waits for a look
   */
  StoreStatus(Callable<String> look, LongSupplier clock, long patienceMs) {
    this.look = look;
    this.clock = clock;
    this.patienceMs = patienceMs;
  }

  /**
   * How the store is, or was where it can't be seen soon enough. Never waits; what it returns is
   * completed by any thread.
   */
  synchronized CompletableFuture<Answer> ask() {
    Made before = last;
    if (before != null && clock.getAsLong() - before.until < 0) {
      return CompletableFuture.completedFuture(answer(before));
    }
    CompletableFuture<Made> begun = making;
    if (begun == null) {
      begun = new CompletableFuture<>();
      making = begun;
      var thread = new Thread(this::make, "cinch-store-status");
      thread.setDaemon(true);
      thread.start();
    }
    return begun
        .copy() // one who gives up must not end it for others
        .completeOnTimeout(before == null ? NONE : before, patienceMs, TimeUnit.MILLISECONDS)
        .thenApply(this::answer);
  }

  private void make() {
    long begun = clock.getAsLong();
    ObjectNode report = null;
    Answer failure = NONE.failure;
    try {
      report = (ObjectNode) JsonFields.JSON.read(look.call());
    } catch (Exception e) {
      log.debug("the store's status could not be made", e);
      failure = failure(502, Answer.UNAVAILABLE, String.valueOf(e.getMessage()));
    }
    long now = clock.getAsLong();
    tell(new Made(report, failure, now, now + Math.max(FRESH, REST * (now - begun))));
  }

  private void tell(Made made) {
    CompletableFuture<Made> told;
    synchronized (this) {
      last = made;
      told = making;
      making = null;
    }
    if (told != null) {
      boolean unused = told.complete(made);
    }
  }

  private static Answer failure(int status, String error, String message) {
    return Answer.error(status, error, message, RETRY_MS);
  }

  private Answer answer(Made made) {
    if (made.report == null) {
      return made.failure;
    }
    long ageMs = Math.max(0, clock.getAsLong() - made.at) / 1_000_000;
    ObjectNode told = LeaseDocuments.object().put("ageMs", ageMs);
    told.setAll(made.report);
    return Answer.ok(told);
  }
}
