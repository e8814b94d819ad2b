package dev.cinch.bag.audit;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.audit.AuditedLease.Place;
import dev.cinch.bag.audit.AuditedLease.Use;
import dev.cinch.bag.audit.LeaseAuditor.LogHorizon;
import dev.cinch.bag.audit.Violation.Rule;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.lease.Ending;
import dev.cinch.lease.Fence;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LogSet;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Compares the leases of each name with one another. Pure: no I/O, no clock.
 *
 * <p>Whether a fence was made before the holder wrote needs no clock either: a message committed
 * before the record that settles its bucket was linked, so when it was written the horizon stood no
 * further than where that record begins.
 */
@CheckReturnValue
final class NameAudit {
  private final Map<LeaseName, List<AuditedLease>> byName = new TreeMap<>();
  private final Map<Id, AuditedLease> byCorrelation = new HashMap<>();
  private final Map<Id, LogHorizon> horizons;
  private final StoreSettings settings;
  private final Consumer<Violation> violated;
  private long handovers;
  private long fences;

  NameAudit(
      Collection<AuditedLease> leases,
      Map<Id, LogHorizon> horizons,
      StoreSettings settings,
      Consumer<Violation> violated) {
    this.horizons = horizons;
    this.settings = settings;
    this.violated = violated;
    for (AuditedLease lease : leases) {
      if (!lease.uses.isEmpty()) {
        byName.computeIfAbsent(lease.name, n -> new ArrayList<>()).add(lease);
        byCorrelation.put(lease.correlation, lease);
      }
    }
    // The order of grants: instances are numbered, and within one the time of issue never
    // decreases (rules L6, L9). A lease that was resumed keeps its place: after it the instance
    // before grants the name to nobody, and the one that resumed it has granted it to nobody yet.
    for (List<AuditedLease> same : byName.values()) {
      same.sort(
          Comparator.comparingLong(AuditedLease::instance)
              .thenComparingLong(l -> l.issuedFirst)
              .thenComparingLong(AuditedLease::generation));
    }
  }

  long names() {
    return byName.size();
  }

  long handovers() {
    return handovers;
  }

  long fences() {
    return fences;
  }

  void check() {
    for (List<AuditedLease> same : byName.values()) {
      var followers = new HashMap<Id, AuditedLease>();
      @Nullable AuditedLease before = null;
      @Nullable Place latest = null; // the highest timestamp under any earlier lease of the name
      long earlierInstances = Long.MIN_VALUE; // the highest expiry of theirs
      long thisInstance = Long.MIN_VALUE;
      for (AuditedLease lease : same) {
        if (before != null) {
          handovers++;
          if (knowsNoneBefore(lease, before)) {
            earlierInstances = Math.max(earlierInstances, thisInstance);
          }
        }
        chain(lease, before, followers);
        range(lease, before, latest, earlierInstances);
        fence(lease, before, earlierInstances);
        before = lease;
        thisInstance = Math.max(thisInstance, lease.expiry);
        Place last = lease.last();
        latest = latest == null || last.timestamp() > latest.timestamp() ? last : latest;
      }
    }
  }

  /**
   * Whether an instance granted a lease that knew nothing of the one before, which was of an
   * earlier instance. One that resumed leases of that knows how they ended (rule L10), one to which
   * it left last words knows as well (rule L19), and so does who follows there a lease that left no
   * trace: the one before it may have been resumed, not written under since, and released.
   */
  private boolean knowsNoneBefore(AuditedLease lease, AuditedLease before) {
    boolean released = lease.previous.isPresent() && lease.previousEnding == Ending.RELEASED;
    boolean followsUnseen = lease.previous.filter(p -> !byCorrelation.containsKey(p)).isPresent();
    return before.lastInstance() < lease.instance()
        && !lease.grantedEarlier()
        && !released
        && !follows(lease, before)
        && !followsUnseen;
  }

  private void violated(Rule rule, Place at, String problem) {
    violated.accept(new Violation(rule, at.path(), at.offset(), problem));
  }

  private void chain(
      AuditedLease lease, @Nullable AuditedLease before, Map<Id, AuditedLease> followers) {
    Place at = lease.first();
    if (lease.previous.isEmpty()) {
      if (lease.previousEnding == Ending.RELEASED || lease.previousEnding == Ending.BROKEN) {
        violated(
            Rule.CHAIN,
            at,
            "lease %s says that the one before was %s, and not which"
                .formatted(lease, lease.previousEnding));
      } else if (lease.previousEnding == Ending.NONE && before != null) {
        violated(
            Rule.CHAIN,
            at,
            "lease %s says that there was none before, and %s was".formatted(lease, before));
      }
      return;
    }
    Id previous = lease.previous.get();
    AuditedLease other = followers.put(previous, lease);
    // An instance that resumed a lease in vain goes by that, whoever follows at the one before.
    if (other != null && !isInVain(lease, other)) {
      violated(
          Rule.CHAIN,
          at,
          "leases %s and %s both follow correlation %s".formatted(other, lease, previous));
    }
    AuditedLease named = byCorrelation.get(previous);
    if (named != null && named != before && !(isInVain(lease, before) && isInVain(lease, named))) {
      violated(
          Rule.CHAIN,
          at,
          "lease %s names %s as the one before, which is not the last before it"
              .formatted(lease, named));
    }
  }

