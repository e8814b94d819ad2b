/**
 * Runs the machines of {@link dev.cinch.lease.cell}: their messages as bytes ({@code
 * MessageCodec}), in authenticated UDP datagrams ({@code Datagrams}), and a node with one thread
 * that owns an acceptor, all proposers, and their timers ({@link
 * dev.cinch.lease.cell.net.CellNode}).
 *
 * <p>A node sends what is ready at the end of a turn of its loop: it takes all that has come,
 * handles it, then sends. So datagrams carry many messages under load, and one message doesn't wait
 * without it.
 */
@NullMarked
package dev.cinch.lease.cell.net;

import org.jspecify.annotations.NullMarked;
