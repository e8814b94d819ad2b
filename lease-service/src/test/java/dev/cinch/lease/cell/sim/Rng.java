package dev.cinch.lease.cell.sim;

import java.util.SplittableRandom;

/** What a seed draws. */
final class Rng {
  private final SplittableRandom random;

  Rng(long seed) {
    random = new SplittableRandom(seed);
  }

  int below(int bound) {
    return random.nextInt(bound);
  }

  long between(long low, long high) {
    return random.nextLong(low, high + 1);
  }

  boolean chance(double p) {
    return p > 0 && random.nextDouble() < p;
  }

  double real() {
    return random.nextDouble();
  }

  /** One of some durations, given in milliseconds, in nanoseconds. */
  long ms(long... choices) {
    return choices[random.nextInt(choices.length)] * Plan.MS;
  }

  double pick(double... choices) {
    return choices[random.nextInt(choices.length)];
  }
}
