package dev.cinch.bag.read;

import java.util.OptionalLong;

/**
 * A range that a read left out, since its messages expired (rule R4).
 *
 * @param from where it begins: no message before this is missing, nanoseconds since the Unix epoch;
 *     {@link Long#MIN_VALUE} where the log begins
 * @param to its end: nothing before this is kept, nanoseconds since the Unix epoch
 * @param messages how many are missing, those included that no lease permits; empty where that is
 *     not known
 * @param before how many messages the log had before {@code to}, all of them, so that the next one
 *     is number {@code before + 1}; empty where the read ends with the gap, and none follows
 * @param inside whether the read had given something before it, and so has a hole; else it only
 *     begins later than it was asked to, as every later read does
 */
public record Gap(long from, long to, OptionalLong messages, OptionalLong before, boolean inside) {
  /** The same in a read that goes on with an earlier one, which had come to {@code from}. */
  public Gap asInside() {
    return new Gap(from, to, messages, before, true);
  }
}
