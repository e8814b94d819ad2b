package dev.cinch.lease.sim;

import java.util.random.RandomGenerator;

/** What a seed draws: a small and fast generator (SplitMix64). Of one world. */
public final class Rng implements RandomGenerator {
  private static final long GAMMA = 0x9E3779B97F4A7C15L;
  private static final long NANOS_PER_MS = 1_000_000;

  private long state;

  public Rng(long seed) {
    this.state = seed;
  }

  /** Another stream, for a purpose with a number of its own. */
  public static Rng of(long seed, long purpose) {
    var mixer = new Rng(seed ^ (purpose * 0xD1342543DE82EF95L));
    mixer.nextLong();
    return new Rng(mixer.nextLong());
  }

  @Override
  public long nextLong() {
    state += GAMMA;
    long z = state;
    z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
    z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
    return z ^ (z >>> 31);
  }

  /** From 0 to below {@code bound}. */
  public int below(int bound) {
    return (int) (((nextLong() >>> 32) * bound) >>> 32);
  }

  /** From {@code low} to {@code high}, both included. */
  public int between(int low, int high) {
    return low + below(high - low + 1);
  }

  /** From {@code low} to {@code high}, both included. */
  public long between(long low, long high) {
    return nextLong(low, high + 1);
  }

  /** From {@code low} to {@code high}, and half of the times one of these two. */
  public long edge(long low, long high) {
    return switch (below(4)) {
      case 0 -> low;
      case 1 -> high;
      default -> between(low, high);
    };
  }

  /** True once in so many times. */
  public boolean oneIn(int n) {
    return below(n) == 0;
  }

  /** True with that probability; draws nothing if it is 0. */
  public boolean chance(double p) {
    return p > 0 && nextDouble() < p;
  }

  /** From {@code low} to about {@code high}, every order of magnitude as likely as another. */
  public long spread(long low, long high) {
    return (long) (low * Math.exp(nextDouble() * Math.log((double) high / low)));
  }

  /** One of some durations, given in milliseconds, in nanoseconds. */
  public long ms(long... choices) {
    return choices[below(choices.length)] * NANOS_PER_MS;
  }

  public double pick(double... choices) {
    return choices[below(choices.length)];
  }
}
