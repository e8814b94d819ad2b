package dev.cinch.lease.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.server.Workers.Lane;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Who is carried out when. */
@Timeout(600)
final class WorkersTest {
  private static final int THREADS = 3;

  private final Workers workers = new Workers(THREADS);
  private final BlockingQueue<String> done = new LinkedBlockingQueue<>();
  private final Semaphore running = new Semaphore(0);
  private final Semaphore release = new Semaphore(0);

  @AfterEach
  void end() {
    release.release(1_000);
    workers.close();
  }

  private void hang(Lane lane) {
    assertTrue(
        workers.submit(
            lane,
            () -> {
              running.release();
              awaitRelease();
            }));
  }

  private void awaitRelease() {
    release.acquireUninterruptibly();
  }

  @Test
  void holdersAreServedWhileAllOthersHang() throws Exception {
    for (int i = 0; i < 20; i++) {
      hang(i % 2 == 0 ? Lane.OTHERS : Lane.LARGE);
    }
    running.acquire(THREADS + Workers.MAX_LARGE);
    for (int i = 0; i < 10; i++) {
      assertTrue(workers.submit(Lane.HOLDERS, () -> done.add("holder")));
      assertEquals("holder", done.take());
    }
    assertFalse(running.tryAcquire());
  }

  @Test
  void whatWaitsIsBoundedButForHolders() throws Exception {
    for (int i = 0; i < THREADS; i++) {
      hang(Lane.OTHERS);
    }
    for (int i = 0; i < Workers.MAX_LARGE; i++) {
      hang(Lane.LARGE);
    }
    running.acquire(THREADS + Workers.MAX_LARGE);
    for (int i = 0; i < Workers.MAX_WAITING; i++) {
      assertTrue(workers.submit(Lane.OTHERS, () -> {}));
    }
    assertFalse(workers.submit(Lane.OTHERS, () -> {}));
    for (int i = 0; i < Workers.MAX_LARGE_WAITING; i++) {
      assertTrue(workers.submit(Lane.LARGE, () -> {}));
    }
    assertFalse(workers.submit(Lane.LARGE, () -> {}));
    assertTrue(workers.submit(Lane.HOLDERS, () -> done.add("holder")));
    assertEquals("holder", done.take());
  }

  @Test
  void onlyAFewLargeOnesRunAtOnce() throws Exception {
    for (int i = 0; i < Workers.MAX_LARGE + 1; i++) {
      hang(Lane.LARGE);
    }
    running.acquire(Workers.MAX_LARGE);
    assertTrue(workers.submit(Lane.OTHERS, () -> done.add("other")));
    assertEquals("other", done.take());
    assertFalse(running.tryAcquire());
  }

  @Test
  void whatTasksThrowEndsNoThread() throws Exception {
    for (int i = 0; i < 3 * THREADS; i++) {
      assertTrue(
          workers.submit(
              Lane.HOLDERS,
              () -> {
                throw new IllegalStateException("made by a test");
              }));
    }
    for (int i = 0; i < 3; i++) {
      assertTrue(workers.submit(Lane.OTHERS, () -> done.add("done")));
    }
    assertEquals(List.of("done", "done", "done"), List.of(done.take(), done.take(), done.take()));
  }
}
