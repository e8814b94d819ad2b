package dev.cinch.lease.witness;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(600)
final class GoodSignaturesTest {
  private final GoodSignatures good = new GoodSignatures();
  private final AtomicInteger checks = new AtomicInteger();

  private static ByteBuffer digest(int i) {
    return ByteBuffer.allocate(32).putInt(0, i);
  }

  private boolean check(int digest, boolean answer) {
    return good.check(
        digest(digest),
        () -> {
          checks.incrementAndGet();
          return answer;
        });
  }

  @Test
  void aGoodOneIsCheckedOnceAndABadOneEachTime() {
    assertTrue(check(1, true));
    assertTrue(check(1, false));
    assertEquals(1, checks.get());
    assertFalse(check(2, false));
    assertTrue(check(2, true));
    assertEquals(3, checks.get());
  }

  @Test
  void whoAsksForOneThatIsBeingCheckedWaitsForWhatIsFound() throws Exception {
    var begun = new CountDownLatch(1);
    var goOn = new CountDownLatch(1);
    var first =
        new FutureTask<>(
            () ->
                good.check(
                    digest(1),
                    () -> {
                      begun.countDown();
                      try {
                        goOn.await();
                      } catch (InterruptedException e) {
                        throw new AssertionError(e);
                      }
                      return true;
                    }));
    new Thread(first).start();
    begun.await();
    var second = new FutureTask<>(() -> check(1, false));
    var thread = new Thread(second);
    thread.start();
    while (thread.getState() != Thread.State.BLOCKED) {
      Thread.onSpinWait();
    }
    goOn.countDown();
    assertTrue(first.get());
    assertTrue(second.get());
    assertEquals(0, checks.get());
  }
}
