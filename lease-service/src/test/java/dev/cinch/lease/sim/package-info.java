/**
 * The kernel of the simulators: what a world drawn from a seed needs, so that one seed is one run.
 *
 * <ul>
 *   <li>{@code Rng}: what the seed draws. {@code Counts}: what happened.
 *   <li>{@code Events}: time, which goes on from one event to the next. {@code SimClock}: a clock
 *       that is off.
 *   <li>{@code Lanes}: threads, of which one at a time runs. {@code SimCrash} ends what runs there.
 *   <li>{@code CellWorld}: machines that crash and pause, messages that are lost and late.
 *   <li>{@code SeedCampaign}: many worlds, on all cores, until some end in {@code Broken}.
 * </ul>
 *
 * <p>Three worlds stand on it: {@code dev.cinch.lease.cell.sim}, the machines of a cell; {@code
 * dev.cinch.lease.register.sim}, servers upon one; {@code dev.cinch.sim}, stores, sessions and
 * services.
 */
@NullMarked
package dev.cinch.lease.sim;

import org.jspecify.annotations.NullMarked;
