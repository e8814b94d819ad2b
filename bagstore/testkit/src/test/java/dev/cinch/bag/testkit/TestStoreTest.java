package dev.cinch.bag.testkit;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.cinch.bag.Log;
import dev.cinch.bag.NoSuchLogException;
import dev.cinch.bag.Session;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.Receipt;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What programs' tests rely on. */
class TestStoreTest {
  private static final LogName JOBS = new LogName("jobs");
  private static final List<LeaseName> NAMES = List.of(new LeaseName("jobs/1"));
  private static final Duration LASTING = Duration.ofSeconds(50);

  private static List<String> read(Log log) {
    var found = new ArrayList<String>();
    try (var messages = log.messages(Instant.EPOCH, Instant.MAX)) {
      messages.forEachRemaining(m -> found.add(new String(m.payload(), UTF_8)));
    }
    return found;
  }

  @Test
  void whatWasAppendedIsSettledAtOnceAndOtherProcessesReadIt() throws Exception {
    try (var test = new TestStore()) {
      Log log = test.store().createLog(JOBS);
      Log elsewhere = test.open("there").log(JOBS);
      assertThrows(NoSuchLogException.class, () -> test.store().log(new LogName("none")));
      try (var writer = log.writer(Durability.CLOSE)) {
        for (String text : List.of("one", "two", "three")) {
          assertInstanceOf(Receipt.Committed.class, writer.append(text.getBytes(UTF_8)));
          test.clock().advanceMs(2_000);
        }
        assertEquals(List.of(), read(elsewhere));
        test.settle(elsewhere);
        assertEquals(List.of("one", "two", "three"), read(log));
        assertInstanceOf(Receipt.Committed.class, writer.append("four".getBytes(UTF_8)));
      }
      test.settle(log);
      assertEquals(List.of("one", "two", "three", "four"), read(elsewhere));
    }
  }

  @Test
  void leasesExcludeOthersAndFenceWhatWasWritten() throws Exception {
    try (var test = new TestStore();
        Session here = Session.open(test.store(), test.leases(), "here");
        Session there = Session.open(test.open("there"), test.leases(), "there")) {
      Log log = test.store().createLog(JOBS);
      here.acquire(NAMES, LASTING);
      assertInstanceOf(Receipt.Committed.class, here.append(log, "a".getBytes(UTF_8)));
      assertThrows(LeaseRefusedException.class, () -> there.acquire(NAMES, LASTING));
      here.release();
      there.acquire(NAMES, LASTING);
      test.settle(log);
      assertEquals(List.of("a"), read(log));
      assertFalse(there.leases().isEmpty());
    }
  }
}
