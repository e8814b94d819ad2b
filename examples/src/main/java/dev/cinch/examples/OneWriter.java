package dev.cinch.examples;

import dev.cinch.bag.Log;
import dev.cinch.bag.Session;
import dev.cinch.bag.Store;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.MachineName;
import dev.cinch.bag.model.Receipt;
import dev.cinch.bag.write.MessageRefusedException;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.client.HttpLeaseClient;
import dev.cinch.lease.time.SystemTime;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/**
 * How a program uses the library: take a lease, append what only its holder may append, give it
 * back. Arguments: store, lease server, log, lease, messages.
 */
public final class OneWriter {
  private OneWriter() {}

  /** Exits with 3 if the lease is somebody else's, or a message was not written. */
  public static void main(String[] args) throws Exception {
    if (args.length < 5) {
      System.err.println("usage: OneWriter STORE SERVER LOG LEASE MESSAGE...");
      System.exit(2);
    }
    var environment = Store.Environment.of(new MachineName("one-writer"), SystemTime.INSTANCE);
    Store store = Store.open(Path.of(args[0]), environment);
    Log log = store.createLog(new LogName(args[2]));
    var leases = HttpLeaseClient.builder(URI.create(args[1])).build();
    boolean all = true;
    try (Session session = Session.open(store, leases, "one-writer")) {
      // Returns once all that an earlier holder wrote is settled, and nothing can be added to it.
      session.acquire(List.of(new LeaseName(args[3])), Duration.ofSeconds(30));
      for (int i = 4; i < args.length; i++) {
        all &= append(session, log, args[i]);
      }
    } catch (LeaseRefusedException e) {
      System.err.println(e.getMessage());
      all = false;
    }
    System.exit(all ? 0 : 3);
  }

  private static boolean append(Session session, Log log, String text) {
    byte[] message = text.getBytes(StandardCharsets.UTF_8);
    try {
      Receipt receipt = session.append(log, message);
      if (receipt instanceof Receipt.Rejected) {
        // It will never appear, so it can be sent again without doubling it (rule A3).
        receipt = session.append(log, message);
      }
      System.out.println(receipt);
      return receipt instanceof Receipt.Committed;
    } catch (MessageRefusedException e) {
      System.err.println(e.getMessage()); // the lease was lost, or the message is too long
      return false;
    }
  }
}
