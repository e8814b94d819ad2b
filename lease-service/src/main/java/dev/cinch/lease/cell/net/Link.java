package dev.cinch.lease.cell.net;

import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * Carries datagrams between the nodes of a cell; it may lose, double, delay and reorder them. All
 * methods but {@link #wakeUp} are called by one thread.
 */
interface Link extends AutoCloseable {
  /**
   * Takes a datagram that has come, without waiting.
   *
   * @param into from its position on; what doesn't fit is lost
   * @return false if there is none
   */
  boolean receive(ByteBuffer into) throws IOException;

  /**
   * Sends a datagram, without waiting.
   *
   * @return false if it could not be sent
   */
  boolean send(int node, ByteBuffer datagram) throws IOException;

  /**
   * Takes note that the datagram which came last is a client's: what is for it goes to where that
   * came from.
   *
   * @param client below 0
   */
  default void remember(int client) {}

  /** Sends a client nothing more, until it is remembered again. */
  default void forget(int client) {}

  /**
   * Waits until a datagram has come, somebody wakes it, or some time is over.
   *
   * @param nanos at least; {@link Long#MAX_VALUE} for any time
   */
  void await(long nanos) throws IOException;

  /** Ends the waiting under way, or else the next. From any thread. */
  void wakeUp();

  @Override
  void close() throws IOException;
}
