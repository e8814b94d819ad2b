/** Cinch with one rule broken at a time, to show that the simulator can see. */
@NullMarked
package dev.cinch.sim.mutation;

import org.jspecify.annotations.NullMarked;
