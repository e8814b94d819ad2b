package dev.cinch.bag.model;

/**
 * The aligned interval of time {@code [start, start + width)} of one log: one closable bag.
 *
 * @param start nanoseconds since the Unix epoch, a multiple of {@code width}
 * @param width nanoseconds, above 0
 */
public record Bucket(long start, long width) implements Comparable<Bucket> {
  public Bucket {
    if (width <= 0 || Math.floorMod(start, width) != 0) {
      throw new IllegalArgumentException("no bucket of width " + width + " starts at " + start);
    }
  }

  /** The bucket that a timestamp belongs to. */
  public static Bucket of(long timestamp, long width) {
    return new Bucket(floor(timestamp, width), width);
  }

  /** The highest bucket boundary not above the time. */
  public static long floor(long time, long width) {
    return Math.multiplyExact(Math.floorDiv(time, width), width);
  }

  /** The lowest bucket boundary not below the time (rule H5: fences round up). */
  public static long ceiling(long time, long width) {
    return Math.negateExact(floor(Math.negateExact(time), width));
  }

  /** The first time after it. */
  public long end() {
    return start + width;
  }

  public boolean contains(long timestamp) {
    return timestamp >= start && timestamp < end();
  }

  @Override
  public int compareTo(Bucket other) {
    return Long.compare(start, other.start);
  }
}