  /**
   * Whether another lease is of an earlier instance, and this one may follow what its own instance
   * resumed in vain: then it says that this was broken, whoever followed at the earlier one.
   */
  private static boolean isInVain(AuditedLease lease, @Nullable AuditedLease other) {
    return other != null
        && other.lastInstance() < lease.instance()
        && lease.previousEnding != Ending.RELEASED;
  }

  /** The lease before, if this one names it and it wrote something. */
  private static boolean follows(AuditedLease lease, @Nullable AuditedLease before) {
    return before != null && lease.previous.filter(before.correlation::equals).isPresent();
  }

  private void range(
      AuditedLease lease,
      @Nullable AuditedLease before,
      @Nullable Place latest,
      long earlierInstances) {
    if (before == null || latest == null) {
      return;
    }
    if (latest.timestamp() > lease.lowerBound) {
      violated(
          Rule.RANGE,
          latest,
          "the message with timestamp %d was written under an earlier lease of %s, yet lies above %d, the lower bound of %s"
              .formatted(latest.timestamp(), lease.name, lease.lowerBound, lease));
    }
    long must = earlierInstances;
    if (follows(lease, before)) {
      if (lease.previousEnding != Ending.RELEASED) {
        must = Math.max(must, before.expiry);
      } else if (before.last().timestamp() > lease.watermark) {
        violated(
            Rule.RANGE,
            before.last(),
            "the message with timestamp %d lies above the watermark %d with which lease %s was released"
                .formatted(before.last().timestamp(), lease.watermark, before));
      }
    }
    if (lease.lowerBound < must) {
      violated(
          Rule.RANGE,
          lease.first(),
          "lease %s has the lower bound %d, below %d, the expiry of a lease before it that was not released"
              .formatted(lease, lease.lowerBound, must));
    }
  }

  /** What the lease had to fence, by its own witnesses and by those of the leases before it. */
  private void fence(AuditedLease lease, @Nullable AuditedLease before, long earlierInstances) {
    Fence must = lease.fence;
    if (before != null && follows(lease, before) && lease.previousEnding != Ending.RELEASED) {
      must = must.and(new Fence(before.expiry, before.logs));
    }
    if (earlierInstances != Long.MIN_VALUE
        && before != null
        && lease.previousEnding == Ending.UNKNOWN) {
      must = must.and(new Fence(earlierInstances, LogSet.ALL));
    }
    if (must.isNone()) {
      return;
    }
    fences++;
    long boundary = Bucket.ceiling(must.upTo(), settings.bucketWidthNanos()); // rule H5
    for (Map.Entry<Id, Use> e : lease.uses.entrySet()) {
      Use use = e.getValue();
      if (concerns(must, e.getKey()) && use.horizonBefore < boundary) {
        violated(
            Rule.FENCE,
            use.earliestSettled,
            "the message with timestamp %d was written under %s before the horizon had passed %d: the record that settles it begins at %d"
                .formatted(use.earliestSettled.timestamp(), lease, boundary, use.horizonBefore));
      }
    }
    others(lease, must, boundary);
  }

  /**
   * Whether a log must be settled through a fence. One that was made at or above it need not be:
   * under leases nothing is written at or below that time (section 7), so no earlier holder's
   * message can come into existence there. {@link LeaseAuditor} looks that none did.
   */
  private boolean concerns(Fence must, Id log) {
    LogHorizon of = horizons.get(log);
    return must.logs().contains(log) && (of == null || of.created() < must.upTo());
  }

  /**
   * The logs concerned that the holder did not write to: their horizon must have passed the fence
   * by now; when it did is not in the files.
   */
  private void others(AuditedLease lease, Fence must, long boundary) {
    long slack = (settings.clockAheadMs() + settings.clockBehindMs()) * 1_000_000;
    for (Map.Entry<Id, LogHorizon> e : horizons.entrySet()) {
      LogHorizon log = e.getValue();
      boolean existed = log.created() < lease.issuedFirst - slack;
      if (existed
          && concerns(must, e.getKey())
          && !lease.uses.containsKey(e.getKey())
          && log.settled() < boundary) {
        violated(
            Rule.FENCE,
            lease.first(),
            "%s wrote, and the horizon of log %s, which had to be fenced, has not passed %d"
                .formatted(lease, log.name(), boundary));
      }
    }
  }
}
