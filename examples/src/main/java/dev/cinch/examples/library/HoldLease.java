package dev.cinch.examples.library;

import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.client.HttpLeaseClient;
import dev.cinch.lease.hold.HeldLease;
import dev.cinch.lease.hold.LeaseKeeper;
import dev.cinch.lease.time.SystemTime;
import java.net.URI;
import java.time.Duration;
import java.util.List;

/** Works while it holds a lease, without a store. Arguments: the lease server, the lease's name. */
public final class HoldLease {
  private HoldLease() {}

  public static void main(String[] args) throws Exception {
    var leases = HttpLeaseClient.builder(URI.create(args[0])).build();
    try (var keeper = new LeaseKeeper(SystemTime.INSTANCE)) { // renews until it is closed
      HeldLease lease =
          keeper.acquire(
              leases,
              List.of(new LeaseName(args[1])),
              "host-1/worker",
              Duration.ofSeconds(30), // how long it lasts without a renewal
              Duration.ofMinutes(5), // how long to wait for another holder
              (names, why) -> System.err.println("lost: " + why));
      System.out.println("held as " + lease.witnesses().get(0).witness().fencingToken());
      // Work here, and stop once lease.remainingNanos() is 0.
      lease.release(LeaseReport.NOTHING);
    }
  }
}
