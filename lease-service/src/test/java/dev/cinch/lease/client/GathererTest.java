package dev.cinch.lease.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseService;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.Operation;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(600)
final class GathererTest {
  /** One request, which its test answers. */
  private record Sent(List<Long> ids, Semaphore answer) {}

  private final BlockingQueue<Sent> requests = new LinkedBlockingQueue<>();
  private final Gatherer<Long> held = new Gatherer<>(this::hold);
  private final List<Thread> threads = new ArrayList<>();

  private static Operation operation(long id) {
    return new Operation.Upgrade(new Id(0, id), 1);
  }

  private List<Long> hold(List<Operation> operations) throws LeaseUnavailableException {
    List<Long> ids = operations.stream().map(o -> ((Operation.Secret) o).id().low()).toList();
    var sent = new Sent(ids, new Semaphore(0));
    requests.add(sent);
    sent.answer().acquireUninterruptibly();
    if (ids.contains(13L)) {
      throw new LeaseUnavailableException("no answer", null);
    }
    if (ids.contains(666L)) {
      throw new OutOfMemoryError("made by a test");
    }
    return ids;
  }

  private <T> FutureTask<T> start(Callable<T> call) {
    var task = new FutureTask<>(call);
    var thread = new Thread(task);
    threads.add(thread);
    thread.start();
    return task;
  }

  private FutureTask<Long> call(long id) {
    return start(() -> held.call(operation(id)));
  }

  /** Until the thread started last waits for another one's request. */
  private void untilItWaits() {
    Thread last = threads.get(threads.size() - 1);
    while (last.getState() != Thread.State.WAITING) {
      Thread.onSpinWait();
    }
  }

  @Test
  void oneAloneIsSentAtOnceInItsOwnThread() throws Exception {
    Thread self = Thread.currentThread();
    var alone =
        new Gatherer<>(
            operations -> {
              assertEquals(self, Thread.currentThread());
              return operations;
            });
    assertEquals(operation(1), alone.call(operation(1)));
    assertEquals(operation(2), alone.call(operation(2)));
  }

  @Test
  void whatComesWhileTwoAreUnderWayIsSentAsOne() throws Exception {
    FutureTask<Long> first = call(1);
    Sent one = requests.take();
    FutureTask<Long> second = call(2);
    Sent two = requests.take();
    var others = new ArrayList<FutureTask<Long>>();
    for (long id = 3; id <= 9; id++) {
      others.add(call(id));
      untilItWaits();
    }
    assertTrue(requests.isEmpty());
    one.answer().release();
    assertEquals(1, first.get());
    Sent gathered = requests.take();
    assertEquals(List.of(3L, 4L, 5L, 6L, 7L, 8L, 9L), gathered.ids());
    two.answer().release();
    assertEquals(2, second.get());
    gathered.answer().release();
    for (int i = 0; i < others.size(); i++) {
      assertEquals(3 + i, others.get(i).get());
    }
    FutureTask<Long> next = call(10);
    Sent last = requests.take();
    assertEquals(List.of(10L), last.ids());
    last.answer().release();
    assertEquals(10, next.get());
  }

  @Test
  void whereSeveralAskedLatelyOthersMayComeBeforeARequestIsSent() throws Exception {
    var come = new LinkedBlockingQueue<Runnable>();
    var yielding =
        new Gatherer<Long>(
            this::hold,
            () -> {
              Runnable next = come.poll();
              if (next != null) {
                next.run();
              }
            });
    FutureTask<Long> first = start(() -> yielding.call(operation(1)));
    Sent one = requests.take();
    // Nobody asked beside it: the next one waits for nobody either.
    FutureTask<Long> second = start(() -> yielding.call(operation(2)));
    Sent two = requests.take();
    for (long id = 3; id <= 5; id++) {
      long other = id;
      start(() -> yielding.call(operation(other)));
      untilItWaits();
    }
    one.answer().release();
    Sent gathered = requests.take();
    assertEquals(List.of(3L, 4L, 5L), gathered.ids());
    // What comes while the next sender yields goes with it.
    come.add(
        () -> {
          start(() -> yielding.call(operation(7)));
          untilItWaits();
        });
    two.answer().release();
    FutureTask<Long> next = start(() -> yielding.call(operation(6)));
    Sent both = requests.take();
    assertEquals(List.of(6L, 7L), both.ids());
    both.answer().release();
    gathered.answer().release();
    assertEquals(List.of(1L, 2L, 6L), List.of(first.get(), second.get(), next.get()));
  }

