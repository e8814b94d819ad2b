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
import dev.cinch.lease.Grant;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseService;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.client.ServerAddresses;
import dev.cinch.lease.client.ShardRouter;
import dev.cinch.lease.hold.HeldLease;
import dev.cinch.lease.hold.LeaseKeeper;
import dev.cinch.lease.hold.LostAnswers;
import dev.cinch.lease.time.SystemTime;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Writers that take leases from each other, in one process, until standard input ends: {@code
 * RivalWriters STORE SERVERS LOG PREFIX WRITERS RIVALRIES}. The first ones queue for one of so many
 * names each. The others take one or two of these, or a name of their own. Each writes lines {@code
 * WRITER NUMBER}, with {@code NAME CORRELATION} of each lease, gives them back, and so on. What
 * happens it tells on standard output, with the time of {@link System#nanoTime}, which the
 * processes of a machine share:
 *
 * <ul>
 *   <li>{@code GRANTED WRITER NAME CORRELATION TIME}: the answer has come;
 *   <li>{@code HELD WRITER NAME CORRELATION TIME}: it was held at this time for certain;
 *   <li>{@code SENT WRITER NUMBER}, then {@code CONFIRMED} or {@code REJECTED} with the same, or
 *       neither if that is not known;
 *   <li>{@code RELEASED}, {@code LOST WRITER NAME CORRELATION TIME};
 *   <li>{@code REFUSED WRITER WHY TIME}: no lease.
 * </ul>
 */
final class RivalWriters {
  /** Above bucket width, grace and margins of a store with buckets of 500 ms. */
  private static final Duration LEASE = Duration.ofSeconds(5);

  /** For how long a request may wait in the queue, milliseconds. */
  private static final long WAIT_MS = 10_000;

  /** Between two lines, milliseconds. */
  private static final int PAUSE_MS = 40;

  private final AtomicBoolean ends = new AtomicBoolean();
  private final Log log;
  private final String servers;

  private RivalWriters(Log log, String servers) {
    this.log = log;
    this.servers = servers;
  }

  public static void main(String[] args) throws Exception {
    Warnings.only();
    var environment = Store.Environment.of(new MachineName(args[3]), SystemTime.INSTANCE);
    Store store = Store.open(Path.of(args[0]), environment);
    var rivals = new RivalWriters(store.createLog(new LogName(args[2])), args[1]);
    int rivalries = Integer.parseInt(args[5]);
    var threads = new ArrayList<Thread>();
    try (var files = new Writers(store, Durability.CLOSE);
        var keeper = new LeaseKeeper(SystemTime.INSTANCE)) {
      for (int i = 0; i < Integer.parseInt(args[4]); i++) {
        Writer writer = rivals.new Writer(args[3] + "-" + i, i, rivalries);
        var thread = new Thread(() -> writer.run(files, keeper), writer.name);
        thread.start();
        threads.add(thread);
      }
      while (System.in.read() >= 0) {
        // until it ends
      }
      rivals.ends.set(true);
      for (Thread thread : threads) {
        thread.join();
      }
    }
    System.out.println("ENDED " + args[3] + " " + System.nanoTime());
  }

  /** One of them; its own thread's. */
  private final class Writer {
    private final String name;
    private final int number;
    private final int rivalries;
    private final Random random = new Random();
    private int lines;

    Writer(String name, int number, int rivalries) {
      this.name = name;
      this.number = number;
      this.rivalries = rivalries;
    }

    /** Asks another server first than its neighbour. */
    private LeaseService service() {
      var all = new ArrayList<URI>(ServerAddresses.parse(servers).all());
      Collections.rotate(all, number);
      return ShardRouter.of(new ServerAddresses(all));
    }

    void run(Writers files, LeaseKeeper keeper) {
      LeaseService service = service();
      while (!ends.get()) {
        try (Session session = Session.open(files, service, name, keeper)) {
          hold(session, wanted());
        } catch (LeaseRefusedException e) {
          refused(e.reason().name());
        } catch (LeaseUnavailableException e) {
          refused("UNAVAILABLE");
        } catch (IOException e) {
          say("ODD " + name + " " + e);
        } catch (InterruptedException e) {
          return;
        }
        pause(5 + random.nextInt(50));
      }
    }

    private List<LeaseName> wanted() {
      if (number < rivalries) {
        return List.of(new LeaseName("rivalry/" + number));
      }
      if (random.nextInt(4) == 0) {
        return List.of(new LeaseName("own/" + name));
      }
      int first = random.nextInt(rivalries);
      return IntStream.range(first, first + (random.nextInt(6) == 0 ? 2 : 1))
          .mapToObj(i -> new LeaseName("rivalry/" + i % rivalries))
          .toList();
    }

    private void refused(String why) {
      say("REFUSED " + name + " " + why + " " + System.nanoTime());
    }

    private void hold(Session session, List<LeaseName> wanted)
        throws LeaseRefusedException, LeaseUnavailableException, IOException, InterruptedException {
      boolean queues = number < rivalries || random.nextInt(4) == 0;
      LostAnswers.Asking asking =
          (service, request) -> {
            Grant grant = service.acquire(request.waiting(queues ? WAIT_MS : 0));
            tell("GRANTED", grant, System.nanoTime());
            return grant;
          };
      Grant grant = session.acquire(wanted, LEASE, asking);
      // Now and then for longer than a lease lasts, so that it is renewed.
      long until =
          System.nanoTime() + (random.nextInt(12) == 0 ? 7_000 : random.nextInt(600)) * 1_000_000L;
      boolean goesOn = true;
      while (goesOn && System.nanoTime() < until && !ends.get()) {
        goesOn = isHeld(session, grant) && write(session, grant);
        pause(PAUSE_MS);
      }
      boolean unused = isHeld(session, grant);
      String end = session.release() ? "RELEASED" : "LOST";
      tell(end, grant, System.nanoTime());
    }

    private boolean isHeld(Session session, Grant grant) {
      long now = System.nanoTime();
      Optional<HeldLease> lease = session.leases().stream().findFirst();
      boolean held = lease.isPresent() && lease.get().remainingNanos() > 0;
      if (held) {
        tell("HELD", grant, now);
      }
      return held;
    }

    /** Whether it may go on. */
    private boolean write(Session session, Grant grant) {
      int line = lines++;
      var w = grant.witnesses().get(0).witness();
      byte[] payload = (name + " " + line + " " + w.name() + " " + w.correlation()).getBytes(UTF_8);
      try {
        say("SENT " + name + " " + line);
        Receipt receipt = session.append(log, payload);
        boolean confirmed = receipt instanceof Receipt.Committed;
        say((confirmed ? "CONFIRMED " : "REJECTED ") + name + " " + line);
        return true;
      } catch (MessageRefusedException e) {
        say("REJECTED " + name + " " + line); // nothing was written
        return false;
      }
    }

    private void tell(String what, Grant grant, long time) {
      leases(grant).forEach(lease -> say(what + " " + name + " " + lease + " " + time));
    }

    private static Stream<String> leases(Grant grant) {
      return grant.witnesses().stream()
          .map(SignedWitness::witness)
          .map(w -> w.name() + " " + w.correlation());
    }
  }

  private static void say(String line) {
    System.out.println(line);
  }

  private static void pause(int millis) {
    try {
      Thread.sleep(millis);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
