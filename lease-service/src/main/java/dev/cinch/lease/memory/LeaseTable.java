package dev.cinch.lease.memory;

import static dev.cinch.lease.memory.Refusals.held;
import static dev.cinch.lease.memory.Refusals.invalid;
import static dev.cinch.lease.memory.Refusals.notHeld;
import static dev.cinch.lease.memory.Refusals.notYet;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.AcquireRequest;
import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseInfo;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Witness;
import dev.cinch.lease.witness.WitnessCodec;
import java.util.ArrayList;
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
  private final LogSets logSets = new LogSets();
  private int nextStripe;

  /**
   * @param instance number of the service instance, from 1
   * @param origin what names never seen inherit
   * @param random for correlations; thread-safe
   */
  LeaseTable(TableLimits limits, long instance, Inheritance origin, RandomGenerator random) {
    this.limits = limits;
    this.instance = instance;
    this.random = random;
    this.shards = new Shards(limits, origin, logSets);
    this.stripes = new Grants[limits.shards()];
    // As many as can be held, in stripes that are never filled quite alike, and some that ended.
    int soft = limits.maxEntriesPerShard() + limits.maxEntriesPerShard() / 4 + 64;
    long bytes = limits.maxBytesPerShard();
    long softBytes = bytes > Long.MAX_VALUE / 2 ? bytes : bytes + bytes / 4;
    for (int i = 0; i < stripes.length; i++) {
      stripes[i] = new Grants(soft, softBytes, limits.retentionNanos(), logSets);
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
      if (stripe.wasReleased(request.id())) {
        throw notHeld("this request was granted and released; acquire with a new id");
      }
      if (stripe.wasGivenUp(request.id())) {
        throw notHeld("this request was given back before it came; acquire with a new id");
      }
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
        var leases = new ArrayList<LeaseEntry>(names.size());
        for (LeaseName name : names) {
          leases.add(grantOne(name, request, time, expiry));
        }
        boundFences(leases);
        return keep(stripe, request.id(), leases, time);
      } finally {
        locked.close();
      }
    }
  }

  /**
   * Refuses a new request for a name that is held, as {@link #acquire} would: before anything is
   * published for it that a later instance would have to wait for.
   */
  void requireFree(AcquireRequest request, long now) throws LeaseRefusedException {
    Grants stripe = stripe(request.id());
    synchronized (stripe) {
      if (stripe.get(request.id()) != null) {
        return; // it may be the holder
      }
    }
    for (LeaseName name : request.names()) {
      Optional<LeaseInfo> present = show(name, now);
      if (present.isPresent() && present.get().state() == LeaseInfo.State.HELD) {
        Witness w = present.get().witness();
        throw held(name, w.holder(), w.expiry() - now);
      }
    }
  }

  /** Refuses what {@link #renew} and {@link #upgrade} would for want of a grant, likewise. */
  void requireKnown(Id id) throws LeaseRefusedException {
    Grants stripe = stripe(id);
    synchronized (stripe) {
      GrantEntry unused = known(stripe, id);
    }
  }

  private List<Witness> repeat(
      GrantEntry grant, AcquireRequest request, List<LeaseName> names, long now)
      throws LeaseRefusedException {
    if (!grant.isFor(request, names)) {
      throw invalid("another request had this id");
    }
    Shards.Locked locked = shards.lock(grant.names());
    try {
      return witnesses(requireHeld(grant, locked.advance(now)));
    } finally {
      locked.close();
    }
  }

  /** A lease as it would be granted; nothing is kept yet. */
  private LeaseEntry grantOne(LeaseName name, AcquireRequest request, long time, long expiry)
      throws LeaseRefusedException {
    Shard shard = shards.of(name.value());
    LeaseEntry entry = shard.get(name.value());
    Inheritance from;
    if (entry == null) {
      from = shard.unknown();
      entry = new LeaseEntry(name.value());
    } else {
      if (entry.state == LeaseEntry.State.FULL && entry.isHeld(time)) {
        throw held(name, entry.holder, entry.expiry - time);
      }
      from = entry.inheritance(time);
    }
    // The first half is the time of the grant, the second keeps correlations apart.
    entry.grant(request, from, time, expiry, new Id(time, random.nextLong()));
    return entry;
  }

  /**
   * Keeps short what the fences of one grant say: those that name too many logs together are for
   * all logs, as one of them is that names too many (rule L4).
   */
  private static void boundFences(List<LeaseEntry> leases) {
    int together = 0;
    for (LeaseEntry lease : leases) {
      int named = lease.fenceLogs.ids().size();
      if (together + named > Grant.MAX_LOGS) {
        lease.fenceLogs = LogSet.ALL;
      } else {
        together += named;
      }
    }
  }

  /** Puts changed leases of a grant in the place of what was there. */
  private List<Witness> keep(Grants stripe, Id grant, List<LeaseEntry> leases, long time) {
    var rows = new ArrayList<byte[]>(leases.size());
    for (LeaseEntry lease : leases) {
      rows.add(keep(lease));
    }
    stripe.put(grant, rows, time);
    return witnesses(leases);
  }

  private byte[] keep(LeaseEntry lease) {
    byte[] row = LeaseRow.pack(lease, logSets);
    shards.of(lease.name).rows.put(row);
    return row;
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
      Shards.Locked locked = shards.lock(grant.names());
      try {
        long time = locked.advance(now);
        List<LeaseEntry> leases = requireHeld(grant, time);
        long expiry = expiry(time, durationMs, ceiling);
        int together = 0;
        for (LeaseEntry lease : leases) {
          WatermarkRule.check(lease, report, time, limits);
          LogSet widened = widened(lease.logs, addLogs);
          together += widened.ids().size();
          // At once: all unions could take more memory than there is. Who adds none has no more.
          if (together > Grant.MAX_LOGS) {
            throw invalid(
                "%d leases would name more than %d logs together; add all logs instead"
                    .formatted(leases.size(), Grant.MAX_LOGS));
          }
          apply(lease, report, time);
          if (report.fenced()) {
            lease.fenced(time);
          }
          if (upgrade) {
            lease.upgrade();
          }
          lease.prolong(time, expiry, widened);
        }
        return keep(stripe, id, leases, time);
      } finally {
        locked.close();
      }
    }
  }

  /**
   * Gives the leases of a grant back; those of it that were tentative and broken are passed over. A
   * request that is not known may be still on its way, from somebody who gave it up: it is not
   * granted when it comes, since nobody would ever give it back.
   */
  void release(Id id, LeaseReport report, long now) throws LeaseRefusedException {
    Grants stripe = stripe(id);
    synchronized (stripe) {
      if (stripe.wasReleased(id)) {
        return;
      }
      if (stripe.get(id) == null) {
        stripe.giveUp(id, now);
      }
      GrantEntry grant = known(stripe, id);
      Shards.Locked locked = shards.lock(grant.names());
      try {
        long time = locked.advance(now);
        List<LeaseEntry> leases = grant.full ? requireHeld(grant, time) : own(grant);
        for (LeaseEntry lease : leases) {
          WatermarkRule.check(lease, report, time, limits);
          apply(lease, report, time);
          lease.release(time, report.fenced());
        }
        for (LeaseEntry lease : leases) {
          byte[] unused = keep(lease);
        }
        stripe.release(id, time);
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

  /**
   * Forgets the ids of grants that ended long ago, in an eighth of the stripes: a walk over all at
   * every call is a lot with ten million. From one thread at a time.
   */
  void sweep(long now) {
    for (int i = 0; i < (stripes.length + 7) / 8; i++) {
      Grants stripe = stripes[nextStripe++ % stripes.length];
      synchronized (stripe) {
        stripe.sweep(now);
      }
    }
    nextStripe %= stripes.length;
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
    if (stripe.wasReleased(id)) {
      throw notHeld("the grant was released; acquire anew");
    }
    GrantEntry grant = stripe.get(id);
    if (grant == null) {
      throw notHeld(
          "no grant has this id: it expired long ago, or the service was restarted; acquire anew");
    }
    return grant;
  }

  /** All leases of a grant, to work on. */
  private List<LeaseEntry> requireHeld(GrantEntry grant, long time) throws LeaseRefusedException {
    var leases = new ArrayList<LeaseEntry>();
    for (String name : grant.names()) {
      LeaseEntry lease = shards.of(name).get(name);
      if (lease == null || !lease.belongsTo(grant.id)) {
        boolean taken = lease != null && lease.state != LeaseEntry.State.RELEASED;
        throw notHeld(
            !grant.full && taken
                ? "the tentative lease on " + name + " was broken; acquire anew"
                : "the lease on " + name + " expired; acquire anew");
      }
      if (!lease.isHeld(time)) {
        throw notHeld(
            "the lease on "
                + name
                + " expired "
                + (time - lease.expiry) / NANOS_PER_MS
                + " ms ago; acquire anew");
      }
      leases.add(lease);
    }
    return leases;
  }

  /** The leases of a grant that nobody else has taken, to work on. */
  private List<LeaseEntry> own(GrantEntry grant) {
    var leases = new ArrayList<LeaseEntry>();
    for (String name : grant.names()) {
      LeaseEntry lease = shards.of(name).get(name);
      if (lease != null && lease.belongsTo(grant.id)) {
        leases.add(lease);
      }
    }
    return leases;
  }

  private void apply(LeaseEntry entry, LeaseReport report, long time) {
    if (report.watermark().isPresent()) {
      entry.state(report.watermark().getAsLong(), time);
    }
    // It is but a hint, and all that a renewal can let grow.
    boolean full = shards.of(entry.name).isFull();
    entry.addMetadata(report.metadata(), full ? 0 : limits.metadataKept());
  }

  private LogSet widened(LogSet logs, LogSet add) throws LeaseRefusedException {
    if (logs.all() || add.isEmpty()) {
      return logs;
    }
    LogSet both = logs.union(add);
    if (both.ids().size() > WitnessCodec.MAX_LOGS) {
      throw invalid(
          "%d logs, more than %d; add all instead"
              .formatted(both.ids().size(), WitnessCodec.MAX_LOGS));
    }
    return both;
  }

  private static long expiry(long time, long durationMs, long ceiling)
      throws LeaseRefusedException {
    long expiry = time + durationMs * NANOS_PER_MS;
    if (expiry > ceiling) {
      throw notYet("the service has to publish a higher ceiling first", expiry - ceiling);
    }
    return expiry;
  }

  private List<Witness> witnesses(List<LeaseEntry> leases) {
    return leases.stream().map(e -> e.witness(instance)).toList();
  }

  private Grants stripe(Id id) {
    return stripes[Math.floorMod(id.low() ^ id.high(), stripes.length)];
  }
}
