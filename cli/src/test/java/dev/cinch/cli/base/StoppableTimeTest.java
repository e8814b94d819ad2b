package dev.cinch.cli.base;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.cinch.lease.Between;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseService;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.time.SystemTime;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Waits in a service's queue, and signals. */
@Timeout(600)
class StoppableTimeTest {
  private static final int TERM = 15;
  private static final Operation.Acquire REQUEST =
      new Operation.Acquire(
          new Id(0, 1), List.of(new LeaseName("a")), "tester", 1_000, LogSet.ALL, false);

  private final Stop stop = Stop.byHand();
  private final StoppableTime time = new StoppableTime(SystemTime.INSTANCE, stop);
  private final CountDownLatch queued = new CountDownLatch(1);
  private final CountDownLatch granted = new CountDownLatch(1);

  /** Like the client over HTTP, which says that no answer came when it is interrupted. */
  private LeaseService service() {
    return Between.of(
        LeaseService.class,
        call -> {
          if (((Operation.Acquire) call.args()[0]).waitMs() > 0) {
            queued.countDown();
            try {
              granted.await();
            } catch (InterruptedException e) {
              Thread.currentThread().interrupt();
            }
          }
          throw new LeaseUnavailableException("no answer", null);
        });
  }

  private FutureTask<Boolean> waiting() throws Exception {
    var task =
        new FutureTask<>(
            () -> {
              try {
                var unused = time.queued(60_000).ask(service(), REQUEST);
              } finally {
                assertFalse(Thread.currentThread().isInterrupted()); // files would be closed by it
              }
              return true;
            });
    new Thread(task).start();
    queued.await();
    return task;
  }

  @Test
  void aSignalEndsAWaitInTheQueue() throws Exception {
    FutureTask<Boolean> waiting = waiting();
    stop.arrived(TERM);
    var e = assertThrows(ExecutionException.class, waiting::get);
    assertInstanceOf(InterruptedException.class, e.getCause());
    assertEquals("stopped by SIGTERM", e.getCause().getMessage());
  }

  @Test
  void afterASignalNobodyQueues() {
    stop.arrived(TERM);
    assertThrows(
        LeaseUnavailableException.class, () -> time.queued(60_000).ask(service(), REQUEST));
    assertEquals(1, queued.getCount());
  }

  @Test
  void onceMessagesAreOnTheirWayItWaitsOn() throws Exception {
    time.settle();
    FutureTask<Boolean> waiting = waiting();
    stop.arrived(TERM);
    assertFalse(waiting.isDone());
    granted.countDown();
    var e = assertThrows(ExecutionException.class, waiting::get);
    assertInstanceOf(LeaseUnavailableException.class, e.getCause());
  }
}
