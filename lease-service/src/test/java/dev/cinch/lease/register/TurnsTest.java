package dev.cinch.lease.register;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.LeaseName;
import dev.cinch.lease.register.StateRegister.ChangeQueue;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

final class TurnsTest {
  private static final LeaseName A = new LeaseName("a");
  private static final LeaseName B = new LeaseName("b");

  private final ChangeQueue turns = new ChangeQueue();

  @Test
  void theNextOneOfANameBeginsWhenTheOneBeforeHasEndedHowever() throws Exception {
    var begun = new ArrayList<CompletableFuture<Boolean>>();
    CompletableFuture<Boolean> first = turns.next(A, begun::add);
    var later = new CountDownLatch(1);
    CompletableFuture<Boolean> second =
        turns.next(
            A,
            done -> {
              later.countDown();
              done.complete(true);
            });
    CompletableFuture<Boolean> ofAnother = turns.next(B, done -> done.complete(true));
    assertTrue(ofAnother.isDone());
    assertEquals(List.of(first), begun);
    assertEquals(1, later.getCount());
    assertTrue(first.completeExceptionally(new IllegalStateException("it failed")));
    assertTrue(second.get(60, TimeUnit.SECONDS));
    assertEquals(0, later.getCount());
    assertThrows(ExecutionException.class, first::get);
  }

  @Test
  void manyThatWaitMayAllGiveUpAtOnce() throws Exception {
    int many = 6_000;
    var begun = new AtomicInteger();
    CompletableFuture<Boolean> first = turns.next(A, done -> {});
    CompletableFuture<Boolean> last = first;
    for (int i = 0; i < many; i++) {
      last =
          turns.next(
              A,
              done -> {
                begun.incrementAndGet();
                done.complete(false);
              });
    }
    assertTrue(first.complete(true));
    assertFalse(last.get(60, TimeUnit.SECONDS));
    assertEquals(many, begun.get());
  }

  /** For want of a thread, say: else the name would be stuck for as long as the process runs. */
  @Test
  void oneThatCanNotBeginKeepsNobodyWaiting() {
    CompletableFuture<Boolean> failed =
        turns.next(
            A,
            done -> {
              throw new IllegalStateException("it can't begin");
            });
    assertTrue(failed.isCompletedExceptionally());
    assertTrue(turns.next(A, done -> done.complete(true)).join());
  }

  @Test
  void nobodyWaitsForOneThatNoThreadBegins() {
    var none =
        new ChangeQueue(
            task -> {
              throw new RejectedExecutionException("no thread");
            });
    CompletableFuture<Boolean> first = none.next(A, done -> {});
    CompletableFuture<Boolean> second = none.next(A, done -> done.complete(true));
    assertTrue(first.complete(true));
    assertTrue(second.isCompletedExceptionally());
    assertTrue(none.next(A, done -> done.complete(true)).join());
  }
}
