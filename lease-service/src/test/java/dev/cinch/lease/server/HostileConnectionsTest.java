package dev.cinch.lease.server;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Share;
import dev.cinch.lease.client.HttpLeaseClient;
import dev.cinch.lease.hold.HeldLease;
import dev.cinch.lease.hold.HoldSettings;
import dev.cinch.lease.hold.LeaseKeeper;
import dev.cinch.lease.time.SystemTime;
import java.io.BufferedReader;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * A small server under more hostile connections than it has places, while leases are renewed: none
 * is lost, and it takes no more memory. How long anything takes is no matter.
 */
@Timeout(600)
final class HostileConnectionsTest {
  private static final int HOSTILE = 200;
  private static final int LEASES = Share.of(1_000, 300);
  private static final int ROUNDS = Share.of(3, 1);
  private static final int THREADS = 8;

  /** What hostile connections do for each renewal: all that they do is bounded by this. */
  private static final int STEPS = 10;

  /** Tries of one request; a connection may always have to go. */
  private static final int TRIES = 10;

  /** An eighth of the heap for bodies and answers, 64 KiB a connection, and some air. */
  private static final long MOST_MORE_BYTES = 64 << 20;

  private final ConcurrentLinkedQueue<String> lost = new ConcurrentLinkedQueue<>();
  private final Random random = new Random(3);
  private final Object attacking = new Object();

  @Test
  @Tag("share")
  void noLeaseIsLostAndMemoryStaysFlat() throws Exception {
    Process server =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx256m",
                "-XX:+ExitOnOutOfMemoryError",
                "-cp",
                System.getProperty("java.class.path"),
                ServerUnderAttack.class.getName())
            .redirectError(ProcessBuilder.Redirect.DISCARD)
            .start();
    ExecutorService threads = Executors.newFixedThreadPool(THREADS);
    try (BufferedReader said = server.inputReader(UTF_8);
        var keeper = new LeaseKeeper(SystemTime.INSTANCE)) {
      int port = Integer.parseInt(said.readLine());
      HttpLeaseClient client =
          HttpLeaseClient.builder(URI.create("http://127.0.0.1:" + port)).build();
      List<HeldLease> leases = all(threads, LEASES, i -> hold(client, i));
      leases.forEach(keeper::keep);
      long[] before = memory(server, said);
      try (var attack = new Attack(port, HOSTILE)) {
        for (int round = 0; round < ROUNDS; round++) {
          all(
              threads,
              LEASES,
              i -> {
                synchronized (attacking) {
                  attack.step(STEPS);
                }
                return renewed(leases.get(i));
              });
        }
        // A stranger to the server gets in as well.
        HttpLeaseClient late =
            HttpLeaseClient.builder(URI.create("http://127.0.0.1:" + port)).build();
        assertEquals(HeldLease.State.HELD, hold(late, LEASES).state());
        // What was taken to make listings long is there, and ends a page early.
        int page = 0;
        while (page <= 10) { // the server may not have come to any of it yet
          synchronized (attacking) {
            attack.step(STEPS);
          }
          page = Math.max(page, listed(late));
        }
        assertTrue(page < 50, "a page of " + page);
        long[] after = memory(server, said);
        String story = attack + ", memory " + before[0] + " to " + after[0];
        assertTrue(after[0] - before[0] < MOST_MORE_BYTES, story);
        assertTrue(after[1] - before[1] < MOST_MORE_BYTES, story + ", buffers " + after[1]);
      }
      assertEquals(List.of(), List.copyOf(lost));
      assertEquals(LEASES, leases.stream().filter(l -> l.state() == HeldLease.State.HELD).count());
      assertTrue(server.isAlive());
    } finally {
      threads.shutdownNow();
      server.destroyForcibly();
      int unused = server.waitFor();
    }
  }

  /** Work on the lease of a number. */
  private interface Step<T> {
    T on(int number) throws Exception;
  }

  private static <T> List<T> all(ExecutorService threads, int count, Step<T> step)
      throws Exception {
    var futures = new ArrayList<Future<T>>();
    for (int i = 0; i < count; i++) {
      int number = i;
      futures.add(threads.submit(() -> step.on(number)));
    }
    var results = new ArrayList<T>();
    for (Future<T> future : futures) {
      results.add(future.get());
    }
    return results;
  }

  private HeldLease hold(HttpLeaseClient client, int number) throws Exception {
    Id id;
    synchronized (random) {
      id = Id.random(random);
    }
    var request =
        new Operation.Acquire(
            id,
            List.of(new LeaseName("lease/" + number)),
            "holder " + number,
            ServerUnderAttack.LONGEST_LEASE_MS,
            LogSet.ALL,
            false);
    var askedAt = HeldLease.AskedAt.now(SystemTime.INSTANCE);
    Grant grant = tried(() -> client.acquire(request));
    return new HeldLease(
        client,
        SystemTime.INSTANCE,
        HoldSettings.of(ServerUnderAttack.LONGEST_LEASE_MS),
        grant,
        askedAt,
        () -> LeaseReport.NOTHING,
        (names, why) -> lost.add(names.get(0) + ": " + why),
        new Random(number));
  }

  private static Grant renewed(HeldLease lease) throws Exception {
    return tried(() -> lease.renew(LogSet.NONE));
  }

  /** How many leases a page has; 0 where those that attack keep all who list busy. */
  private static int listed(HttpLeaseClient client) {
    try {
      return client.list("attack/", Optional.empty(), 10_000).size();
    } catch (LeaseUnavailableException e) {
      return 0;
    }
  }

  private static <T> T tried(Callable<T> request) throws Exception {
    for (int i = 1; ; i++) {
      try {
        return request.call();
      } catch (LeaseUnavailableException e) {
        if (i == TRIES) {
          throw e;
        }
      }
    }
  }

  private static long[] memory(Process server, BufferedReader said) throws IOException {
    server.getOutputStream().write('\n');
    server.getOutputStream().flush();
    return new long[] {Long.parseLong(said.readLine()), Long.parseLong(said.readLine())};
  }
}
