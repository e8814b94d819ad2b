package dev.cinch.lease.cell.net;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.Map;
import org.jspecify.annotations.Nullable;

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
   * Waits until a datagram has come, somebody wakes it, or some time is over.
   *
   * @param nanos at least; {@link Long#MAX_VALUE} for any time
   */
  void await(long nanos) throws IOException;

  /** Ends the waiting under way, or else the next. From any thread. */
  void wakeUp();

  @Override
  void close() throws IOException;

  /** A link over UDP. */
  final class UdpLink implements Link {
    /** What the kernel may keep for a node that is busy; it may allow less. */
    private static final int KERNEL_BUFFER = 4 << 20;

    private static final long NANOS_PER_MILLI = 1_000_000;

    private final DatagramChannel channel;
    private final Selector selector;
    private volatile Map<Integer, InetSocketAddress> nodes;

    /**
     * Listens.
     *
     * @param at where; port 0 for any that is free
     * @param nodes where each node listens
     * @throws IOException one line that says where it can't listen
     */
    UdpLink(InetSocketAddress at, Map<Integer, InetSocketAddress> nodes) throws IOException {
      this.nodes = Map.copyOf(nodes);
      this.channel = DatagramChannel.open();
      try {
        channel.configureBlocking(false);
        channel.setOption(StandardSocketOptions.SO_RCVBUF, KERNEL_BUFFER);
        channel.setOption(StandardSocketOptions.SO_SNDBUF, KERNEL_BUFFER);
        channel.bind(at);
        this.selector = Selector.open();
        SelectionKey unused = channel.register(selector, SelectionKey.OP_READ);
      } catch (IOException | RuntimeException e) {
        channel.close();
        throw new IOException(
            "can't listen on UDP "
                + at.getHostString()
                + ":"
                + at.getPort()
                + ": "
                + e.getMessage(),
            e);
      }
    }

    InetSocketAddress address() throws IOException {
      return (InetSocketAddress) channel.getLocalAddress();
    }

    /** For nodes whose ports are known only when all listen. */
    void nodes(Map<Integer, InetSocketAddress> all) {
      nodes = Map.copyOf(all);
    }

    @Override
    public boolean receive(ByteBuffer into) throws IOException {
      return channel.receive(into) != null;
    }

    @Override
    public boolean send(int node, ByteBuffer datagram) throws IOException {
      @Nullable SocketAddress to = nodes.get(node);
      return to != null && channel.send(datagram, to) > 0;
    }

    @Override
    public void await(long nanos) throws IOException {
      if (nanos == Long.MAX_VALUE) {
        selector.select(key -> {});
      } else if (nanos > 0) {
        selector.select(key -> {}, (nanos + NANOS_PER_MILLI - 1) / NANOS_PER_MILLI);
      }
    }

    @Override
    public void wakeUp() {
      selector.wakeup();
    }

    @Override
    public void close() throws IOException {
      try {
        channel.close();
      } finally {
        selector.close();
      }
    }
  }
}
