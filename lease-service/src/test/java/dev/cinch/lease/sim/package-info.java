/**
 * What simulations share: time that goes from one event to the next, clocks that are off, threads
 * of which one at a time runs, and campaigns. The worlds are {@code dev.cinch.lease.cell.sim}, of
 * the machines of a cell; {@code dev.cinch.lease.register.sim}, of servers upon one; and {@code
 * dev.cinch.sim}, of stores, sessions and services.
 */
@NullMarked
package dev.cinch.lease.sim;

import org.jspecify.annotations.NullMarked;
