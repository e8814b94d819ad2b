package dev.cinch.bag.threads;

import dev.cinch.bag.fs.FaultyFs;
import dev.cinch.bag.fs.FaultyFs.Kind;
import dev.cinch.bag.fs.FaultyFs.Op;
import dev.cinch.bag.fs.MemoryFs;
import dev.cinch.lease.time.TimeSource;
import java.io.IOException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Random;
import java.util.Set;

/**
 * What goes wrong in one process: at points that its threads pass (operations of the filesystem,
 * looks at clocks, requests), drawn from a seed. Thread-safe.
 */
final class Trouble {
  /** What happens to whoever passes. */
  enum What {
    /** The operation fails, before or after it took effect. */
    ERROR,
    /** There is no memory. */
    MEMORY,
    /** The stack is full. */
    OVERFLOW,
    /** Whoever passes stands still until others have gone on. */
    STAND,
    /** The disk is full for one write, which stores a part. */
    FULL,
    /** The passing thread is interrupted. */
    INTERRUPT
  }

  /** Points at which more depends than elsewhere. */
  private static final List<String> CHOSEN =
      List.of(
          "WRITE data",
          "FORCE data",
          "CREATE data",
          "CLOSE data",
          "CREATE prelock",
          "LIST intents",
          "LIST records",
          "CREATE intents",
          "LINK records",
          "LINK lock",
          "FORCE_DIRECTORY bucket",
          "OVERWRITE prelock",
          "MKDIR other",
          "wall",
          "monotonic",
          "random",
          "acquire",
          "renew",
          "release",
          "told of a loss");

  private static final Set<Kind> INTERRUPTIBLE =
      EnumSet.of(Kind.WRITE, Kind.FORCE, Kind.GET, Kind.FORCE_DIRECTORY);

  /** One thing that goes wrong, some times in a row. */
  private static final class Fault {
    final String point;
    final boolean after;
    final What what;
    final long points;
    final String until;
    int countdown;
    int times;
    boolean met;

    Fault(Random random, boolean errors) {
      this.point = random.nextInt(3) == 0 ? "" : CHOSEN.get(random.nextInt(CHOSEN.size()));
      this.after = random.nextBoolean();
      this.what = draw(random, errors);
      this.points = 1L << random.nextInt(9);
      this.until = random.nextBoolean() ? CHOSEN.get(random.nextInt(CHOSEN.size())) : "";
      this.countdown = 1 + random.nextInt(point.isEmpty() ? 300 : 6);
      this.times = random.nextInt(4) == 0 ? 1 + random.nextInt(40) : 1;
    }

    private static What draw(Random random, boolean errors) {
      What[] all = What.values();
      while (true) {
        What what = all[random.nextInt(all.length)];
        if (errors || what != What.MEMORY && what != What.OVERFLOW) {
          return what;
        }
      }
    }
  }

  private final Crew crew;
  private final MemoryFs disk;
  private final List<Fault> faults = new ArrayList<>();
  private final List<Error> made = new ArrayList<>();
  private final List<String> trace = new ArrayList<>();
  private boolean calm = true;

  /**
   * @param errors whether memory and stacks may be full, too
   */
  Trouble(Crew crew, MemoryFs disk, Random random, boolean errors) {
    this.crew = crew;
    this.disk = disk;
    int count = random.nextInt(7);
    for (int i = 0; i < count; i++) {
      faults.add(new Fault(random, errors));
    }
  }

  /** From now on things go wrong. */
  synchronized void begin() {
    calm = false;
  }

  /** Nothing goes wrong any more. */
  synchronized void calm() {
    calm = true;
    disk.setSpace(Long.MAX_VALUE);
  }

  /** Whether this came of trouble of ours, directly or not. */
  synchronized boolean made(Throwable e) {
    for (Throwable t = e; t != null; t = t.getCause()) {
      for (Error error : made) {
        if (error == t) {
          return true;
        }
      }
    }
    return false;
  }

  synchronized void note(String what) {
    trace.add(Thread.currentThread().getName() + ": " + what);
  }

  synchronized String trace() {
    int from = Math.max(0, trace.size() - 20_000);
    return String.join("\n", trace.subList(from, trace.size()));
  }

  /** A filesystem that has it. */
  FaultyFs fs(FaultyFs fs) {
    fs.before(
        op -> {
          if (INTERRUPTIBLE.contains(op.kind()) && Thread.currentThread().isInterrupted()) {
            throw new ClosedByInterruptException();
          }
          meet(op.kind() + " " + role(op), false);
        });
    fs.after(op -> meet(op.kind() + " " + role(op), true));
    return fs;
  }

  /** Clocks that have it, whose sleeps can be interrupted. */
  TimeSource time(TimeSource time) {
    return new TimeSource() {
      @Override
      public long wallNanos() {
        pass("wall");
        return time.wallNanos();
      }

      @Override
      public long monotonicNanos() {
        pass("monotonic");
        return time.monotonicNanos();
      }

      @Override
      public void sleepNanos(long nanos) throws InterruptedException {
        if (Thread.interrupted()) {
          throw new InterruptedException();
        }
        pass("sleep");
        time.sleepNanos(nanos);
      }
    };
  }

  /** A generator that has it. */
  Random random(long seed) {
    return new Random(seed) {
      private static final long serialVersionUID = 1;

      @Override
      public long nextLong() {
        pass("random");
        return super.nextLong();
      }
    };
  }

  /** A point where no operation can fail. */
  void pass(String point) {
    try {
      meet(point, false);
    } catch (IOException e) {
      note("nothing fails here");
    }
  }

  private static String role(Op op) {
    Path path = op.path();
    String name = String.valueOf(path.getFileName());
    if (name.startsWith("tmp-")) {
      return "temporary";
    }
    if (name.endsWith(".log")) {
      return "data";
    }
    if (name.equals("prelock") || name.equals("lock")) {
      return name;
    }
    for (Path p = path; p != null && p.getFileName() != null; p = p.getParent()) {
      String part = p.getFileName().toString();
      if (part.equals("intents") || part.equals("records")) {
        return part;
      }
      if (part.equals("buckets")) {
        return "bucket";
      }
    }
    return "other";
  }

  /** Somebody passes a point: before or after what happens there. */
  void meet(String point, boolean after) throws IOException {
    crew.pass();
    Fault fault;
    synchronized (this) {
      trace.add(Thread.currentThread().getName() + (after ? ": after " : ": ") + point);
      faults.forEach(f -> f.met |= point.equals(f.until));
      fault = calm ? null : next(point, after);
      if (fault == null) {
        return;
      }
      trace.add("    " + fault.what);
      if (fault.what == What.FULL) {
        disk.setSpace(fault.points);
      }
      fault.met = false;
    }
    switch (fault.what) {
      case ERROR -> throw new IOException("made by a test");
      case MEMORY -> throw keep(new OutOfMemoryError("made by a test"));
      case OVERFLOW -> throw keep(new StackOverflowError("made by a test"));
      case STAND -> crew.standStill(fault.points, () -> met(fault));
      case INTERRUPT -> crew.interruptMyself();
      case FULL -> {}
    }
  }

  private synchronized boolean met(Fault fault) {
    return calm || fault.met;
  }

  private synchronized Error keep(Error e) {
    made.add(e);
    return e;
  }

  private Fault next(String point, boolean after) {
    disk.setSpace(Long.MAX_VALUE); // it was full for one operation
    for (Fault f : faults) {
      boolean here = f.point.isEmpty() || f.point.equals(point) && f.after == after;
      if (here && f.times > 0 && --f.countdown <= 0) {
        f.times--;
        return f;
      }
    }
    return null;
  }
}
