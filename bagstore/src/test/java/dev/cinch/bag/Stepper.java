package dev.cinch.bag;

import dev.cinch.bag.fs.FaultyFs;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.fs.TestTime;
import dev.cinch.lease.time.TimeSource;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.jspecify.annotations.Nullable;

/**
 * Runs processes one file operation at a time, in an order drawn from a seed. Each process is a
 * thread that may only run between the moment it is given the permit and its next operation or
 * sleep, so a seed always gives the same run.
 */
final class Stepper {
  private enum State {
    WAITING,
    RUNNING,
    DONE
  }

  /** What a process does. */
  interface Body {
    void run() throws Exception;
  }

  private final Random random;
  private final Map<String, State> states = new LinkedHashMap<>();
  private final List<Thread> threads = new ArrayList<>();
  private final List<String> trace = new ArrayList<>();
  private @Nullable Throwable failure;

  Stepper(long seed) {
    this.random = new Random(seed);
  }

  /** The filesystem of a process. */
  FaultyFs fs(String process, dev.cinch.bag.fs.MemoryFs disk, int uid) {
    StoreFs view = disk.view(uid, () -> gate(process, "mode"));
    var faulty = new FaultyFs(view);
    faulty.before(op -> gate(process, op.kind() + " " + shortened(op.path())));
    return faulty;
  }

  private static Path shortened(Path path) {
    int n = path.getNameCount();
    return n < 3 ? path : path.subpath(n - 2, n);
  }

  /** The clock of a process, whose sleeps are steps too. */
  TimeSource time(String process, TestTime time) {
    return new TimeSource() {
      @Override
      public long wallNanos() {
        return time.wallNanos();
      }

      @Override
      public long monotonicNanos() {
        return time.monotonicNanos();
      }

      @Override
      public void sleepNanos(long nanos) {
        gate(process, "SLEEP " + nanos);
        time.sleepNanos(nanos);
      }
    };
  }

  void process(String name, Body body) {
    states.put(name, State.WAITING);
    var thread =
        new Thread(
            () -> {
              Throwable problem = null;
              try {
                gate(name, "start");
                body.run();
              } catch (FaultyFs.Crash e) {
                problem = null; // the process ended; the others finish what it left
              } catch (Throwable e) {
                problem = e;
              }
              done(name, problem);
            },
            name);
    thread.setDaemon(true);
    threads.add(thread);
  }

  private synchronized void done(String name, @Nullable Throwable problem) {
    if (problem != null && failure == null) {
      failure = problem;
    }
    states.put(name, State.DONE);
    notifyAll();
  }

  private synchronized void gate(String name, String what) {
    if (states.get(name) == null || Thread.currentThread().getName().equals("main")) {
      return; // not yet one of the processes that are stepped
    }
    states.put(name, State.WAITING);
    notifyAll();
    boolean interrupted = false;
    while (states.get(name) != State.RUNNING) {
      try {
        wait();
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
    trace.add(name + " " + what);
  }

  /** Runs all processes to their end, in random order, in bursts of random length. */
  void run() throws Exception {
    threads.forEach(Thread::start);
    synchronized (this) {
      while (true) {
        while (states.containsValue(State.RUNNING)) {
          wait();
        }
        List<String> waiting =
            states.entrySet().stream()
                .filter(e -> e.getValue() == State.WAITING)
                .map(Map.Entry::getKey)
                .toList();
        if (waiting.isEmpty()) {
          break;
        }
        states.put(next(waiting), State.RUNNING);
        notifyAll();
      }
    }
    for (Thread t : threads) {
      t.join();
    }
    if (failure != null) {
      throw new AssertionError("a process failed", failure);
    }
  }

  private String last = "";
  private int burst;

  private String next(List<String> waiting) {
    if (burst > 0 && waiting.contains(last)) {
      burst--;
      return last;
    }
    last = waiting.get(random.nextInt(waiting.size()));
    burst =
        switch (random.nextInt(8)) { // from one operation to as many as a whole advance
          case 0 -> random.nextInt(400);
          case 1, 2 -> random.nextInt(60);
          default -> random.nextInt(4);
        };
    return last;
  }

  synchronized List<String> trace() {
    return List.copyOf(trace);
  }
}
