package dev.cinch.lease.table;

import dev.cinch.lease.Id;

/**
 * A full lease that was not released, as its instance remembers it (rule L11).
 *
 * @param name the lease's
 * @param correlation of the lease, which is of one name only
 */
public record Tenure(String name, Id correlation) {}
