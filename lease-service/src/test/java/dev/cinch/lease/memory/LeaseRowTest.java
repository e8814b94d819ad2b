package dev.cinch.lease.memory;

import static dev.cinch.lease.memory.Rig.at;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.Ending;
import dev.cinch.lease.Fence;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.table.Inheritance;
import dev.cinch.lease.table.LeaseLayout;
import dev.cinch.lease.table.LeaseState;
import dev.cinch.lease.table.SharedLogs;
import dev.cinch.lease.table.States;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A row says what the lease said, and no more bytes than that takes (rule L4). */
final class LeaseRowTest {
  private static final long NOW = 1_795_240_579_787_123_456L;
  private final SharedLogs logSets = new SharedLogs(5);

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4})
  void whatIsPackedIsUnpacked(long seed) {
    var random = new Random(seed);
    for (int i = 0; i < 5_000; i++) {
      LeaseState e = States.any(random, LeaseState::new);
      byte[] row = LeaseLayout.pack(e, logSets);
      LeaseState back = LeaseLayout.unpack(row, logSets);
      States.assertSame(e, back);
      assertEquals(e.expiry(), LeaseRow.expiry(row));
      assertEquals(e.name(), LeaseRow.name(row));
      assertEquals(e.state() == LeaseState.State.RELEASED, LeaseRow.isReleased(row));
      assertTrue(LeaseRow.hasId(row, LeaseRow.key(e.id())));
      assertFalse(LeaseRow.hasId(row, LeaseRow.key(new Id(e.id().low(), e.id().high()))));
      assertFalse(LeaseRow.isStub(row));
    }
  }

  @Test
  void l4_aHeldLeaseTakesFewBytes() {
    var e = new LeaseState("tenant/000000000000000007");
    States.grant(
        e,
        new Operation.Acquire(
            new Id(1, 2), List.of(new LeaseName(e.name())), "host-0000001", 30_000, all(), false),
        Inheritance.origin(Ending.UNKNOWN, Fence.NONE),
        at(NOW),
        NOW + 30_000_000_000L,
        new Id(NOW, 77));
    byte[] row = LeaseLayout.pack(e, logSets);
    // 16 + 8 + 2, the name with its length, 8, a time, duration, steady end, generation, logs, the
    // holder
    assertEquals(26 + 26 + 8 + 6 + 1 + 1 + 1 + 1 + 12, row.length);
  }

  @Test
  void aStubKeepsTheIdAndTheTimeOfTheEnd() {
    var id = new Id(-5, Long.MIN_VALUE);
    byte[] stub = LeaseRow.stub(id, NOW, false);
    assertTrue(LeaseRow.isStub(stub) && LeaseRow.hasId(stub, LeaseRow.key(id)));
    assertFalse(LeaseRow.isGivenUp(stub));
    assertTrue(LeaseRow.isGivenUp(LeaseRow.stub(id, NOW, true)));
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
