/**
 * The machines of dev.cinch.lease.cell in simulated worlds: a seed draws nodes, clocks, a network
 * and what goes wrong, and one thread carries it out. Each world checks what must never happen.
 */
@NullMarked
package dev.cinch.lease.cell.sim;

import org.jspecify.annotations.NullMarked;
