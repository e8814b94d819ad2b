package dev.cinch.lease.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(600)
final class LanesTest {
  private static final int UNDER_WAY = 2;

  private final CountDownLatch hang = new CountDownLatch(1);
  private final CountDownLatch sent = new CountDownLatch(UNDER_WAY);
  private final Gatherer.ByWait<Integer> lanes =
      new Gatherer.ByWait<>(this::send, op -> ((Operation.Renew) op).durationMs());

  /** Long ones are never answered, but for the test's end. */
  private List<Integer> send(List<Operation> operations) {
    if (((Operation.Renew) operations.get(0)).durationMs() > 5_000) {
      sent.countDown();
      try {
        hang.await();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
    return operations.stream().map(op -> operations.size()).toList();
  }

  private static Operation renewal(long durationMs) {
    return new Operation.Renew(
        Id.random(new Random(1)), durationMs, LogSet.NONE, LeaseReport.NOTHING);
  }

  @Test
  void aShortLeaseIsRenewedWhileThoseOfLongOnesWait() throws Exception {
    CompletableFuture<?>[] asking = new CompletableFuture<?>[UNDER_WAY];
    for (int i = 0; i < UNDER_WAY; i++) {
      asking[i] = new CompletableFuture<Integer>();
      CompletableFuture<?> done = asking[i];
      new Thread(
              () -> {
                try {
                  int unused = lanes.call(renewal(30_000));
                  done.complete(null);
                } catch (Exception e) {
                  done.completeExceptionally(e);
                }
              })
          .start();
      while (sent.getCount() == UNDER_WAY - i) { // or both might be sent together
        Thread.onSpinWait();
      }
    }
    assertEquals(1, lanes.call(renewal(5_000)));
    hang.countDown();
    CompletableFuture.allOf(asking).join();
    assertTrue(sent.getCount() == 0);
  }
}
