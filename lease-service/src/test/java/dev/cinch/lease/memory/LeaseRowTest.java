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
import dev.cinch.lease.Metadata;
import dev.cinch.lease.TimeBound;
import dev.cinch.lease.Watermark;
import java.util.ArrayList;
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
      LeaseEntry e = any(random);
      byte[] row = LeaseRow.pack(e, logSets);
      LeaseEntry back = LeaseRow.unpack(row, logSets);
      assertEquals(e.witness(3), back.witness(3));
      assertEquals(e.info(3, NOW), back.info(3, NOW));
      assertEquals(e.inheritance(NOW, Fence.NONE), back.inheritance(NOW, Fence.NONE));
      assertEquals(e.lowerBound(), back.lowerBound());
      assertEquals(e.carriesFence(), back.carriesFence());
      assertEquals(e.endedAt, back.endedAt);
      assertEquals(e.durationMs, back.durationMs);
      assertEquals(e.askedTentative, back.askedTentative);
      assertEquals(e.askedLogs, back.askedLogs);
      assertEquals(e.id, LeaseRow.id(row));
      assertEquals(e.expiry, LeaseRow.expiry(row));
      assertEquals(e.name, LeaseRow.name(row));
      assertEquals(e.state == LeaseEntry.State.RELEASED, LeaseRow.isReleased(row));
      assertTrue(LeaseRow.hasId(row, e.id));
      assertFalse(LeaseRow.hasId(row, new Id(e.id.low(), e.id.high())));
      assertFalse(LeaseRow.isStub(row));
    }
  }

  @Test
  void l4_aHeldLeaseTakesFewBytes() {
    var e = new LeaseEntry("tenant/000000000000000007");
    e.grant(
        new AcquireRequest(
            new Id(1, 2), List.of(new LeaseName(e.name)), "host-0000001", 30_000, all(), false),
        Inheritance.origin(Ending.UNKNOWN, Fence.NONE),
        at(NOW),
        NOW + 30_000_000_000L,
        new Id(NOW, 77));
    byte[] row = LeaseRow.pack(e, logSets);
    // 16 + 8 + 2, the name with its length, 8, a time, duration, generation, logs, the holder
    assertEquals(26 + 26 + 8 + 6 + 1 + 1 + 1 + 12, row.length);
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

  private static LeaseEntry any(Random random) {
    var e = new LeaseEntry("n" + "/x".repeat(random.nextInt(128)));
    long granted = NOW - random.nextInt(1_000_000_000);
    var request =
        new AcquireRequest(
            Id.random(random),
            List.of(new LeaseName(e.name)),
            "ä".repeat(random.nextInt(128)),
            1 + random.nextInt(86_400_000),
            logs(random),
            random.nextBoolean());
    var from =
        new Inheritance(
            random.nextInt(4) == 0 ? Long.MAX_VALUE - 1 : random.nextInt(1_000),
            random.nextBoolean() ? Id.random(random) : null,
            Ending.values()[random.nextInt(4)],
            time(random),
            random.nextBoolean()
                ? new Watermark(time(random), time(random), time(random))
                : Watermark.NONE,
            random.nextBoolean() ? new Fence(time(random), logs(random)) : Fence.NONE);
    e.grant(
        request, from, moment(granted, random), time(random), new Id(granted, random.nextLong()));
    if (random.nextBoolean()) {
      e.state(time(random), moment(NOW, random));
      e.prolong(moment(NOW, random), e.expiry, e.logs.union(logs(random)));
    }
    if (random.nextInt(4) == 0) {
      e.upgrade();
      e.fenced(moment(NOW, random));
    }
    var recent = new ArrayList<Metadata>();
    for (int n = random.nextInt(4); n > 0; n--) {
      recent.add(new Metadata(Id.random(random), time(random), "ü-" + n + ".log"));
    }
    e.addMetadata(recent, 8);
    if (random.nextInt(3) == 0) {
      e.release(moment(NOW, random), random.nextBoolean());
    }
    return e;
  }

  private static Moment moment(long time, Random random) {
    if (random.nextBoolean()) {
      return at(time);
    }
    long a = time(random);
    long b = time(random);
    var kind = TimeBound.Kind.values()[random.nextInt(2)];
    return new Moment(time, new TimeBound(Math.min(a, b), Math.max(a, b), kind));
  }

  /** Usual ones, and the ends of what can be said. */
  private static long time(Random random) {
    return switch (random.nextInt(6)) {
      case 0 -> Long.MIN_VALUE;
      case 1 -> Long.MAX_VALUE;
      case 2 -> random.nextLong();
      default -> NOW + random.nextInt();
    };
  }

  private static LogSet logs(Random random) {
    if (random.nextInt(4) == 0) {
      return LogSet.ALL;
    }
    var ids = new ArrayList<Id>();
    for (int n = random.nextInt(4); n > 0; n--) {
      ids.add(new Id(0, random.nextInt(4)));
    }
    return LogSet.of(ids);
  }
}
