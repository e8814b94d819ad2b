package dev.cinch.examples.library;

import dev.cinch.bag.Log;
import dev.cinch.bag.Session;
import dev.cinch.bag.Store;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.Receipt;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.client.HttpLeaseClient;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/** Arguments: the store, the lease server, a message. */
public final class AppendUnderLease {
  private AppendUnderLease() {}

  public static void main(String[] args) throws Exception {
    Store store = Store.open(Path.of(args[0]), Store.Environment.ofHost());
    Log log = store.createLog(new LogName("jobs"));
    byte[] message = args[2].getBytes(StandardCharsets.UTF_8);

    var leases = HttpLeaseClient.builder(URI.create(args[1])).build();
    try (Session session = Session.open(store, leases, "host-1/worker")) {
      // Waits for another holder, five minutes at most. Then a live read has all that earlier
      // holders wrote, and nothing can be added to it. Renews until the session is closed.
      session.acquire(
          List.of(new LeaseName("jobs/42")), Duration.ofSeconds(30), Duration.ofMinutes(5));
      Receipt receipt = session.append(log, message);
      if (receipt instanceof Receipt.Rejected) {
        receipt = session.append(log, message); // the first one never appears
      }
      System.out.println(receipt instanceof Receipt.Committed ? "committed" : receipt);
    }
  }
}
