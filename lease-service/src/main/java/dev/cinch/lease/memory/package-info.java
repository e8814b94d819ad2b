/**
 * The lease service in memory: a pure table of the rules that all backends share ({@link
 * dev.cinch.lease.memory.MemoryLeases} over {@code dev.cinch.lease.table}: no I/O, no clock), the
 * guard of the instance's number, ceilings and quarantine, and the service that puts them together
 * with a clock and a signer.
 *
 * <p>A guard's lock is never held together with the table's.
 *
 * <p>Seams left open: another backend implements {@link dev.cinch.lease.LeaseService} over {@link
 * dev.cinch.lease.table.LeaseRules}; batched or remote signatures implement {@link
 * dev.cinch.lease.witness.GrantSigner}.
 */
@NullMarked
package dev.cinch.lease.memory;

import org.jspecify.annotations.NullMarked;
