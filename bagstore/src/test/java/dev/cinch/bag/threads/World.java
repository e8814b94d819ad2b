package dev.cinch.bag.threads;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Log;
import dev.cinch.bag.Rig;
import dev.cinch.bag.Store;
import dev.cinch.bag.audit.LeaseAuditor;
import dev.cinch.bag.audit.StoreVerifier;
import dev.cinch.bag.fs.FaultyFs;
import dev.cinch.bag.model.Receipt;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.bag.write.MessageRefusedException;
import dev.cinch.bag.write.PendingReceipt;
import dev.cinch.lease.time.TimeSource;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.Queue;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Several threads of one process, its trouble, and what must hold once they have come to rest. The
 * seed fixes what each thread does and what goes wrong, not who comes first.
 */
abstract class World {
  private static final int MS = 1_000_000;

  /** A message that a caller handed over, and to which writer or session. */
  record Sent(String text, PendingReceipt pending, Object to, boolean needsThread) {}

  /** What one thread does next. */
  interface Step {
    void run() throws Exception;
  }

  final Rig rig;
  final Crew crew;
  final Trouble trouble;

  /** Of those who have none. */
  final Trouble calm;

  final FaultyFs fs;
  final TimeSource time;
  final Told told = new Told();
  final Queue<Sent> sent = new ConcurrentLinkedQueue<>();

  /** As the process has it that has the trouble. */
  final Store store;

  final Log log;

  /** As others have it. */
  final Store elsewhere;

  final boolean errors;
  private final boolean large;
  private final long seed;
  private final AtomicReference<Throwable> failure = new AtomicReference<>();

  World(long seed, StoreSettings settings) throws IOException {
    this.seed = seed;
    var random = new Random(seed * 0x9E3779B97F4A7C15L);
    this.rig = Rig.memory(seed, settings);
    this.crew = new Crew("world-" + seed, this::uncaught);
    this.errors = random.nextInt(3) == 0;
    this.large = random.nextInt(50) == 0;
    this.trouble = new Trouble(crew, rig.disk, random, errors);
    this.fs = new FaultyFs(rig.disk.view(Rig.ALICE));
    this.time = trouble.time(rig.time);
    this.calm = new Trouble(crew, rig.disk, random, false);
    this.elsewhere = Store.open(rig.root, rig.environment(rig.disk.view(Rig.ALICE), rig.time));
    this.store = open(new Random(~seed));
    this.log = store.log(Rig.JOBS);
    int actors = 2 + random.nextInt(4);
    for (int i = 0; i < actors; i++) {
      String name = "a" + i;
      var own = new Random(random.nextLong());
      crew.add(name, () -> act(name, own));
    }
  }

  Store open(Random random) throws IOException {
    Store.Environment e = rig.environment(fs, time);
    return Store.open(
        rig.root, new Store.Environment(fs, e.machine(), time, trouble.random(random.nextLong())));
  }

  /** Makes what the threads share, on a thread of theirs; nothing goes wrong yet. */
  abstract void begin() throws Exception;

  /** One thing that a thread of the process does. */
  abstract Step draw(Caller caller, Random random) throws Exception;

  /** Ends what was begun; nothing goes wrong any more. */
  abstract void end() throws Exception;

  /** What else must hold of what is settled. */
  abstract void check() throws Exception;

  /** The logs there are, as others have them. */
  List<Log> logs() throws IOException {
    return elsewhere.whole(elsewhere.logs());
  }

  /** Lets everything happen, and checks it. */
  void run() throws Exception {
    trouble.fs(fs);
    try {
      crew.run(() -> attempt(this::begin));
      failIfFailed();
      trouble.begin();
      crew.start();
      crew.join();
      trouble.calm();
      trouble.note("calm");
      failIfFailed();
      crew.run(() -> attempt(this::rest));
      failIfFailed();
      crew.joinAll();
      assertEquals(0, fs.openFiles(), "files left open");
      for (Log l : logs()) {
        rig.settle(l);
        told.check(l, Told.read(l, false), errors);
      }
      check();
      var found = new ArrayList<String>();
      Store.Environment reader = rig.environment(rig.disk.view(Rig.ALICE), rig.time);
      boolean intact = StoreVerifier.verify(rig.root, reader, f -> found.add(f + "")).intact();
      assertTrue(intact, () -> "verify: " + found);
      assertEquals(List.of(), LeaseAuditor.audit(elsewhere).violations(), "audit");
    } catch (Exception | AssertionError e) {
      throw new AssertionError(
          "seed %d: %s\n%s\n(all: -Dcinch.threads.from=%d -Dcinch.threads.runs=1)"
              .formatted(seed, e, trouble.trace(), seed),
          e);
    }
  }

  private void failIfFailed() {
    Throwable e = failure.get();
    if (e != null) {
      throw new AssertionError(e.toString(), e);
    }
  }

  private void act(String name, Random random) {
    var caller = new Caller(name);
    try {
      int steps = 4 + random.nextInt(12);
      for (int i = 0; i < steps; i++) {
        Step step = draw(caller, random);
        try {
          step.run();
        } catch (InterruptedException e) {
          Thread.currentThread().interrupt(); // as whoever throws it has cleared it
        }
        if (crew.lostInterrupt()) {
          throw new AssertionError("an interrupt was lost");
        }
      }
    } catch (Throwable e) {
      failed(e);
    }
  }

