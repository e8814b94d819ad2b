package dev.cinch.lease.memory;

import static dev.cinch.lease.memory.Rig.at;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.AcquireRequest;
import dev.cinch.lease.Ending;
import dev.cinch.lease.Fence;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.table.Inheritance;
import dev.cinch.lease.table.LeaseState;
import dev.cinch.lease.table.States;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A row says what the lease said, and no more bytes than that takes (rule L4). */
final class LeaseRowTest {
  private static final long NOW = 1_795_240_579_787_123_456L;
  private final LogSets logSets = new LogSets(5);

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4})
  void whatIsPackedIsUnpacked(long seed) {
    var random = new Random(seed);
    for (int i = 0; i < 5_000; i++) {
      LeaseEntry e = States.any(random, LeaseEntry::new);
      byte[] row = LeaseRow.pack(e, logSets);
      LeaseEntry back = LeaseRow.unpack(row, logSets);
      States.assertSame(e, back);
      assertEquals(e.id(), LeaseRow.id(row));
      assertEquals(e.expiry(), LeaseRow.expiry(row));
      assertEquals(e.name(), LeaseRow.name(row));
      assertEquals(e.state() == LeaseState.State.RELEASED, LeaseRow.isReleased(row));
      assertTrue(LeaseRow.hasId(row, e.id()));
      assertFalse(LeaseRow.hasId(row, new Id(e.id().low(), e.id().high())));
      assertFalse(LeaseRow.isStub(row));
    }
  }

  @Test
  void l4_aHeldLeaseTakesFewBytes() {
    var e = new LeaseEntry("tenant/000000000000000007");
    States.grant(
        e,
        new AcquireRequest(
            new Id(1, 2), List.of(new LeaseName(e.name())), "host-0000001", 30_000, all(), false),
        Inheritance.origin(Ending.UNKNOWN, Fence.NONE),
        at(NOW),
        NOW + 30_000_000_000L,
        new Id(NOW, 77));
    byte[] row = LeaseRow.pack(e, logSets);
    // 16 + 8 + 2, the name with its length, 8, a time, duration, steady end, generation, logs, the
    // holder
    assertEquals(26 + 26 + 8 + 6 + 1 + 1 + 1 + 1 + 12, row.length);
  }

  @Test
  void aStubKeepsTheIdAndTheTimeOfTheEnd() {
    var id = new Id(-5, Long.MIN_VALUE);
    byte[] stub = LeaseRow.stub(id, NOW);
    assertTrue(LeaseRow.isStub(stub) && LeaseRow.hasId(stub, id));
    assertEquals(id, LeaseRow.id(stub));
    assertEquals(NOW, LeaseRow.expiry(stub));
  }

  @Test
  void setsOfLogsAreNumberedUntilThereAreMany() {
    LogSet one = LogSet.of(List.of(new Id(0, 1), new Id(0, 2), new Id(0, 3)));
    assertEquals(logSets.numberOf(one), logSets.numberOf(LogSet.of(one.ids())));
    assertEquals(one, logSets.at(logSets.numberOf(one)));
    LogSet other = LogSet.of(List.of(new Id(0, 1), new Id(0, 2)));
    assertTrue(logSets.numberOf(other) > logSets.numberOf(one));
    assertEquals(-1, logSets.numberOf(LogSet.of(List.of(new Id(0, 4)))));
  }

  private static LogSet all() {
    return LogSet.ALL;
  }
}
