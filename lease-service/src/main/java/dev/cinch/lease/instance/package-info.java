/**
 * One instance of the lease service, from its number to its last words (rules L3, L9, L11, L18,
 * L19). {@link dev.cinch.lease.instance.ServiceInstance} puts it together:
 *
 * <ul>
 *   <li>{@code Requests} carries operations out, and signs.
 *   <li>{@code Operations} checks each against the clocks and {@code InstanceGuard}, and asks the
 *       table. Neither does I/O.
 *   <li>{@code Publisher} is the one thread that calls the store, an {@link
 *       dev.cinch.lease.instance.InstanceRegistry}: ahead of requests, and for those that need it.
 * </ul>
 */
@NullMarked
package dev.cinch.lease.instance;

import org.jspecify.annotations.NullMarked;
