package dev.cinch.lease.cell.explore;

/**
 * How much may happen, at most.
 *
 * @param attempts of each proposer: an acquire, and each renewal or acquire after it
 * @param ttls different lease times: the longest, and so many shorter by a tick each
 * @param releases of each proposer
 * @param doubles messages that come a second time
 * @param late messages that are under way from one tick to the next; all others are lost then
 * @param rejects whether refusals reach proposers
 * @param crashes of acceptors, which start again at once, silent
 * @param restarts of proposers
 * @param ticks after which nothing is looked at
 */
record Bounds(
    int attempts0,
    int attempts1,
    int ttls,
    int releases,
    int doubles,
    int late,
    boolean rejects,
    int crashes,
    int restarts,
    int ticks) {}
