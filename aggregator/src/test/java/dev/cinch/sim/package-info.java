/**
 * A simulator: whole worlds of machines, clocks, a lease service and a shared filesystem, drawn
 * from one seed, in which the production classes run one file operation at a time. It looks for any
 * message that is lost, doubled or out of order. See {@link dev.cinch.sim.Simulation}.
 */
@NullMarked
package dev.cinch.sim;

import org.jspecify.annotations.NullMarked;
