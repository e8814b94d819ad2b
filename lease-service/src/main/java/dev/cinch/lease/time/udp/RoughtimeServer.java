package dev.cinch.lease.time.udp;

import dev.cinch.lease.TimeBound;
import dev.cinch.lease.time.TimeBounds;
import dev.cinch.lease.time.roughtime.Responder;
import dev.cinch.lease.time.roughtime.RoughtimeException;
import dev.cinch.lease.time.roughtime.RoughtimeRequest;
import dev.cinch.lease.witness.PublicKey;
import dev.cinch.lease.witness.SigningKey;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.DatagramChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.LongAdder;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Answers Roughtime requests over UDP, in a thread of its own. One signature answers all that wait.
 * What is no request gets no answer, and no answer is longer than its request. Thread-safe.
 */
public final class RoughtimeServer implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(RoughtimeServer.class);

  private final DatagramChannel channel;
  private final Selector selector;
  private final int port;
  private final PublicKey key;
  private final Responder responder;
  private final TimeBounds bounds;
  private final LongAdder answered = new LongAdder();
  private final LongAdder dropped = new LongAdder();
  private final Thread thread = new Thread(this::run, "cinch-roughtime");
  private final ByteBuffer buffer = ByteBuffer.allocate(RoughtimeRequest.MAX_BYTES + 1);
  private boolean troubled;

  private RoughtimeServer(InetSocketAddress at, SigningKey longTerm, TimeBounds bounds)
      throws IOException {
    this.key = longTerm.publicKey();
    this.responder = new Responder(longTerm);
    this.bounds = bounds;
    this.channel = DatagramChannel.open();
    try {
      channel.configureBlocking(false);
      channel.bind(at);
      this.port = ((InetSocketAddress) channel.getLocalAddress()).getPort();
      this.selector = Selector.open();
      SelectionKey unused = channel.register(selector, SelectionKey.OP_READ);
    } catch (IOException | RuntimeException e) {
      channel.close();
      throw e;
    }
  }

  /**
   * Listens.
   *
   * @param at where; port 0 for any that is free
   * @param longTerm the key that clients know it by
   * @param bounds the time that it vouches for; while there is none it answers nothing
   * @throws IOException if it can't listen there
   */
  public static RoughtimeServer start(InetSocketAddress at, SigningKey longTerm, TimeBounds bounds)
      throws IOException {
    var server = new RoughtimeServer(at, longTerm, bounds);
    server.thread.setDaemon(true);
    server.thread.start();
    return server;
  }

  /** Where it listens. */
  public int port() {
    return port;
  }

  /** The key that clients know it by. */
  public PublicKey publicKey() {
    return key;
  }

  /** Requests that were answered. */
  public long answered() {
    return answered.sum();
  }

  /** Datagrams that were not. */
  public long dropped() {
    return dropped.sum();
  }

  private void run() {
    while (channel.isOpen()) {
      try {
        selector.select();
        selector.selectedKeys().clear();
        if (channel.isOpen()) {
          answerWhatWaits();
        }
      } catch (ClosedChannelException | java.nio.channels.ClosedSelectorException e) {
        return;
      } catch (IOException | RuntimeException e) {
        // Of one datagram, or of the network for now: others are answered all the same.
        dropped.increment();
        if (!troubled) {
          LOG.warn("Roughtime: {}", String.valueOf(e.getMessage()));
          troubled = true;
        }
      }
    }
  }

  private void answerWhatWaits() throws IOException {
    var requests = new ArrayList<RoughtimeRequest>();
    var clients = new ArrayList<SocketAddress>();
    // What is more waits for the next signature.
    for (int i = 0; i < Responder.BATCH; i++) {
      SocketAddress client = channel.receive(buffer.clear());
      if (client == null) {
        break;
      }
      Optional<RoughtimeRequest> request = read();
      if (request.isPresent()) {
        requests.add(request.get());
        clients.add(client);
      } else {
        dropped.increment();
      }
    }
    Optional<TimeBound> now = requests.isEmpty() ? Optional.empty() : bounds.now();
    if (now.isEmpty()) {
      dropped.add(requests.size());
      return;
    }
    List<byte[]> responses = responder.answer(requests, now.get());
    for (int i = 0; i < requests.size(); i++) {
      byte[] response = responses.get(i);
      boolean sent =
          response.length <= requests.get(i).length()
              && channel.send(ByteBuffer.wrap(response), clients.get(i)) > 0;
      (sent ? answered : dropped).increment();
    }
  }

  private Optional<RoughtimeRequest> read() {
    if (buffer.flip().remaining() > RoughtimeRequest.MAX_BYTES) {
      return Optional.empty();
    }
    var packet = new byte[buffer.remaining()];
    buffer.get(packet);
    try {
      return Optional.of(RoughtimeRequest.read(packet, key));
    } catch (RoughtimeException e) {
      return Optional.empty();
    }
  }

  /** Stops listening, and waits for the thread. What was not answered is not answered any more. */
  @Override
  public void close() throws IOException {
    try {
      channel.close();
    } finally {
      selector.close(); // wakes the thread
    }
    try {
      thread.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
