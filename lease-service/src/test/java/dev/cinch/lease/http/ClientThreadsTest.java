package dev.cinch.lease.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Threads that are all started at the beginning, and end when they are not needed any more. */
@Timeout(600)
final class ClientThreadsTest {
  private static final long OFTEN_MS = 1;

  private final ConcurrentLinkedQueue<Thread> made = new ConcurrentLinkedQueue<>();

  @Test
  void noneIsStartedLaterWhateverTasksThrow() throws Exception {
    ClientThreads threads = ClientThreads.start(this::make, OFTEN_MS);
    assertEquals(ClientThreads.COUNT, made.size());
    List<Thread> atFirst = List.copyOf(made);
    for (int i = 0; i < 3 * ClientThreads.COUNT; i++) {
      threads.execute(
          () -> {
            throw new IllegalStateException("a task that fails");
          });
      threads.execute(
          () -> {
            throw new OutOfMemoryError("a task that lacks something");
          });
      threads.execute(() -> Thread.currentThread().interrupt());
    }
    // As many at once as there are threads: each waits for the others.
    var all = new CountDownLatch(ClientThreads.COUNT);
    var done = new CountDownLatch(ClientThreads.COUNT);
    for (int i = 0; i < ClientThreads.COUNT; i++) {
      threads.execute(
          () -> {
            all.countDown();
            await(all);
            done.countDown();
          });
    }
    done.await();
    assertEquals(atFirst, List.copyOf(made));
    assertTrue(atFirst.stream().allMatch(Thread::isAlive));
    threads.execute(() -> {}); // Referred to until here.
  }

  @Test
  void theyEndWhenNobodyRefersToThemAnyMore() throws Exception {
    runOnce();
    endAll();
  }

  @Test
  void whenOneCanNotBeStartedTheOthersEnd() throws Exception {
    assertThrows(
        OutOfMemoryError.class,
        () ->
            ClientThreads.start(
                task -> {
                  if (made.size() == ClientThreads.COUNT - 1) {
                    throw new OutOfMemoryError("no native thread");
                  }
                  return make(task);
                },
                OFTEN_MS));
    endAll();
  }

  /** In a method of its own, so that nothing of it is left on the stack. */
  private void runOnce() throws InterruptedException {
    ClientThreads threads = ClientThreads.start(this::make, OFTEN_MS);
    var ran = new CountDownLatch(1);
    threads.execute(ran::countDown);
    ran.await();
  }

  private void endAll() throws InterruptedException {
    for (Thread thread : made) {
      while (thread.isAlive()) {
        System.gc();
        thread.join(OFTEN_MS);
      }
    }
  }

  private Thread make(Runnable task) {
    var thread = new Thread(task, "client-" + made.size());
    thread.setDaemon(true);
    made.add(thread);
    return thread;
  }

  private static void await(CountDownLatch latch) {
    while (true) {
      try {
        latch.await();
        return;
      } catch (InterruptedException e) {
        // One of the interrupts above, which are this thread's own.
      }
    }
  }
}
