/**
 * Servers that keep the same leases at a cell, in simulated worlds: the real services, registers
 * and nodes, on one queue of events. A seed draws what goes wrong, and a judge sees all that is
 * accepted, granted and refused.
 */
@NullMarked
package dev.cinch.lease.register.sim;

import org.jspecify.annotations.NullMarked;
