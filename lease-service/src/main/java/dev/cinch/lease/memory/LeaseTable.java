package dev.cinch.lease.memory;

import static dev.cinch.lease.memory.Refusals.held;
import static dev.cinch.lease.memory.Refusals.invalid;
import static dev.cinch.lease.memory.Refusals.notHeld;
import static dev.cinch.lease.memory.Refusals.notYet;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.AcquireRequest;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseInfo;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Witness;
import dev.cinch.lease.witness.WitnessCodec;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.random.RandomGenerator;

/**
 * Who has which lease: all rules of section 6 that need neither a clock nor a store. It does no I/O
 * and reads no clock; {@code now} is the service's time in nanoseconds since the Unix epoch, and
 * where callers bring it out of order the later counts.
 *
 * <p>Thread-safe. Every operation is all or nothing: it checks all names of its grant under their
 * shards' locks, taken in ascending order, before it changes any.
 */
@CheckReturnValue
final class LeaseTable {
  /** How soon to come back when there is no room, nanoseconds. */
  private static final long NO_ROOM_WAIT = 1_000_000_000L;

  private static final long NANOS_PER_MS = 1_000_000;

  private final TableLimits limits;
  private final long instance;
  private final RandomGenerator random;
  private final Shards shards;
  private final Grants[] stripes;
  private final Shared<String> holders = new Shared<>();
  private final Shared<LogSet> logSets = new Shared<>();

  /**
   * @param instance number of the service instance, from 1
   * @param origin what names never seen inherit
   * @param random for correlations; thread-safe
   */
  LeaseTable(TableLimits limits, long instance, Inheritance origin, RandomGenerator random) {
    this.limits = limits;
    this.instance = instance;
    this.random = random;
    this.shards = new Shards(limits, origin);
    this.stripes = new Grants[limits.shards()];
    for (int i = 0; i < stripes.length; i++) {
      stripes[i] = new Grants(2 * limits.maxEntriesPerShard(), limits.retentionNanos());
    }
  }

  /**
   * Grants leases, or repeats the grant of the same request.
   *
   * @param request within the service's ranges
   * @param ceiling no expiry is above it (rule L3)
   */
  List<Witness> acquire(AcquireRequest request, long now, long ceiling)
      throws LeaseRefusedException {
    List<LeaseName> names = request.names().stream().sorted().toList();
    Grants stripe = stripe(request.id());
    synchronized (stripe) {
      GrantEntry known = stripe.get(request.id());
      if (known != null) {
        return repeat(known, request, names, now);
      }
      Shards.Locked locked = shards.lock(names.stream().map(LeaseName::value).toList());
      try {
        long time = locked.advance(now);
        long expiry = expiry(time, request.durationMs(), ceiling);
        if (!shards.makeRoom(names)) {
          throw notYet("the service remembers as many names as it may", NO_ROOM_WAIT);
        }
        for (LeaseName name : names) {
          LeaseEntry entry = shards.of(name.value()).entries.get(name.value());
          if (entry != null && entry.state == LeaseEntry.State.FULL && entry.isHeld(time)) {
            throw held(name, entry.holder(), entry.expiry - time);
          }
        }
        var grant =
            new GrantEntry(
                request, holders.of(request.holder()), logSets.of(request.logs()), names.size());
        for (int i = 0; i < grant.entries.length; i++) {
          grant.entries[i] = grantOne(names.get(i).value(), grant, time, expiry);
        }
        grant.keepUntil = expiry + limits.retentionNanos();
        stripe.put(request.id(), grant, time);
        return witnesses(grant);
      } finally {
        locked.close();
      }
    }
  }

  private List<Witness> repeat(
      GrantEntry grant, AcquireRequest request, List<LeaseName> names, long now)
      throws LeaseRefusedException {
    if (grant.released) {
      throw notHeld("this request was granted and released; acquire with a new id");
    }
    if (!grant.isFor(request, names)) {
      throw invalid("another request had this id");
    }
    Shards.Locked locked = lock(grant);
    try {
      requireHeld(grant, locked.advance(now));
      return witnesses(grant);
    } finally {
      locked.close();
    }
  }

  private LeaseEntry grantOne(String name, GrantEntry grant, long time, long expiry) {
    Shard shard = shards.of(name);
    LeaseEntry entry = shard.entries.get(name);
    Inheritance from;
    if (entry == null) {
      from = shard.unknown();
      entry = new LeaseEntry(name);
      shard.entries.put(name, entry);
    } else {
      from = entry.inheritance(time);
    }
    // The first half is the time of the grant, the second keeps correlations apart.
    Id correlation = new Id(time, random.nextLong());
    entry.grant(grant, from, time, expiry, correlation, grant.tentative);
    return entry;
  }

  /** Prolongs the leases of a grant; tentative ones stay so. */
  List<Witness> renew(
      Id id, long durationMs, LogSet addLogs, LeaseReport report, long now, long ceiling)
      throws LeaseRefusedException {
    return change(id, durationMs, addLogs, report, false, now, ceiling);
  }

  /** Makes the leases of a grant full; those that are already stay so. */
  List<Witness> upgrade(Id id, long durationMs, long now, long ceiling)
      throws LeaseRefusedException {
    return change(id, durationMs, LogSet.NONE, LeaseReport.NOTHING, true, now, ceiling);
  }

