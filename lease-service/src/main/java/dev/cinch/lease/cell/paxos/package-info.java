/**
 * PaxosLease (Trencseni, 2009; corrected after its author's revision of 2026): leases without
 * synchronised clocks. A lease time is a duration that the owner counts from before its first
 * message, and acceptors from when they accept, a little longer. Clocks are monotonic; their rates
 * are off by a known part at most.
 */
@NullMarked
package dev.cinch.lease.cell.paxos;

import org.jspecify.annotations.NullMarked;
