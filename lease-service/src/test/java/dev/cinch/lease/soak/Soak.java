package dev.cinch.lease.soak;

import dev.cinch.lease.client.HttpLeaseClient;
import dev.cinch.lease.time.SystemTime;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.ToLongFunction;

/**
 * Keeps a server busy for some minutes, looks at it again and again, ends it, and judges. Prints
 * what it sees; exit code 0 if all is well, 1 if not.
 *
 * <p>Arguments: the server's address, its process, the store's directory of the lease service, a
 * directory for histograms of classes, minutes, and things to do a second.
 */
public final class Soak {
  /** So often it is looked at, however long it takes. */
  private static final int SAMPLES = 30;

  private static final int QUICK_THREADS = 6;
  private static final int SLOW_THREADS = 10;

  /** Names that one minute gets to know. */
  private static final int NAMES_A_MINUTE = 100;

  /** It says that it takes 5 s; others may stop the machine. */
  private static final long ENDS_WITHIN_S = 300;

  private static final double NANOS_PER_MINUTE = 60e9;

  /** One in so many may stay without an answer: of a machine that others stop. */
  private static final int UNANSWERED = 1_000;

  private final SystemTime time = SystemTime.INSTANCE;
  private final Ledger ledger = new Ledger();
  private final Tally tally = new Tally();
  private final List<Thread> threads = new ArrayList<>();
  private final List<ServerProbe.Sample> samples = new ArrayList<>();
  private final ServerProbe probe;
  private volatile boolean over;

  private Soak(ServerProbe probe) {
    this.probe = probe;
  }

  /** See the class. */
  public static void main(String[] args) throws Exception {
    int minutes = Integer.parseInt(args[4]);
    var soak =
        new Soak(new ServerProbe(Long.parseLong(args[1]), Path.of(args[2]), Path.of(args[3])));
    soak.start(URI.create(args[0]), minutes * NAMES_A_MINUTE, Integer.parseInt(args[5]));
    soak.look((long) (minutes * NANOS_PER_MINUTE));
    List<String> objections = soak.judge();
    soak.end(ProcessHandle.of(soak.probe.pid()).orElseThrow()).ifPresent(objections::add);
    objections.forEach(o -> System.out.println("FAILED: " + o));
    System.exit(objections.isEmpty() ? 0 : 1);
  }

  /** Ends the server by SIGTERM while requests wait, watches are open, and some are under way. */
  private Optional<String> end(ProcessHandle server) throws Exception {
    System.out.printf(
        "seconds of a processor: %d of the server, %d of the load%n",
        seconds(server), seconds(ProcessHandle.current()));
    over = true;
    boolean unused = server.destroy();
    try {
      server.onExit().get(ENDS_WITHIN_S, TimeUnit.SECONDS);
      return Optional.empty();
    } catch (TimeoutException e) {
      return Optional.of("the server goes on after SIGTERM");
    }
  }

  private static long seconds(ProcessHandle of) {
    return of.info().totalCpuDuration().orElse(Duration.ZERO).toSeconds();
  }

  private void start(URI server, int names, int perSecond) {
    HttpLeaseClient client = HttpLeaseClient.builder(server).build();
    var pace = new Pace(time, perSecond);
    for (int i = 0; i < QUICK_THREADS + SLOW_THREADS; i++) {
      var load = new Load(server, client, ledger, tally, time, () -> over, names, i);
      boolean quick = i < QUICK_THREADS;
      start(load, quick ? load.quick : load.slow, quick ? pace : new Pace(time, 2));
    }
  }

  private void start(Load load, List<Load.Kind> kinds, Pace pace) {
    var thread =
        new Thread(
            () -> {
              try {
                while (!over) {
                  pace.await();
                  load.step(kinds);
                }
              } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
              } catch (RuntimeException | Error e) {
                tally.count("WRONG");
                e.printStackTrace(System.out);
              }
            });
    thread.setDaemon(true);
    threads.add(thread);
    thread.start();
  }

  private void look(long nanos) throws Exception {
    long began = time.monotonicNanos();
    System.out.println(ServerProbe.Sample.header());
    for (int i = 1; i <= SAMPLES; i++) {
      time.sleepNanos(nanos / SAMPLES); // since the last look: a machine that others stop is late
      ServerProbe.Sample sample = probe.sample(i);
      samples.add(sample);
      System.out.println(sample.row((time.monotonicNanos() - began) / NANOS_PER_MINUTE));
    }
  }

  private List<String> judge() {
    var objections = new ArrayList<>(ledger.violations());
    judge("bytes of live objects", 1L << 20, ServerProbe.Sample::heap).ifPresent(objections::add);
    judge("threads", 2, ServerProbe.Sample::threads).ifPresent(objections::add);
    judge("descriptors", 8, ServerProbe.Sample::descriptors).ifPresent(objections::add);
    judge("files of the service", 4, ServerProbe.Sample::others).ifPresent(objections::add);
    if (tally.of("WRONG") > 0) {
      objections.add(tally.of("WRONG") + " wrong answers");
    }
    if (tally.of("UNANSWERED") > tally.sum() / UNANSWERED) {
      objections.add(tally.of("UNANSWERED") + " requests without an answer");
    }
    if (!threads.stream().allMatch(Thread::isAlive)) {
      objections.add("a thread of the load ended");
    }
    System.out.println(ledger.heard() + " grants, renewals and upgrades of leases compared");
    System.out.println(tally);
    return objections;
  }

  private Optional<String> judge(
      String what, long slack, ToLongFunction<ServerProbe.Sample> value) {
    return new Flatness(what, slack).objection(samples.stream().map(value::applyAsLong).toList());
  }
}
