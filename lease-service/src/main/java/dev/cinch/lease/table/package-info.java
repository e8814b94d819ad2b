/**
 * Where a lease service keeps who has which lease: {@link dev.cinch.lease.table.LeaseBackend}. The
 * one in memory is {@link dev.cinch.lease.table.MemoryLeases}, which applies the rules to all names
 * and bounds what they take; {@code dev.cinch.lease.register} has another for several machines.
 */
@NullMarked
package dev.cinch.lease.table;

import org.jspecify.annotations.NullMarked;
