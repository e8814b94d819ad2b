/**
 * Leases that a majority of nodes grants: the algorithms {@link dev.cinch.lease.cell.PaxosLease}
 * and {@link dev.cinch.lease.cell.Flease} as pure state machines, and what both share. A proposer,
 * an acceptor or a learner takes a message and the time, and puts messages into an {@link
 * dev.cinch.lease.cell.Outbox}; there is no thread, socket, clock, timer or random number in it.
 * docs/cell-rules.md has the algorithms step by step, and rules P1 to P9.
 *
 * <p>To drive them: give each message to the machine it is for; give every handler the time that
 * the node's clock shows once, when it begins; wake a proposer when {@link
 * dev.cinch.lease.cell.Proposer#wakeAt} has come; let acceptors {@link
 * dev.cinch.lease.cell.Acceptor#sweep} now and then. Messages may be lost, late, doubled and out of
 * order. No machine is thread-safe: what one thread drives, another must not.
 *
 * <p>Times are nanoseconds, at least 0 and below 2<sup>62</sup>: of a monotonic clock of the node's
 * own in PaxosLease, since 1970 in Flease.
 */
@NullMarked
package dev.cinch.lease.cell;

import org.jspecify.annotations.NullMarked;
