package dev.cinch.bag.read;

import dev.cinch.lease.IsoTime;
import java.io.IOException;

/**
 * Messages expired while they were read (rule R4), and the reader took no account of that. Nothing
 * is damaged: a read that begins anew gives what is kept.
 */
public final class GapException extends IOException {
  private static final long serialVersionUID = 1;

  private final transient Gap gap;

  public GapException(Gap gap) {
    super(text(gap));
    this.gap = gap;
  }

  /** What is missing. */
  public Gap gap() {
    return gap;
  }

  /** In words, without an end. */
  public static String text(Gap gap) {
    String which = gap.from() == Long.MIN_VALUE ? "" : "from " + time(gap.from()) + " ";
    String count =
        gap.messages().isPresent() ? gap.messages().getAsLong() + " messages" : "messages";
    return "%s %sto %s expired while the log was read, and are left out"
        .formatted(count, which, time(gap.to()));
  }

  private static String time(long nanos) {
    long second = Math.floorDiv(nanos, 1_000_000_000L);
    return IsoTime.second(second) + ".%09dZ".formatted(Math.floorMod(nanos, 1_000_000_000L));
  }
}