  private List<Witness> change(
      Id id,
      long durationMs,
      LogSet addLogs,
      LeaseReport report,
      boolean upgrade,
      long now,
      long ceiling)
      throws LeaseRefusedException {
    Grants stripe = stripe(id);
    synchronized (stripe) {
      GrantEntry grant = known(stripe, id);
      Shards.Locked locked = lock(grant);
      try {
        long time = locked.advance(now);
        requireHeld(grant, time);
        long expiry = expiry(time, durationMs, ceiling);
        var widened = new LogSet[grant.entries.length];
        for (int i = 0; i < widened.length; i++) {
          WatermarkRule.check(grant.entries[i], report, time, limits);
          widened[i] = widened(grant.entries[i].logs(), addLogs);
        }
        for (int i = 0; i < widened.length; i++) {
          LeaseEntry entry = grant.entries[i];
          apply(entry, report, time);
          if (report.fenced()) {
            entry.fenced(time);
          }
          if (upgrade) {
            grant.full = true;
            entry.upgrade();
          }
          entry.prolong(time, expiry, widened[i]);
          grant.keepUntil = Math.max(grant.keepUntil, entry.expiry + limits.retentionNanos());
        }
        return witnesses(grant);
      } finally {
        locked.close();
      }
    }
  }

  /**
   * Gives the leases of a grant back; those of it that were tentative and broken are passed over.
   */
  void release(Id id, LeaseReport report, long now) throws LeaseRefusedException {
    Grants stripe = stripe(id);
    synchronized (stripe) {
      GrantEntry grant = known(stripe, id);
      if (grant.released) {
        return;
      }
      Shards.Locked locked = lock(grant);
      try {
        long time = locked.advance(now);
        if (grant.full) {
          requireHeld(grant, time);
        }
        for (LeaseEntry entry : grant.entries) {
          if (entry.grant == grant) {
            WatermarkRule.check(entry, report, time, limits);
          }
        }
        for (LeaseEntry entry : grant.entries) {
          if (entry.grant == grant) {
            apply(entry, report, time);
            entry.release(time, report.fenced());
          }
        }
        grant.release(time + limits.retentionNanos());
      } finally {
        locked.close();
      }
    }
  }

  Optional<LeaseInfo> show(LeaseName name, long now) {
    return shards.show(name.value(), instance, now);
  }

  /** A page of names; names that come and go meanwhile may or may not be in it. */
  List<LeaseInfo> list(String prefix, Optional<LeaseName> after, int limit, long now) {
    return shards.list(prefix, after.map(LeaseName::value).orElse(""), limit, instance, now);
  }

  /** Forgets the ids of grants that ended long ago. */
  void sweep(long now) {
    for (Grants stripe : stripes) {
      synchronized (stripe) {
        stripe.sweep(now);
      }
    }
  }

  /** How many ids of grants are remembered, ended ones included. */
  int grantsRemembered() {
    int sum = 0;
    for (Grants stripe : stripes) {
      synchronized (stripe) {
        sum += stripe.size();
      }
    }
    return sum;
  }

  private GrantEntry known(Grants stripe, Id id) throws LeaseRefusedException {
    GrantEntry grant = stripe.get(id);
    if (grant == null) {
      throw notHeld(
          "no grant has this id: it expired long ago, or the service was restarted; acquire anew");
    }
    return grant;
  }

  private void requireHeld(GrantEntry grant, long time) throws LeaseRefusedException {
    if (grant.released) {
      throw notHeld("the grant was released; acquire anew");
    }
    for (LeaseEntry entry : grant.entries) {
      requireHeld(grant, entry, time);
    }
  }

  private static void requireHeld(GrantEntry grant, LeaseEntry entry, long time)
      throws LeaseRefusedException {
    if (entry.grant != grant) {
      throw notHeld(
          !grant.full && entry.grant != null
              ? "the tentative lease on " + entry.name + " was broken; acquire anew"
              : "the lease on " + entry.name + " expired; acquire anew");
    }
    if (!entry.isHeld(time)) {
      throw notHeld(
          "the lease on "
              + entry.name
              + " expired "
              + (time - entry.expiry) / NANOS_PER_MS
              + " ms ago; acquire anew");
    }
  }

  private void apply(LeaseEntry entry, LeaseReport report, long time) {
    if (report.watermark().isPresent()) {
      entry.state(report.watermark().getAsLong(), time);
    }
    entry.addMetadata(report.metadata(), limits.metadataKept());
  }

  private LogSet widened(LogSet logs, LogSet add) throws LeaseRefusedException {
    if (logs.all() || add.isEmpty()) {
      return logs;
    }
    LogSet both = logs.union(add);
    if (both.ids().size() > WitnessCodec.MAX_LOGS) {
      throw invalid(both.ids().size() + " logs, more than " + WitnessCodec.MAX_LOGS);
    }
    return logSets.of(both);
  }

  private static long expiry(long time, long durationMs, long ceiling)
      throws LeaseRefusedException {
    long expiry = time + durationMs * NANOS_PER_MS;
    if (expiry > ceiling) {
      throw notYet("the service has to publish a higher ceiling first", expiry - ceiling);
    }
    return expiry;
  }

  private List<Witness> witnesses(GrantEntry grant) {
    return Arrays.stream(grant.entries).map(e -> e.witness(instance)).toList();
  }

  private Shards.Locked lock(GrantEntry grant) {
    return shards.lock(Arrays.stream(grant.entries).map(e -> e.name).toList());
  }

  private Grants stripe(Id id) {
    return stripes[Math.floorMod(id.low() ^ id.high(), stripes.length)];
  }
}
