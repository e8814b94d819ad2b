/**
 * The server of leases over HTTP/1.1, on Jetty's core: {@link dev.cinch.lease.server.LeaseServer}.
 * It has queues of those who wait, the dashboard, metrics and the trail; what it serves is a {@link
 * dev.cinch.lease.LeaseHost}.
 */
@NullMarked
package dev.cinch.lease.server;

import org.jspecify.annotations.NullMarked;
