/**
 * The client of lease servers. {@link dev.cinch.lease.client.ShardRouter} finds the servers that
 * have a name, {@link dev.cinch.lease.client.HttpLeaseClient} asks equal ones until one answers,
 * and one transport sends a request in the thread that asks.
 */
@NullMarked
package dev.cinch.lease.client;

import org.jspecify.annotations.NullMarked;
