package dev.cinch.lease;

/** Witnesses that differ from others in what a test is about. Stateless. */
public final class Altered {
  private Altered() {}

  /** With another watermark, and another bound of time. */
  public static Witness of(Witness w, Watermark watermark, TimeBound time) {
    return new Witness(
        w.name(),
        w.holder(),
        w.instance(),
        w.generation(),
        w.tentative(),
        w.logs(),
        w.expiry(),
        w.issuedAt(),
        w.correlation(),
        w.previous(),
        w.previousEnding(),
        w.previousEndedAt(),
        watermark,
        w.fence(),
        w.resumed(),
        time);
  }

  /**
   * Issued with a bound of a second, and with a watermark that was told at the time of issue.
   *
   * @param aheadNanos how far that is ahead of the latest that it could be then, nanoseconds
   */
  public static Witness ahead(Witness w, long aheadNanos) {
    var bound = TimeBound.around(w.issuedAt(), 1_000_000_000L, TimeBound.Kind.ASSUMED);
    long latest = bound.latest();
    return of(w, new Watermark(latest + aheadNanos, w.issuedAt(), latest), bound);
  }
}
