package dev.cinch.lease.rules;

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

/** States of leases as tests want them. */
public final class States {
  /** About when all of them are. */
  public static final long NOW = 1_795_240_579_787_123_456L;

  private States() {}

  /** A moment of a clock that is taken to be right but for a guess of a second. */
  public static Moment at(long time) {
    return new Moment(time, TimeBound.around(time, 1_000_000_000L, TimeBound.Kind.ASSUMED));
  }

  /** The next lease of a name. */
  public static LeaseState grant(
      LeaseState lease,
      Operation.Acquire to,
      Inheritance from,
      Moment now,
      long expiry,
      Id correlation) {
    return lease.granted(LeaseState.Request.of(to), from, now, expiry, correlation);
  }

  /** First leases, as a table has them. */
  public static List<LeaseState> granted(
      Operation.Acquire to, Inheritance from, Moment now, long expiry) {
    var request = LeaseState.Request.of(to);
    return to.names().stream()
        .map(LeaseState::unknown)
        .map(name -> name.granted(request, from, now, expiry, new Id(now.time(), 1)))
        .toList();
  }

  /** Renews a lease, for the same logs. */
  public static LeaseState prolong(LeaseState lease, Moment now, long expiry) {
    return lease.prolonged(lease.term().logs(), now, expiry);
  }

  /** Of a name of which nothing is known. */
  public static LeaseState unknown(String name) {
    return LeaseState.unknown(new LeaseName(name));
  }

  /** A first lease that is held. */
  public static LeaseState full(String name) {
    return full(name, "h");
  }

  /** A first lease that is held, by somebody. */
  public static LeaseState full(String name, String holder) {
    var request =
        new Operation.Acquire(
            new Id(1, 2), List.of(new LeaseName(name)), holder, 10_000, LogSet.ALL, false);
    var first = Inheritance.origin(Ending.NONE, Fence.NONE);
    var correlation = new Id(NOW, name.hashCode());
    return grant(unknown(name), request, first, at(NOW), NOW + 10_000_000_000L, correlation);
  }

  /** Leases that do not count any more. */
  public static List<LeaseState> over(String name) {
    LeaseState held = full(name);
    LeaseState ended = LeaseRules.ended(held, held.unreleased()).orElseThrow();
    return List.of(held.released(at(NOW + 1), false), ended);
  }

  /** As another machine has it: no steady clock excludes anybody. */
  public static LeaseState elsewhere(LeaseState lease) {
    return new LeaseState(
        lease.name(),
        lease.state(),
        lease.request(),
        lease.from(),
        lease.correlation(),
        lease.term().until(Moment.UNSTEADY),
        lease.stated(),
        lease.end(),
        lease.resumed(),
        lease.leftBy(),
        lease.recent());
  }

  /** One that may have gone through anything. */
  public static LeaseState any(Random random) {
    var name = new LeaseName("n" + "/x".repeat(random.nextInt(128)));
    long granted = NOW - random.nextInt(1_000_000_000);
    var request =
        new LeaseState.Request(
            Id.random(random),
            "ä".repeat(random.nextInt(128)),
            1 + random.nextInt(86_400_000),
            random.nextBoolean(),
            logs(random));
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
    LeaseState e =
        LeaseState.unknown(name)
            .granted(
                request,
                from,
                moment(granted, random),
                time(random),
                new Id(granted, random.nextLong()));
    if (random.nextBoolean()) {
      e = e.stating(time(random), moment(NOW, random));
      e = e.prolonged(e.term().logs().union(logs(random)), moment(NOW, random), e.expiry());
    }
    if (random.nextInt(4) == 0) {
      e = e.withState(LeaseState.State.FULL).fenced(moment(NOW, random));
    }
    var recent = new ArrayList<LeaseReport.Metadata>();
    for (int n = random.nextInt(4); n > 0; n--) {
      recent.add(new LeaseReport.Metadata(Id.random(random), time(random), "ü-" + n + ".log"));
    }
    e = e.withMetadata(recent, 8);
    if (random.nextInt(3) == 0) {
      e = e.released(moment(NOW, random), random.nextBoolean());
    } else if (random.nextInt(4) == 0 && e.isUnended()) {
      e = LeaseRules.ended(e, e.unreleased()).orElseThrow();
    }
    return random.nextInt(8) == 0 ? e.left(1 + random.nextInt(9)) : e;
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
