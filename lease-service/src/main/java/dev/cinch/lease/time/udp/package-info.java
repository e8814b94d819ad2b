/** Roughtime on sockets: the server that answers, and the client that asks. */
@NullMarked
package dev.cinch.lease.time.udp;

import org.jspecify.annotations.NullMarked;
