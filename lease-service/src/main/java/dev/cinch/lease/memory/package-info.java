/**
 * The lease service in memory: a pure table ({@link dev.cinch.lease.memory.LeaseTable}: no I/O, no
 * clock), the guard of the instance's number, ceilings and quarantine, and the service that puts
 * them together with a clock and a signer.
 *
 * <p>Lock order: the stripe of a grant's id, then the partitions of its names in ascending order; a
 * guard's lock is never held together with either.
 *
 * <p>Seams left open: another backend implements {@link dev.cinch.lease.LeaseService}; batched or
 * remote signatures implement {@link dev.cinch.lease.witness.GrantSigner}; revoking a lease would
 * call what an acquire calls when it finds one expired ({@code LeaseEntry.inheritance}); queues of
 * waiters would be told where {@code LeaseEntry.release} is called, and until then {@code
 * retryAfterMs} says when to come back.
 */
@NullMarked
package dev.cinch.lease.memory;

import org.jspecify.annotations.NullMarked;
