package dev.cinch.bag.storage.object;

import com.google.errorprone.annotations.CheckReturnValue;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * Threads that begin at once. As many requests are under way, each over a connection of its own.
 * Not thread-safe.
 */
@CheckReturnValue
final class Crowd implements AutoCloseable {
  static final int SIZE = 32;

  private final ExecutorService threads =
      Executors.newFixedThreadPool(
          SIZE,
          work -> {
            var thread = new Thread(work, "cinch-probe");
            thread.setDaemon(true);
            return thread;
          });
  private final CyclicBarrier start = new CyclicBarrier(SIZE);

  /** What each of them does. */
  interface Work<T> {
    T of(int number) throws IOException;
  }

  /**
   * All do it, and all have done it when this returns.
   *
   * @param work gets numbers from 0
   * @return what came of it, in the order of the numbers
   * @throws IOException what one of them met
   */
  <T> List<T> all(Work<T> work) throws IOException {
    var tasks = new ArrayList<Callable<T>>();
    for (int i = 0; i < SIZE; i++) {
      int number = i;
      tasks.add(
          () -> {
            await();
            return work.of(number);
          });
    }
    var done = new ArrayList<T>();
    try {
      for (Future<T> one : threads.invokeAll(tasks)) {
        done.add(one.get());
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw (IOException) new InterruptedIOException("interrupted").initCause(e);
    } catch (ExecutionException e) {
      if (e.getCause() instanceof IOException met) {
        throw met;
      }
      throw new IllegalStateException(e.getCause());
    }
    return done;
  }

  private void await() throws InterruptedException {
    try {
      int unused = start.await();
    } catch (BrokenBarrierException e) { // another one was interrupted, and so are all
      throw (InterruptedException) new InterruptedException().initCause(e);
    }
  }

  @Override
  public void close() {
    var unused = threads.shutdownNow();
  }
}
