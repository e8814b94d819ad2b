package dev.cinch.lease.http;

import dev.cinch.lease.time.SystemTime;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.net.http.HttpConnectTimeoutException;
import java.net.http.HttpTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.util.concurrent.TimeUnit;

/**
 * A connection without a thread of its own: whoever uses it waits, until a moment of {@link
 * SystemTime#monotonicNanos} and no longer. Not thread-safe.
 */
final class ClientConnection implements AutoCloseable {
  private final SocketChannel channel;
  private final Selector selector;
  private final SelectionKey key;

  private ClientConnection(SocketChannel channel, Selector selector) throws IOException {
    this.channel = channel;
    this.selector = selector;
    channel.configureBlocking(false);
    channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
    key = channel.register(selector, SelectionKey.OP_CONNECT);
  }

  /**
   * Connects.
   *
   * @throws ConnectException if that fails
   * @throws HttpConnectTimeoutException if it takes longer
   */
  static ClientConnection open(InetSocketAddress to, long deadline)
      throws IOException, InterruptedException {
    SocketChannel channel = SocketChannel.open();
    Selector selector;
    try {
      selector = channel.provider().openSelector();
    } catch (IOException e) {
      channel.close();
      throw e;
    }
    boolean connected = false;
    try {
      var connection = new ClientConnection(channel, selector);
      connection.connect(to, deadline);
      connected = true;
      return connection;
    } finally {
      if (!connected) {
        close(channel, selector);
      }
    }
  }

  private void connect(InetSocketAddress to, long deadline)
      throws IOException, InterruptedException {
    try {
      boolean done = channel.connect(to);
      while (!done) {
        if (!ready(SelectionKey.OP_CONNECT, deadline)) {
          throw new HttpConnectTimeoutException("no connection in time");
        }
        done = channel.finishConnect();
      }
    } catch (ConnectException | HttpConnectTimeoutException e) {
      throw e;
    } catch (IOException e) {
      // Such as no route: nothing was sent then either.
      var failed = new ConnectException(e.getMessage());
      failed.initCause(e);
      throw failed;
    }
  }

  /** Whether nobody has closed it or sent anything since its last answer. */
  boolean isFresh() {
    try {
      return channel.read(ByteBuffer.allocate(1)) == 0;
    } catch (IOException e) {
      return false;
    }
  }

  /** Sends all of it. */
  void write(ByteBuffer bytes, long deadline) throws IOException, InterruptedException {
    while (true) {
      int unused = channel.write(bytes);
      if (!bytes.hasRemaining()) {
        return;
      }
      await(SelectionKey.OP_WRITE, deadline);
    }
  }

  /**
   * Reads at least one byte; -1 at the end.
   *
   * @param spin nanoseconds that it looks again and again before it waits
   */
  int read(ByteBuffer into, long spin, long deadline) throws IOException, InterruptedException {
    long waitFrom = SystemTime.INSTANCE.monotonicNanos() + spin;
    while (true) {
      int count = channel.read(into);
      long now = SystemTime.INSTANCE.monotonicNanos();
      if (count != 0) {
        // One that sends without end does not outlast the time by never letting wait.
        if (now - deadline >= 0) {
          throw late();
        }
        return count;
      }
      if (now - waitFrom < 0) {
        Thread.onSpinWait();
      } else {
        await(SelectionKey.OP_READ, deadline);
      }
    }
  }

  private void await(int what, long deadline) throws IOException, InterruptedException {
    if (!ready(what, deadline)) {
      throw late();
    }
  }

  private static HttpTimeoutException late() {
    return new HttpTimeoutException("no whole answer in time");
  }

  private boolean ready(int what, long deadline) throws IOException, InterruptedException {
    key.interestOps(what);
    while (true) {
      long left = deadline - SystemTime.INSTANCE.monotonicNanos();
      if (left <= 0) {
        return false;
      }
      int ready = selector.select(TimeUnit.NANOSECONDS.toMillis(left) + 1);
      selector.selectedKeys().clear();
      if (Thread.interrupted()) {
        throw new InterruptedException();
      }
      if (ready > 0) {
        return true;
      }
    }
  }

  @Override
  public void close() {
    close(channel, selector);
  }

  private static void close(SocketChannel channel, Selector selector) {
    try (selector;
        channel) {
      // The channel first; its descriptor goes with the selector.
    } catch (IOException e) {
      // It is not used any more, whatever the system says.
    }
  }
}