  private void uncaught(Throwable e) {
    if (!errors || !trouble.made(e)) {
      failed(e);
    }
  }

  private void failed(Throwable e) {
    failure.compareAndSet(null, e);
    trouble.note("failed: " + e);
    trouble.calm();
  }

  /** Whoever waits gets a verdict, and so does what nobody waits for. */
  private void rest() throws Exception {
    for (Sent s : sent) {
      if (s.needsThread()) {
        crew.await("the verdict of " + s.text(), () -> s.pending().isDone() || errors);
      }
    }
    end();
    for (Sent s : sent) {
      await(s);
    }
  }

  private void attempt(Step step) {
    try {
      step.run();
    } catch (Throwable e) {
      failed(e);
    }
  }

  /** Passes on what did not come of the trouble. */
  void permit(Throwable e) throws Exception {
    if (errors && trouble.made(e)) {
      trouble.note("met " + e);
    } else if (e instanceof Error error) {
      throw error;
    } else {
      throw (Exception) e;
    }
  }

  /** Waits for a verdict. */
  void await(Sent s) throws Exception {
    try {
      told.receipt(s.text(), s.pending().await());
    } catch (RuntimeException | Error e) {
      permit(e);
      told.is(s.text(), Told.Fate.UNKNOWN);
    }
  }

  /** All that was handed over to a writer or session, and that the caller knows of. */
  List<Sent> sentTo(Object to) {
    return sent.stream().filter(s -> s.to() == to).toList();
  }

  /** All of these have their verdict. */
  void allDone(List<Sent> before, String when) {
    for (Sent s : before) {
      assertTrue(s.pending().isDone(), () -> "no verdict " + when + ": " + s.text());
    }
  }

  /** Somebody else closes all that can be closed. */
  void close(Random random) throws Exception {
    rig.time.advanceMs(random.nextInt(4_000));
    Log theirs = random.nextBoolean() ? log : elsewhere.log(Rig.JOBS);
    try {
      theirs.horizon().advance(theirs.horizon().reachable(), OptionalLong.of(rig.time.wallNanos()));
    } catch (IOException e) {
      trouble.note("not closed: " + e);
    } catch (RuntimeException | Error e) {
      permit(e);
    }
  }

  /** A read that begins now has nothing of what was REJECTED or refused. */
  void read() throws Exception {
    Set<String> absent = told.absent();
    for (Log l : logs()) {
      for (Told.Found f : Told.read(l, true)) {
        assertTrue(!absent.contains(f.text()), () -> "read though it does not exist: " + f);
      }
    }
  }

  /** A thread that appends, flushes and waits. */
  final class Caller {
    private final String name;
    private int count;

    Caller(String name) {
      this.name = name;
    }

    private int length(Random random) {
      if (large) {
        return 700_000 + random.nextInt(300_000);
      }
      return random.nextInt(10) == 0 ? random.nextInt(60_000) : random.nextInt(300);
    }

    interface Submission {
      PendingReceipt submit(byte[] payload) throws MessageRefusedException;
    }

    interface Append {
      Receipt append(byte[] payload) throws MessageRefusedException;
    }

    private String begins(Log to, int length) {
      String text = name + "." + count++;
      told.calls(to, name, text, length);
      return text;
    }

    /** Hands a message over. */
    void submit(Log to, Object whom, boolean needsThread, Random random, Submission call)
        throws Exception {
      int length = length(random);
      String text = begins(to, length);
      try {
        PendingReceipt pending = call.submit(Told.payload(text, length));
        told.is(text, Told.Fate.ON_ITS_WAY);
        sent.add(new Sent(text, pending, whom, needsThread));
        trouble.note("submitted " + text);
      } catch (MessageRefusedException e) {
        told.is(text, Told.Fate.REFUSED);
        trouble.note("refused " + text + ": " + e.getMessage());
      } catch (RuntimeException | Error e) {
        permit(e);
        told.is(text, Told.Fate.REFUSED); // or the caller would have to know of it
      }
    }

    /** Appends a message and waits. */
    void append(Log to, Random random, Append call) throws Exception {
      int length = length(random);
      String text = begins(to, length);
      try {
        Receipt receipt = call.append(Told.payload(text, length));
        told.receipt(text, receipt);
        trouble.note("appended " + text + ": " + receipt);
      } catch (MessageRefusedException e) {
        told.is(text, Told.Fate.REFUSED);
        trouble.note("refused " + text + ": " + e.getMessage());
      } catch (RuntimeException | Error e) {
        permit(e);
        told.is(text, Told.Fate.UNKNOWN);
      }
    }

    /** Waits for one message, anybody's. */
    void awaitOne(Random random) throws Exception {
      var all = List.copyOf(sent);
      if (!all.isEmpty()) {
        await(all.get(random.nextInt(all.size())));
      }
    }

    void interruptSomebody(Random random) {
      crew.interrupt(random.nextInt(crew.size()));
    }

    void pause(Random random) {
      rig.time.advanceNanos((long) random.nextInt(1_200) * MS);
    }
  }

  /** Writes all that was handed over. */
  void flush(LogWriter writer) throws Exception {
    List<Sent> before = sentTo(writer);
    try {
      writer.flush();
    } catch (RuntimeException | Error e) {
      permit(e);
      return;
    }
    allDone(before, "after flush");
  }
}
