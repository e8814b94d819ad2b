package dev.cinch.lease;

import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Between which times it is now.
 *
 * @param earliest it is at least that late, nanoseconds since the Unix epoch
 * @param latest it is at most that late, nanoseconds since the Unix epoch; not before {@code
 *     earliest}
 * @param kind where the bound comes from
 */
public record TimeBound(long earliest, long latest, Kind kind) {
  /** Where a bound comes from. */
  public enum Kind {
    /** Nobody was asked: the machine's clock is taken to be right but for a guess. */
    ASSUMED,
    /** Somebody was asked, and says how far off the answer may be. */
    MEASURED
  }

  /**
   * @throws IllegalArgumentException if it would be empty
   */
  public TimeBound {
    if (earliest > latest) {
      throw new IllegalArgumentException("a bound ends " + latest + " before " + earliest);
    }
  }

  /**
   * A bound of so much to both sides. What no number holds is cut off.
   *
   * @param midpoint nanoseconds since the Unix epoch
   * @param radius nanoseconds, 0 or more
   */
  public static TimeBound around(long midpoint, long radius, Kind kind) {
    return new TimeBound(plus(midpoint, -radius), plus(midpoint, radius), kind);
  }

  /** The middle, nanoseconds since the Unix epoch, rounded down. */
  public long midpoint() {
    return earliest + ((latest - earliest) >>> 1);
  }

  /** How far the ends are from the middle, nanoseconds, rounded up; 0 or more. */
  public long radius() {
    long half = (latest - earliest) >>> 1;
    return ((latest - earliest) & 1) == 0 ? half : half + 1;
  }

  /** Whether a time is in it, both ends included. */
  public boolean contains(long nanos) {
    return nanos >= earliest && nanos <= latest;
  }

  /** The same bound, some time later. */
  public TimeBound later(long nanos) {
    return new TimeBound(plus(earliest, nanos), plus(latest, nanos), kind);
  }

  /**
   * The same bound, wider by so much at both ends.
   *
   * @param nanos 0 or more
   */
  public TimeBound wider(long nanos) {
    return new TimeBound(plus(earliest, -nanos), plus(latest, nanos), kind);
  }

  /** Like {@code ±1.500 s, measured}. */
  public String inWords() {
    long ms = radius() / TimeUnit.MILLISECONDS.toNanos(1);
    String unit = ms < 10_000 ? ms + " ms" : ms / 1_000 + " s";
    return "±" + unit + (kind == Kind.MEASURED ? ", measured" : ", assumed");
  }

  /** By hand, as that of {@link dev.cinch.lease.Witness}. */
  @Override
  public boolean equals(@Nullable Object o) {
    return o instanceof TimeBound b
        && earliest == b.earliest
        && latest == b.latest
        && kind == b.kind;
  }

  @Override
  public int hashCode() {
    return 31 * Long.hashCode(earliest) + Long.hashCode(latest);
  }

  static long plus(long nanos, long more) {
    long sum = nanos + more;
    boolean overflow = ((nanos ^ sum) & (more ^ sum)) < 0;
    return overflow ? (more < 0 ? Long.MIN_VALUE : Long.MAX_VALUE) : sum;
  }
}
