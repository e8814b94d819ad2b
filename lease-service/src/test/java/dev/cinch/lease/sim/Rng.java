package dev.cinch.lease.sim;

import java.util.SplittableRandom;
import java.util.random.RandomGenerator;

/** What a seed draws. */
public final class Rng {
  private final SplittableRandom random;

  public Rng(long seed) {
    random = new SplittableRandom(seed);
  }

  /** For classes that draw by themselves. */
  public RandomGenerator generator() {
    return random;
  }

  public int below(int bound) {
    return random.nextInt(bound);
  }

  public long between(long low, long high) {
    return random.nextLong(low, high + 1);
  }

  public boolean chance(double p) {
    return p > 0 && random.nextDouble() < p;
  }

  public double real() {
    return random.nextDouble();
  }

  /** One of some durations, given in milliseconds, in nanoseconds. */
  public long ms(long... choices) {
    return choices[random.nextInt(choices.length)] * 1_000_000;
  }

  public double pick(double... choices) {
    return choices[random.nextInt(choices.length)];
  }
}
