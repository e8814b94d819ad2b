package dev.cinch.examples;

import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.client.ServerAddresses;
import dev.cinch.lease.client.ShardRouter;
import dev.cinch.lease.hold.HeldLease;
import dev.cinch.lease.hold.HoldSettings;
import dev.cinch.lease.time.SystemTime;
import java.net.URI;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Takes leases and gives them back, again and again, until standard input ends: {@code Newcomers
 * SERVERS}. For each address there is a thread that asks it first. It takes names of its own, and
 * one that all of them want, for which it waits in line. Prints how often, and how long the longest
 * acquisition took. Exits with 1 if one failed, or a lease was not given back.
 */
final class Newcomers {
  private static final int NAMES = 8;
  private static final long LEASE_MS = 3_000;
  private static final long WAIT_MS = 30_000;
  private static final long PAUSE_MS = 50;
  private static final long NANOS_PER_MS = 1_000_000;

  private final SecureRandom random = new SecureRandom();
  private final AtomicBoolean ends = new AtomicBoolean();
  private final AtomicInteger failures = new AtomicInteger();
  private final AtomicInteger own = new AtomicInteger();
  private final AtomicInteger shared = new AtomicInteger();
  private final AtomicLong longestOwn = new AtomicLong();
  private final AtomicLong longestShared = new AtomicLong();

  private Newcomers() {}

  public static void main(String[] args) throws Exception {
    var newcomers = new Newcomers();
    List<URI> addresses = ServerAddresses.parse(args[0]).all();
    var threads = new ArrayList<Thread>();
    for (int i = 0; i < addresses.size(); i++) {
      var turned = new ArrayList<>(addresses);
      Collections.rotate(turned, -i);
      ShardRouter service = ShardRouter.of(new ServerAddresses(turned));
      String prefix = "newcomer/" + i + "/";
      var thread = new Thread(() -> newcomers.run(service, prefix));
      thread.start();
      threads.add(thread);
    }
    while (System.in.read() >= 0) {
      // until it ends
    }
    newcomers.ends.set(true);
    for (Thread thread : threads) {
      thread.join();
    }
    newcomers.print();
    System.exit(newcomers.failures.get() == 0 ? 0 : 1);
  }

  private void print() {
    System.out.printf(
        "%d newcomers got leases, the longest in %d ms; %d stood in line for one lease, the longest for %d ms%n",
        own.get(),
        longestOwn.get() / NANOS_PER_MS,
        shared.get(),
        longestShared.get() / NANOS_PER_MS);
  }

  private void run(ShardRouter service, String prefix) {
    take(service, prefix + 0, 0, new AtomicInteger(), new AtomicLong()); // loads the classes
    for (int i = 0; !ends.get(); i++) {
      take(service, prefix + i % NAMES, 0, own, longestOwn);
      take(service, "newcomer/all", WAIT_MS, shared, longestShared);
      try {
        Thread.sleep(PAUSE_MS);
      } catch (InterruptedException e) {
        return;
      }
    }
  }

  private void take(
      ShardRouter service, String name, long waitMs, AtomicInteger count, AtomicLong longest) {
    var request =
        new Operation.Acquire(
            Id.random(random),
            List.of(new LeaseName(name)),
            "newcomer",
            LEASE_MS,
            LogSet.ALL,
            false);
    long from = SystemTime.INSTANCE.monotonicNanos();
    try {
      Grant grant = service.acquire(request.waiting(waitMs));
      long took = SystemTime.INSTANCE.monotonicNanos() - from;
      longest.accumulateAndGet(took, Math::max);
      count.incrementAndGet();
      // Its time counts from now: nothing is written under it.
      new HeldLease(
              service,
              SystemTime.INSTANCE,
              HoldSettings.of(LEASE_MS),
              grant,
              HeldLease.AskedAt.now(SystemTime.INSTANCE),
              () -> LeaseReport.NOTHING,
              (lease, why) -> {},
              random)
          .release(LeaseReport.NOTHING);
    } catch (Exception e) {
      failures.incrementAndGet();
      System.err.println(name + ": " + e.getMessage());
    }
  }
}