  @Test
  void aRequestWithoutAnAnswerFailsAllOfItAndNothingElse() throws Exception {
    FutureTask<Long> first = call(1);
    Sent one = requests.take();
    FutureTask<Long> second = call(2);
    Sent two = requests.take();
    FutureTask<Long> third = call(13);
    untilItWaits();
    FutureTask<Long> fourth = call(4);
    untilItWaits();
    one.answer().release();
    Sent gathered = requests.take();
    FutureTask<Long> fifth = call(5);
    untilItWaits();
    gathered.answer().release();
    for (FutureTask<Long> failed : List.of(third, fourth)) {
      Throwable e = assertThrows(ExecutionException.class, failed::get).getCause();
      assertEquals("no answer", assertInstanceOf(LeaseUnavailableException.class, e).getMessage());
    }
    Sent after = requests.take();
    after.answer().release();
    two.answer().release();
    assertEquals(List.of(5L), after.ids());
    assertEquals(List.of(1L, 2L, 5L), List.of(first.get(), second.get(), fifth.get()));
  }

  /** For want of memory, say. */
  @Test
  void nobodyIsLeftWaitingWhateverTheSenderThrows() throws Exception {
    FutureTask<Long> first = call(1);
    Sent one = requests.take();
    FutureTask<Long> second = call(2);
    Sent two = requests.take();
    FutureTask<Long> third = call(666);
    untilItWaits();
    FutureTask<Long> fourth = call(4);
    untilItWaits();
    one.answer().release();
    requests.take().answer().release();
    assertInstanceOf(
        OutOfMemoryError.class, assertThrows(ExecutionException.class, third::get).getCause());
    assertInstanceOf(
        LeaseUnavailableException.class,
        assertThrows(ExecutionException.class, fourth::get).getCause());
    two.answer().release();
    FutureTask<Long> after = call(5);
    requests.take().answer().release();
    assertEquals(List.of(1L, 2L, 5L), List.of(first.get(), second.get(), after.get()));
  }

  /** The first of those that wait is the one that would send them. */
  @Test
  void anInterruptedThreadGoesAndTheOthersAreSent() throws Exception {
    FutureTask<Long> first = call(1);
    Sent one = requests.take();
    FutureTask<Long> second = call(2);
    Sent two = requests.take();
    FutureTask<Boolean> third =
        start(
            () -> {
              assertThrows(LeaseUnavailableException.class, () -> held.call(operation(3)));
              return Thread.currentThread().isInterrupted();
            });
    untilItWaits();
    FutureTask<Long> fourth = call(4);
    untilItWaits();
    threads.get(2).interrupt();
    assertTrue(third.get());
    one.answer().release();
    Sent gathered = requests.take();
    assertEquals(List.of(4L), gathered.ids());
    gathered.answer().release();
    two.answer().release();
    assertEquals(List.of(1L, 2L, 4L), List.of(first.get(), second.get(), fourth.get()));
  }

  @Test
  void aRequestHasAtMostAThousand() throws Exception {
    FutureTask<Long> first = call(1);
    Sent one = requests.take();
    FutureTask<Long> second = call(2);
    Sent two = requests.take();
    var others = new ArrayList<FutureTask<Long>>();
    int count = LeaseService.MAX_OPERATIONS + 200;
    for (int i = 0; i < count; i++) {
      others.add(call(1_000 + i));
    }
    threads.forEach(
        t -> {
          while (t.getState() != Thread.State.WAITING) {
            Thread.onSpinWait();
          }
        });
    one.answer().release();
    Sent many = requests.take();
    two.answer().release();
    Sent rest = requests.take();
    assertEquals(LeaseService.MAX_OPERATIONS, many.ids().size());
    assertEquals(200, rest.ids().size());
    many.answer().release();
    rest.answer().release();
    for (int i = 0; i < count; i++) {
      assertEquals(1_000 + i, others.get(i).get());
    }
    assertEquals(List.of(1L, 2L), List.of(first.get(), second.get()));
  }

  /**
   * Many threads, and interrupts in between: each gets its own answer, and the role is not lost.
   */
  @Test
  void eachGetsItsOwnAnswer() throws Exception {
    var seen = new ConcurrentLinkedQueue<Long>();
    var busy =
        new Gatherer<>(
            operations -> {
              Thread.yield();
              List<Long> ids =
                  operations.stream().map(o -> ((Operation.Secret) o).id().low()).toList();
              seen.addAll(ids);
              return ids;
            });
    var tasks = new ArrayList<FutureTask<Integer>>();
    for (int t = 0; t < 16; t++) {
      int thread = t;
      tasks.add(
          start(
              () -> {
                int interrupted = 0;
                for (int i = 0; i < 500; i++) {
                  long id = thread * 1_000L + i;
                  try {
                    assertEquals(id, busy.call(operation(id)));
                  } catch (LeaseUnavailableException e) {
                    assertTrue(Thread.interrupted());
                    interrupted++;
                  }
                }
                return interrupted;
              }));
    }
    for (int i = 0; i < 200; i++) {
      threads.get(i % 4).interrupt();
      Thread.yield();
    }
    int interrupted = 0;
    for (FutureTask<Integer> task : tasks) {
      interrupted += task.get();
    }
    Set<Long> once = new HashSet<>(seen);
    assertEquals(seen.size(), once.size());
    assertTrue(once.size() >= 16 * 500 - interrupted);
    assertEquals(99_999, busy.call(operation(99_999)));
  }
}
