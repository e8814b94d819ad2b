package dev.cinch.lease;

import java.util.Locale;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * What the lease service states about one lease when it grants, renews or upgrades it.
 *
 * <p>All times are signed 64-bit nanoseconds since the Unix epoch. The messages written under the
 * lease carry it, signed ({@link SignedWitness}), so that mutual exclusion can be checked
 * afterwards. Source: blog post, "Making this debuggable"; rules L1–L9.
 *
 * @param name the lease
 * @param holder who holds it, in its own words; at most 255 bytes of UTF-8; {@link OneLine#of}
 *     makes it fit to be shown, since a witness may have anything
 * @param instance the number of the service instance, from 1 (rule L9)
 * @param generation counts the grants of this name by this instance, from 1, a resumed lease among
 *     them; renewals and upgrades keep it
 * @param tentative whether the lease permits no writes and may be broken at any time
 * @param logs the logs that the holder may write to
 * @param expiry no message under it may have a timestamp at or above this
 * @param issuedAt signed time of issue; never decreases within an instance (rule L6)
 * @param correlation of this grant ({@link Correlation}); renewals, upgrades and resumes keep it
 * @param previous the correlation of the lease of this name before this one, if the service knows
 *     it
 * @param previousEnding how that one ended
 * @param previousEndedAt when it was released or broken; {@link Long#MIN_VALUE} when unknown or
 *     none
 * @param watermark inherited: every message under an earlier lease of this name that was released
 *     lies at or below it
 * @param fence what must be fenced before the holder reads or writes
 * @param resumed whether an earlier instance granted it, and this one goes on with it (rule L10)
 * @param time between which times it was at the time of issue
 */
public record Witness(
    LeaseName name,
    String holder,
    long instance,
    long generation,
    boolean tentative,
    LogSet logs,
    long expiry,
    long issuedAt,
    Id correlation,
    Optional<Id> previous,
    Ending previousEnding,
    long previousEndedAt,
    Watermark watermark,
    Fence fence,
    boolean resumed,
    TimeBound time) {

  /** The most logs that a set in a witness names; above that it is widened to all logs. */
  public static final int MAX_LOGS = 1_000;

  /**
   * Every timestamp under this lease is above this: the higher of the watermark and the fence
   * (section 7).
   */
  public long lowerBound() {
    return Math.max(watermark.timestamp(), fence.upTo());
  }

  /**
   * A fencing token: of the leases of a name, a later one's is above all of those before, as text
   * that is compared by its characters. Other storage that remembers the highest one keeps out a
   * holder that has lost its lease and does not know yet (docs/fencing.md). Take it when the lease
   * was acquired or resumed: renewals have later ones.
   *
   * @return 50 ASCII characters: instance, time of issue, generation, in which {@code audit} orders
   *     leases, too
   */
  public String fencingToken() {
    return String.format(Locale.ROOT, "%019d-%019d-%010d", instance, issuedAt, generation);
  }

  /**
   * By hand: Java puts a record's own together at its first use, which takes a tenth of a short
   * append under a lease.
   */
  @Override
  public boolean equals(@Nullable Object o) {
    return o instanceof Witness w
        && name.equals(w.name)
        && holder.equals(w.holder)
        && instance == w.instance
        && generation == w.generation
        && tentative == w.tentative
        && logs.equals(w.logs)
        && expiry == w.expiry
        && issuedAt == w.issuedAt
        && correlation.equals(w.correlation)
        && previous.equals(w.previous)
        && previousEnding == w.previousEnding
        && previousEndedAt == w.previousEndedAt
        && watermark.equals(w.watermark)
        && fence.equals(w.fence)
        && resumed == w.resumed
        && time.equals(w.time);
  }

  @Override
  public int hashCode() {
    return 31 * (31 * name.hashCode() + correlation.hashCode()) + Long.hashCode(expiry);
  }
}
