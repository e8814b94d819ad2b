package dev.cinch.lease;

import java.util.OptionalLong;

/**
 * What a lease service says about itself. Immutable and thread-safe.
 *
 * @param instance its number (rule L9)
 * @param publicKey the key that checks its witnesses: 64 hexadecimal digits
 * @param longestLeaseMs the longest duration that it grants, milliseconds
 * @param now its signed time, nanoseconds since the Unix epoch
 * @param quarantineLeftMs how long until it grants, milliseconds; 0 when it does
 * @param clockBehindMs how far its wall clock has stepped back (rule L6), milliseconds; 0 normally
 * @param ceilings whether it publishes ceilings in a store (rule L3); if not, a restart relies on
 *     the quarantine alone
 * @param ceiling the last one published, nanoseconds since the Unix epoch; empty if none was
 * @param superseded whether it has stopped for good
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
    boolean superseded) {}
