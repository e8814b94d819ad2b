package dev.cinch.lease.table;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.Ending;
import dev.cinch.lease.Fence;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.TimeBound;
import dev.cinch.lease.Watermark;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.Function;

/** States of leases as tests want them. */
public final class States {
  /** About when all of them are. */
  public static final long NOW = 1_795_240_579_787_123_456L;

  private States() {}

  /** A moment of a clock that is taken to be right but for a guess of a second. */
  public static Moment at(long time) {
    return new Moment(time, TimeBound.around(time, 1_000_000_000L, TimeBound.Kind.ASSUMED));
  }

  public static void grant(
      LeaseState lease,
      Operation.Acquire to,
      Inheritance from,
      Moment now,
      long expiry,
      Id correlation) {
    lease.grant(to, from, now, expiry, correlation);
  }

  /** Renews a lease, for the same logs. */
  public static void prolong(LeaseState lease, Moment now, long expiry) {
    lease.prolong(now, expiry, lease.logs);
  }

  public static void set(LeaseState lease, Id id, long expiry, String holder) {
    lease.id = id;
    lease.expiry = expiry;
    lease.holder = holder;
    lease.issuedIn = at(lease.issuedAt).bound();
  }

  /** A first lease that is held. */
  public static LeaseState full(String name) {
    var lease = new LeaseState(name);
    var request =
        new Operation.Acquire(
            new Id(1, 2), List.of(new LeaseName(name)), "h", 10_000, LogSet.ALL, false);
    var first = Inheritance.origin(Ending.NONE, Fence.NONE);
    lease.grant(request, first, at(NOW), NOW + 10_000_000_000L, new Id(NOW, name.hashCode()));
    return lease;
  }

  /** Leases that do not count any more. */
  public static List<LeaseState> over(String name) {
    LeaseState released = full(name);
    released.release(at(NOW + 1), false);
    LeaseState ended = full(name);
    assertTrue(LeaseRules.end(ended, ended.tenure()));
    return List.of(released, ended);
  }

  /** That both say the same of everything. */
  public static void assertSame(LeaseState a, LeaseState b) {
    assertEquals(a.witness(3), b.witness(3));
    assertEquals(a.info(3, at(NOW)), b.info(3, at(NOW)));
    var earlier = new Fence(NOW, LogSet.ALL);
    assertEquals(a.inheritance(NOW, earlier), b.inheritance(NOW, earlier));
    assertEquals(a.state, b.state);
    assertEquals(a.id, b.id);
    assertEquals(a.lowerBound(), b.lowerBound());
    assertEquals(a.carriesFence(), b.carriesFence());
    assertEquals(a.endedAt, b.endedAt);
    assertEquals(a.durationMs, b.durationMs);
    assertEquals(a.askedTentative, b.askedTentative);
    assertEquals(a.askedLogs, b.askedLogs);
  }

  /** One that may have gone through anything. */
  public static <S extends LeaseState> S any(Random random, Function<String, S> create) {
    S made = create.apply("n" + "/x".repeat(random.nextInt(128)));
    LeaseState e = made;
    long granted = NOW - random.nextInt(1_000_000_000);
    var request =
        new Operation.Acquire(
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
    var recent = new ArrayList<LeaseReport.Metadata>();
    for (int n = random.nextInt(4); n > 0; n--) {
      recent.add(new LeaseReport.Metadata(Id.random(random), time(random), "ü-" + n + ".log"));
    }
    e.addMetadata(recent, 8);
    if (random.nextInt(3) == 0) {
      e.release(moment(NOW, random), random.nextBoolean());
    } else if (random.nextInt(4) == 0 && e.isUnended()) {
      assertTrue(LeaseRules.end(e, e.tenure()));
    }
    return made;
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
