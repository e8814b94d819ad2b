/**
 * The rules of a lease (docs/leases.md), which all backends share. {@link
 * dev.cinch.lease.rules.LeaseRules} is a pure transition: the states of the names of a request and
 * the request in, their new states and the answer out. There is no clock, random number, lock or
 * I/O in it.
 *
 * <p>A {@link dev.cinch.lease.rules.LeaseState} is what is known of the last lease of a name.
 * {@link dev.cinch.lease.rules.LeaseStateCodec} makes it one value in bytes and reads it, for
 * backends that keep or send it so.
 */
@NullMarked
package dev.cinch.lease.rules;

import org.jspecify.annotations.NullMarked;
