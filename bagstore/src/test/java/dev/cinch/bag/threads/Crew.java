package dev.cinch.bag.threads;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;

/**
 * The threads of one world, those that Cinch starts included: who stands still waits here until
 * others have gone on, and who interrupts whom is counted here. Thread-safe.
 */
final class Crew {
  /** What hangs ends after so long, as a failure; nothing else depends on it. */
  private static final long PATIENCE_S = 120;

  /** Java 17 keeps groups for ever, so this one must not keep its world. */
  private static final class Group extends ThreadGroup {
    volatile Consumer<Throwable> uncaught = e -> {};

    Group(String name) {
      super(name);
    }

    @Override
    public void uncaughtException(Thread thread, Throwable e) {
      uncaught.accept(e);
    }
  }

  private final Group group;

  static {
    // The one thread that Java has for all timeouts of futures: it never ends, and is none of ours.
    CompletableFuture.delayedExecutor(1, TimeUnit.NANOSECONDS).execute(() -> {});
  }

  private final List<Thread> actors = new ArrayList<>();
  private final Set<Thread> standing = new HashSet<>();
  private final Map<Thread, int[]> interrupts = new ConcurrentHashMap<>();
  private volatile long passed;

  /**
   * @param uncaught told of what ended a thread
   */
  Crew(String name, Consumer<Throwable> uncaught) {
    group = new Group(name);
    group.uncaught = uncaught;
  }

  void add(String name, Runnable work) {
    var thread = new Thread(group, work, name);
    thread.setDaemon(true);
    interrupts.put(thread, new int[2]);
    actors.add(thread);
  }

  int size() {
    return actors.size();
  }

  void start() {
    actors.forEach(Thread::start);
  }

  /** Somebody has passed a point. */
  synchronized void pass() {
    passed++;
  }

  /** Does work on a thread of this crew, so that the threads it starts are of it, too. */
  void run(Runnable work) {
    var thread = new Thread(group, work, "main");
    thread.setDaemon(true);
    thread.start();
    await("the end of main", () -> !thread.isAlive());
  }

  /**
   * Stands still until others have passed so many points or met what is waited for, or none of them
   * can go on.
   */
  void standStill(long points, BooleanSupplier met) {
    Thread me = Thread.currentThread();
    long until;
    synchronized (this) {
      standing.add(me);
      until = passed + points;
    }
    int idle = 0;
    while (passed < until && !met.getAsBoolean() && idle < 3) {
      idle = othersStand(me) ? idle + 1 : 0;
      Thread.yield();
    }
    synchronized (this) {
      standing.remove(me);
    }
  }

  private boolean othersStand(Thread me) {
    var all = new Thread[64];
    int count = group.enumerate(all);
    for (int i = 0; i < count; i++) {
      if (all[i] != me && canGoOn(all[i])) {
        return false;
      }
    }
    return true;
  }

  private boolean canGoOn(Thread t) {
    synchronized (this) {
      if (standing.contains(t)) {
        return false;
      }
    }
    Thread.State state = t.getState();
    return state == Thread.State.RUNNABLE || state == Thread.State.NEW;
  }

  /** Interrupts one of the actors; the present thread if it is none of them. */
  void interrupt(int number) {
    interrupt(actors.get(number));
  }

  void interruptMyself() {
    interrupt(Thread.currentThread());
  }

  private void interrupt(Thread t) {
    int[] count = interrupts.get(t);
    if (count == null) {
      t.interrupt();
      return;
    }
    synchronized (count) {
      count[0]++;
      t.interrupt();
    }
  }

  /**
   * Clears the present thread's interrupt.
   *
   * @return whether one was lost since the last call
   */
  boolean lostInterrupt() {
    int[] count = interrupts.get(Thread.currentThread());
    if (count == null) {
      return false;
    }
    synchronized (count) {
      boolean lost = !Thread.interrupted() && count[0] != count[1];
      count[1] = count[0];
      return lost;
    }
  }

  /** Waits until every actor has ended. */
  void join() {
    for (Thread t : actors) {
      await("the end of " + t.getName(), () -> !t.isAlive());
    }
  }

  /** Waits until every thread has ended, those of Cinch too. */
  void joinAll() {
    await("the end of all threads", () -> group.activeCount() == 0);
    group.uncaught = e -> {};
  }

  /** Waits for what must happen by itself. */
  void await(String what, BooleanSupplier happened) {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_S);
    while (!happened.getAsBoolean()) {
      if (System.nanoTime() - end > 0) {
        throw new AssertionError("waited in vain for " + what + dump());
      }
      Thread.yield();
    }
  }

  private String dump() {
    var text = new StringBuilder();
    var all = new Thread[64];
    int count = group.enumerate(all);
    for (int i = 0; i < count; i++) {
      text.append('\n').append(all[i].getName()).append(' ').append(all[i].getState());
      for (StackTraceElement at : all[i].getStackTrace()) {
        text.append("\n    ").append(at);
      }
    }
    return text.toString();
  }
}
