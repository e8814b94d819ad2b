package dev.cinch.bag.audit;

import dev.cinch.bag.model.Name;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;

/**
 * A lease that settled messages were written under, and the last of them.
 *
 * @param correlation of the lease, which begins with the time of its grant
 * @param path the data file or, of a retired bucket, the segment
 * @param offset where in it the batch, or the block of a segment, begins; bytes
 * @param timestamp of the message, nanoseconds since the Unix epoch
 */
public record LeaseUse(LeaseName name, Id correlation, Name path, long offset, long timestamp) {}
