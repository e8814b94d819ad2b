/**
 * A server under mixed load for a long time: whether its memory, threads and descriptors stay what
 * they are, and whether a lease is ever granted to two. examples/stress/soak.sh runs it.
 */
@org.jspecify.annotations.NullMarked
package dev.cinch.lease.soak;
