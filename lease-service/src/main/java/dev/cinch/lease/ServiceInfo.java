package dev.cinch.lease;

import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * What a lease service says about itself. Immutable and thread-safe.
 *
 * @param instance its number (rule L9)
 * @param publicKey the key that checks its witnesses, or stands for those of its cell: 64
 *     hexadecimal digits
 * @param longestLeaseMs the longest duration that it grants, milliseconds
 * @param now its signed time, nanoseconds since the Unix epoch
 * @param quarantineLeftMs how long until it grants, milliseconds; 0 when it does
 * @param clockBehindMs how far its wall clock has stepped back (rule L6), milliseconds; 0 normally
 * @param ceilings whether it publishes ceilings in a store (rule L3); if not, a restart relies on
 *     the quarantine alone
 * @param ceiling the last one published, nanoseconds since the Unix epoch; empty if none was
 * @param superseded whether it has stopped for good
 * @param time between which times it was when it said so; empty of a version that does not tell
 * @param timeProblems in words: sources of that which do not answer, or contradict each other
 */
public record ServiceInfo(
    long instance,
    String publicKey,
    long longestLeaseMs,
    long now,
    long quarantineLeftMs,
    long clockBehindMs,
    boolean ceilings,
    OptionalLong ceiling,
    boolean superseded,
    Optional<TimeBound> time,
    List<String> timeProblems) {
  public ServiceInfo {
    timeProblems = List.copyOf(timeProblems);
  }
}
