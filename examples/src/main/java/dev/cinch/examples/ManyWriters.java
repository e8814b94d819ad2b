package dev.cinch.examples;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.cinch.bag.Log;
import dev.cinch.bag.Session;
import dev.cinch.bag.Store;
import dev.cinch.bag.Writers;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.MachineName;
import dev.cinch.bag.model.Receipt;
import dev.cinch.bag.write.MessageRefusedException;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseService;
import dev.cinch.lease.client.ServerAddresses;
import dev.cinch.lease.client.ShardRouter;
import dev.cinch.lease.hold.LeaseKeeper;
import dev.cinch.lease.time.SystemTime;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Many writers in one process, each with a lease of its own, until standard input ends: {@code
 * ManyWriters STORE SERVERS LOG PREFIX COUNT [SECONDS]}, 30 s a lease. Each writes lines {@code
 * PREFIX-WRITER NUMBER} one after the other; at the end a line {@code PREFIX-WRITER LINES} for each
 * is printed. Exits with 1 if one of them lost its lease, or a line was refused.
 */
final class ManyWriters {
  private static final int THREADS = 4;
  private static final int LEASE_SECONDS = 30;

  /** Between the rounds of a thread over its writers, milliseconds. */
  private static final long PAUSE_MS = 500;

  private final Log log;
  private final Duration lease;
  private final List<Writer> writers = new ArrayList<>();
  private final AtomicBoolean ends = new AtomicBoolean();
  private final AtomicInteger failures = new AtomicInteger();

  private ManyWriters(Log log, Duration lease) {
    this.log = log;
    this.lease = lease;
  }

  /** One of them; used by one thread at a time. */
  private static final class Writer {
    final String name;
    final Session session;
    int lines;

    Writer(String name, Session session) {
      this.name = name;
      this.session = session;
    }
  }

  public static void main(String[] args) throws Exception {
    var environment = Store.Environment.of(new MachineName(args[3]), SystemTime.INSTANCE);
    Store store = Store.open(Path.of(args[0]), environment);
    LeaseService service = ShardRouter.of(ServerAddresses.parse(args[1]));
    int seconds = args.length > 5 ? Integer.parseInt(args[5]) : LEASE_SECONDS;
    var many = new ManyWriters(store.createLog(new LogName(args[2])), Duration.ofSeconds(seconds));
    try (var files = new Writers(store, Durability.CLOSE);
        var keeper = new LeaseKeeper(SystemTime.INSTANCE)) {
      many.begin(files, service, keeper, args[3], Integer.parseInt(args[4]));
      many.run();
    }
    System.exit(many.failures.get() == 0 ? 0 : 1);
  }

  private void begin(
      Writers files, LeaseService service, LeaseKeeper keeper, String prefix, int count)
      throws Exception {
    for (int i = 0; i < count; i++) {
      String name = prefix + "-" + i;
      Session session = Session.open(files, service, name, keeper);
      session.listen((names, why) -> failed(name + " lost its lease: " + why));
      session.acquire(List.of(new LeaseName("writer/" + name)), lease);
      writers.add(new Writer(name, session));
    }
    System.out.println("HOLDING " + count);
  }

  private void failed(String what) {
    failures.incrementAndGet();
    System.err.println(what);
  }

  private void run() throws IOException, InterruptedException {
    var threads = new ArrayList<Thread>();
    for (int i = 0; i < THREADS; i++) {
      int first = i;
      var thread = new Thread(() -> write(first));
      thread.start();
      threads.add(thread);
    }
    while (System.in.read() >= 0) {
      // until it ends
    }
    ends.set(true);
    for (Thread thread : threads) {
      thread.join();
    }
    for (Writer writer : writers) {
      writer.session.close();
      System.out.println(writer.name + " " + writer.lines);
    }
  }

  private void write(int first) {
    try {
      while (!ends.get()) {
        for (int i = first; i < writers.size() && !ends.get(); i += THREADS) {
          write(writers.get(i));
        }
        Thread.sleep(PAUSE_MS);
      }
    } catch (MessageRefusedException e) {
      failed("a line was refused: " + e.getMessage());
    } catch (InterruptedException e) {
      failed("interrupted");
    }
  }

  /** A line that was rejected does not exist, and is sent again (rule A3). */
  private void write(Writer writer) throws MessageRefusedException {
    byte[] line = (writer.name + " " + writer.lines).getBytes(UTF_8);
    Receipt receipt;
    do {
      receipt = writer.session.append(log, line);
    } while (!(receipt instanceof Receipt.Committed));
    writer.lines++;
  }
}
