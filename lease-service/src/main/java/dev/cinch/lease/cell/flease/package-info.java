/**
 * Flease (Kolbeck, H&ouml;gqvist, Stender, Hupfeld): leases between nodes whose clocks show the
 * same, but for &epsilon;. A lease has an expiry, which is a time of that common clock, and a
 * ballot is a time, too.
 *
 * <p>What is assumed of clocks (3.1, 3.6): there is a time that never goes back, and each node's
 * clock shows it with an error of &epsilon;/2 at most to either side, always. So any two clocks are
 * at most &epsilon; apart. The paper wants clocks that never step back; here they may step, forth
 * and back, within that error. A node whose clock is not known to be within it must not take part.
 *
 * <p>Differences from the paper, each with its reason at the code: the expiry counts from the start
 * of the attempt, and not from the write (algorithms 2 to 4); acceptors refuse to replace a live
 * lease, and to accept an expired one (algorithm 1); ballots are compared as they are, and not as
 * equal within &epsilon; (3.6), which is no order; nobody writes back the lease of another
 * (algorithm 2); an acceptor that started has a floor for ballots beside its wait (3.5); leases can
 * be released, as in PaxosLease.
 */
@NullMarked
package dev.cinch.lease.cell.flease;

import org.jspecify.annotations.NullMarked;
