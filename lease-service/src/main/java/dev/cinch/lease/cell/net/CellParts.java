package dev.cinch.lease.cell.net;

import java.util.List;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;

/**
 * What a node, or a client, of a cell is made of.
 *
 * @param nodes ids of all nodes, its own too; all are acceptors
 * @param key of the cell, with which datagrams are signed
 * @param clock by which leases end
 * @param times what the ballot of an attempt is at least, so that they say which was the later
 */
@SuppressWarnings("ArrayRecordComponent") // never compared
record CellParts(
    List<Integer> nodes,
    byte[] key,
    Algorithm algorithm,
    CellSettings settings,
    Link link,
    LongSupplier clock,
    LongSupplier times,
    RandomGenerator random) {}
