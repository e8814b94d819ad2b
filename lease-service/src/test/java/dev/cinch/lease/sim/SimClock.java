package dev.cinch.lease.sim;

/** A node's clock, which goes at a rate of its own from a point on. Times are nanoseconds. */
public final class SimClock {
  private long since;
  private long shown;
  private double rate;

  public SimClock(long since, long shown, double rate) {
    this.since = since;
    this.shown = shown;
    this.rate = rate;
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
