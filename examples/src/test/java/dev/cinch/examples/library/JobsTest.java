package dev.cinch.examples.library;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import dev.cinch.bag.Log;
import dev.cinch.bag.Messages;
import dev.cinch.bag.Session;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.Receipt;
import dev.cinch.bag.testkit.TestStore;
import dev.cinch.lease.LeaseName;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A program's test: without a server, a directory or a wait. */
class JobsTest {
  @Test
  void whatOneProcessAppendsAnotherReads() throws Exception {
    try (var test = new TestStore()) {
      Log log = test.store().createLog(new LogName("jobs"));
      try (Session session = Session.open(test.store(), test.leases(), "host-1/worker")) {
        session.acquire(List.of(new LeaseName("jobs/42")), Duration.ofSeconds(30));
        Receipt receipt = session.append(log, "hello".getBytes(UTF_8));
        assertInstanceOf(Receipt.Committed.class, receipt);
      }
      test.settle(log); // moves the clock past the grace period, and closes
      Log elsewhere = test.open("host-2").log(log.name());
      try (Messages messages = elsewhere.messages(Instant.EPOCH, Instant.MAX)) {
        assertEquals("hello", new String(messages.next().payload(), UTF_8));
        assertFalse(messages.hasNext());
      }
    }
  }
}
