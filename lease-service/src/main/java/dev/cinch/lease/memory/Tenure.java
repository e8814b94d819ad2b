package dev.cinch.lease.memory;

import dev.cinch.lease.Id;

/**
 * A lease as this instance remembers it.
 *
 * @param name the lease's
 * @param correlation of the lease, which is of one name only
 */
record Tenure(String name, Id correlation) {}
