package dev.cinch.bag;

import dev.cinch.bag.write.Timestamps;
import dev.cinch.lease.Fence;
import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.Witness;
import dev.cinch.lease.hold.HeldLease;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongBinaryOperator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What a session remembers of one grant. Thread-safe. */
final class Holding {
  private static final Logger LOG = LoggerFactory.getLogger(Holding.class);

  // Made with the class: noting what was written must not fail for want of memory.
  private static final LongBinaryOperator MAX = Math::max;
  private static final LongBinaryOperator MIN = Math::min;

  private final Timestamps timestamps;
  private final boolean own;
  private final AtomicLong highest = new AtomicLong(Long.MIN_VALUE);
  private final AtomicLong lowest = new AtomicLong(Long.MAX_VALUE);
  private volatile boolean fenced;
  private volatile LeaseReport.@Nullable Metadata recent;
  private volatile @Nullable HeldLease lease;
  private volatile long instance;

  /**
   * What the witnesses said when the leases were taken: later ones may carry less, once the fence
   * was reported.
   */
  private final Fence fence;

  private final long lowerBound;

  /**
   * @param timestamps of this process
   * @param own whether this session gives the leases back; others hold them too if not
   */
  Holding(Timestamps timestamps, List<SignedWitness> witnesses, boolean own) {
    this.timestamps = timestamps;
    this.own = own;
    Fence all = Fence.NONE;
    long bound = Long.MIN_VALUE;
    for (SignedWitness s : witnesses) {
      Witness w = s.witness();
      all = all.and(w.fence());
      bound = Math.max(bound, w.lowerBound());
    }
    this.fence = all;
    this.lowerBound = bound;
    this.instance = witnesses.get(0).witness().instance();
  }

  boolean isOwn() {
    return own;
  }

  void holds(HeldLease held) {
    lease = held;
  }

  boolean isHeld() {
    return lease != null;
  }

  HeldLease lease() {
    HeldLease held = lease;
    if (held == null) {
      throw new IllegalStateException("not yet acquired");
    }
    return held;
  }

  Fence fence() {
    return fence;
  }

  long lowerBound() {
    return lowerBound;
  }

  /** The instance of the lease service whose witnesses count. */
  long instance() {
    return instance;
  }

  void goesBy(long number) {
    instance = number;
  }

  void fenceDone() {
    fenced = true;
  }

  /** An upper bound on what is written: counts from before the write on. */
  void wrote(long timestamp) {
    highest.accumulateAndGet(timestamp, MAX);
    lowest.accumulateAndGet(timestamp, MIN);
  }

  void stands(LeaseReport.Metadata where) {
    recent = where;
  }

  LeaseReport report() {
    // Not what was refused before it was written: with a clock that was ahead for a while, the
    // service would refuse the watermark, or the next holder would have to wait for it.
    long watermark = Math.min(highest.get(), timestamps.highest());
    LeaseReport.Metadata where = recent;
    return new LeaseReport(
        watermark < lowest.get() ? OptionalLong.empty() : OptionalLong.of(watermark),
        fenced,
        where == null ? List.of() : List.of(where));
  }

  /** The others may go by a later instance, where the next renewal would have resumed them. */
  void askWhoAnswers() {
    try {
      Grant unused = lease().renew(LogSet.NONE);
    } catch (LeaseRefusedException | LeaseUnavailableException e) {
      LOG.debug("before they are left: {}", e.toString());
    }
  }

  /** The logs that every one of its leases permits to write to, as far as a name is asked for. */
  boolean permits(Id log) {
    return lease().witnesses().stream().allMatch(s -> s.witness().logs().contains(log));
  }

  /** What a renewal adds for a log: it alone, or all where the witnesses can't name it as well. */
  LogSet toGain(Id log) {
    List<SignedWitness> witnesses = lease().witnesses();
    int most = 0;
    for (SignedWitness s : witnesses) {
      most = Math.max(most, s.witness().logs().ids().size());
    }
    return canBeNamed(witnesses.size(), most + 1) ? LogSet.of(List.of(log)) : LogSet.ALL;
  }

  /** Whether the witnesses of one request can name so many logs, each of them. */
  static boolean canBeNamed(int names, int logs) {
    return logs <= Witness.MAX_LOGS && (long) names * logs <= Grant.MAX_LOGS;
  }
}
