package dev.cinch.lease.http;

import dev.cinch.lease.time.SystemTime;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import org.jspecify.annotations.Nullable;

/**
 * A connection on which whoever uses it waits until a moment and no longer; the moments are of
 * {@link SystemTime#monotonicNanos}. An interrupt of a thread that waits closes it: that is why it
 * is a channel's. One thread uses it, and any may close it.
 */
final class Connection implements AutoCloseable {
  /** What every system takes at once where nothing else is on its way; bytes. */
  private static final int TAKEN_AT_ONCE = 8 << 10;

  /** A thread keeps a buffer of as many bytes as it ever gave to a channel at once. */
  private static final int PIECE = 128 << 10;

  private final SocketChannel channel;
  private final InputStream in = new BufferedInputStream(new Timed());
  private Socket socket;
  private InputStream from = InputStream.nullInputStream();
  private OutputStream out = OutputStream.nullOutputStream();
  private long deadline;

  private Connection(SocketChannel channel) {
    this.channel = channel;
    socket = channel.socket();
  }

  /**
   * Connects.
   *
   * @param tls null for a plain connection; the other end's certificate has to be for {@code host}
   * @throws ConnectException if that fails, or takes longer: nothing was sent
   */
  static Connection open(InetSocketAddress to, String host, @Nullable SSLContext tls, long deadline)
      throws IOException {
    var connection = new Connection(SocketChannel.open());
    boolean connected = false;
    try {
      connection.socket.setTcpNoDelay(true);
      connection.until(deadline);
      connection.socket.connect(to, connection.leftMs());
      connection.use(connection.socket);
      if (tls != null) {
        connection.secure(tls, host, to.getPort());
      }
      connected = true;
      return connection;
    } catch (IOException e) {
      throw (ConnectException) new ConnectException(e.getMessage()).initCause(e);
    } finally {
      if (!connected) {
        connection.close();
      }
    }
  }

  private void use(Socket connected) throws IOException {
    socket = connected;
    from = connected.getInputStream();
    out = connected.getOutputStream();
  }

  private void secure(SSLContext tls, String host, int port) throws IOException {
    var secured = (SSLSocket) tls.getSocketFactory().createSocket(socket, host, port, true);
    var parameters = secured.getSSLParameters();
    parameters.setEndpointIdentificationAlgorithm("HTTPS");
    secured.setSSLParameters(parameters);
    secured.setSoTimeout(leftMs());
    orClose(secured::startHandshake);
    use(secured);
  }

  /** From now on whoever waits does so until then. */
  void until(long deadline) {
    this.deadline = deadline;
  }

  /** Whether nobody has closed it or sent anything since its last answer. */
  boolean isFresh() {
    try {
      channel.configureBlocking(false);
      boolean silent = in.available() == 0 && channel.read(ByteBuffer.allocate(1)) == 0;
      channel.configureBlocking(true);
      return silent;
    } catch (IOException e) {
      return false;
    }
  }

  /** Sends all of it; the buffers are moved. */
  void write(ByteBuffer... parts) throws IOException {
    long length = 0;
    for (ByteBuffer part : parts) {
      length += part.remaining();
    }
    ByteBuffer[] sent = length <= PIECE || isSecure() ? new ByteBuffer[] {joined(parts)} : parts;
    if (length <= TAKEN_AT_ONCE) {
      writeAll(sent);
    } else {
      orClose(() -> writeAll(sent));
    }
  }

  private boolean isSecure() {
    return socket instanceof SSLSocket;
  }

  private void writeAll(ByteBuffer[] parts) throws IOException {
    for (ByteBuffer part : parts) {
      if (isSecure()) {
        out.write(part.array());
        continue;
      }
      int end = part.limit();
      while (part.position() < end) {
        part.limit(Math.min(end, part.position() + PIECE));
        int unused = channel.write(part);
      }
    }
  }

  private static ByteBuffer joined(ByteBuffer[] parts) {
    int length = 0;
    for (ByteBuffer part : parts) {
      length += part.remaining();
    }
    var joined = ByteBuffer.allocate(length);
    for (ByteBuffer part : parts) {
      joined.put(part);
    }
    return joined.flip();
  }

  /** What is sent back; of what it says to be available none has to be waited for. */
  InputStream in() {
    return in;
  }

  private interface Step {
    void run() throws IOException;
  }

  /** For what knows no time itself: it is closed if that has not ended in time. */
  private void orClose(Step step) throws IOException {
    boolean inTime = false;
    Deadlines.begin(this, deadline);
    try {
      step.run();
    } catch (IOException e) {
      throw isLate() ? late() : e;
    } finally {
      inTime = Deadlines.end(this);
    }
    if (!inTime) {
      throw late(); // it is closed, or will be
    }
  }

  private boolean isLate() {
    return SystemTime.INSTANCE.monotonicNanos() - deadline >= 0;
  }

  private static SocketTimeoutException late() {
    return new SocketTimeoutException("no whole answer in time");
  }

  private int leftMs() throws SocketTimeoutException {
    if (isLate()) {
      throw late();
    }
    long left = deadline - SystemTime.INSTANCE.monotonicNanos();
    return (int) Math.min(TimeUnit.NANOSECONDS.toMillis(left) + 1, Integer.MAX_VALUE);
  }

  /** One that sends without end does not outlast the time by never letting wait. */
  private final class Timed extends InputStream {
    @Override
    public int read() throws IOException {
      var one = new byte[1];
      return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public int read(byte[] into, int offset, int length) throws IOException {
      socket.setSoTimeout(leftMs());
      return from.read(into, offset, length);
    }
  }

  /** Whoever waits for it is told so. */
  @Override
  public void close() {
    try {
      channel.close(); // without the farewell of TLS, which could wait
    } catch (IOException e) {
      // It is not used any more, whatever the system says.
    }
  }
}
