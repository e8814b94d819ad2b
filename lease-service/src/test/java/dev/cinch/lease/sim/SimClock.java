package dev.cinch.lease.sim;

/** A node's clock, which goes at a rate of its own from a point on. Times are nanoseconds. */
public final class SimClock {
  /** What right clocks show when a world begins, nanoseconds since the Unix epoch. */
  public static final long EPOCH = 1_800_000_000_000_000_000L;

  private long since;
  private long shown;
  private double rate;

  public SimClock(long since, long shown, double rate) {
    this.since = since;
    this.shown = shown;
    this.rate = rate;
  }

  /** A rate that is off by so many millionths at most, and often by just these. */
  public static double rate(Rng rng, int errorPpm) {
    return 1 + rng.edge(-errorPpm, errorPpm) / 1e6;
  }

  /** One that shows anything first. */
  public static SimClock anywhere(long since, Rng rng, double rate) {
    return new SimClock(since, rng.below(1_000_000) * 1_000_000L, rate);
  }

  public long read(long time) {
    return shown + (long) ((time - since) * rate);
  }

  /** Goes on with another rate. */
  public void turn(long time, double newRate) {
    step(time, read(time));
    rate = newRate;
  }

  /** Shows something else from now on. */
  public void step(long time, long value) {
    since = time;
    shown = value;
  }

  /** When it will show a value, if nothing changes. */
  public long when(long value) {
    return since + (long) Math.ceil((value - shown) / rate);
  }
}
