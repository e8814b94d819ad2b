package dev.cinch.cli.base;

import dev.cinch.cli.base.Converters.Moment;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The messages of some time: from one on, before another. */
@SuppressWarnings("NullAway.Init") // picocli sets the fields
public final class TimeRange {

  @Option(
      names = "--from",
      paramLabel = "TIME",
      description =
          "From this time on: now, -1h, 14:00, yesterday, 2026-11-23, 2026-11-23T14:00,"
              + " 2026-11-23T14:00:05.5Z, or seconds to nanoseconds since 1970. Without Z or an"
              + " offset like +01:00 it is in this machine's zone, or that of the variable TZ.")
  public @Nullable Moment from;

  @Option(names = "--to", paramLabel = "TIME", description = "Before this time.")
  public @Nullable Moment to;

  /** The first time of the range, {@link Long#MIN_VALUE} if it has no beginning. */
  public long start() {
    return from == null ? Long.MIN_VALUE : from.nanos();
  }

  /** The time after the range, {@link Long#MAX_VALUE} if it has no end. */
  public long end() {
    return to == null ? Long.MAX_VALUE : to.nanos();
  }

  /** Refuses a range in which nothing can be: most likely the two were mixed up. */
  public void check() {
    if (from != null && to != null && from.nanos() >= to.nanos()) {
      throw new Misuse(
          "the range is empty: --from "
              + Moment.text(from.nanos())
              + " is not before --to "
              + Moment.text(to.nanos()));
    }
  }
}
