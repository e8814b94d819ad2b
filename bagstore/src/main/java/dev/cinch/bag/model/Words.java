package dev.cinch.bag.model;

import java.util.Locale;

/** Numbers as people read them. */
public final class Words {
  private static final String[] UNITS = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};

  private Words() {}

  /**
   * A span of time, roughly: {@code 850 ms}, {@code 12 s}, {@code 5 min}, {@code 3 h}, {@code 2 d}.
   */
  public static String span(long nanos) {
    long ms = Math.abs(nanos / 1_000_000);
    if (ms < 1_000) {
      return ms + " ms";
    } else if (ms < 120_000) {
      return ms / 1_000 + " s";
    } else if (ms < 120 * 60_000) {
      return ms / 60_000 + " min";
    } else if (ms < 48 * 3_600_000L) {
      return ms / 3_600_000 + " h";
    }
    return ms / 86_400_000 + " d";
  }

  /** A number of bytes, roughly: {@code 17 bytes}, {@code 1.4 MiB}. */
  public static String bytes(long bytes) {
    if (bytes < 1_024) {
      return bytes + " bytes";
    }
    double size = bytes;
    int unit = 0;
    while (size >= 1_024 && unit < UNITS.length - 1) {
      size /= 1_024;
      unit++;
    }
    return String.format(Locale.ROOT, "%.1f %s", size, UNITS[unit]);
  }

  /** A count, with thousands apart. */
  public static String count(long n) {
    return String.format(Locale.ROOT, "%,d", n);
  }
}
