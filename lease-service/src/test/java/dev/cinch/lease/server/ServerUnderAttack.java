package dev.cinch.lease.server;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.cinch.lease.instance.ServiceInstance;
import dev.cinch.lease.time.SystemTime;
import dev.cinch.lease.witness.SigningKey;
import dev.cinch.lease.witness.WitnessSigner;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;

/**
 * A lease server in a process of its own. Prints its port; for each line of its input the bytes of
 * heap that are in use after a collection, and those of buffers outside of it; ends with the input.
 */
final class ServerUnderAttack {
  /** Long enough for the slowest machine: the test is about losses, not about time. */
  static final long LONGEST_LEASE_MS = 3_600_000;

  /** Fewer than attack it. */
  static final int CONNECTIONS = 150;

  private ServerUnderAttack() {}

  public static void main(String[] args) throws Exception {
    ServiceInstance service =
        ServiceInstance.builder(new WitnessSigner(SigningKey.generate()), SystemTime.INSTANCE)
            .fresh(true)
            .longestLeaseMs(LONGEST_LEASE_MS)
            .start();
    try (var server =
            LeaseServer.builder(service, service::info)
                .port(0)
                .connections(CONNECTIONS)
                .maintenance(service::maintain)
                .start();
        var in = new BufferedReader(new InputStreamReader(System.in, UTF_8))) {
      System.out.println(server.port());
      while (in.readLine() != null) {
        System.gc();
        Runtime r = Runtime.getRuntime();
        System.out.println(r.totalMemory() - r.freeMemory());
        long outside = 0;
        for (var pool : ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class)) {
          outside += pool.getMemoryUsed();
        }
        System.out.println(outside);
      }
    }
  }
}
