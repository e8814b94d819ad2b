package dev.cinch.lease.rules;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.Id;

/**
 * A full lease that was not released, as its instance remembers it (rule L11). Immutable and
 * thread-safe.
 *
 * @param name the lease's
 * @param correlation of the lease, which is of one name only
 */
@CheckReturnValue
public record Unreleased(String name, Id correlation) {}
