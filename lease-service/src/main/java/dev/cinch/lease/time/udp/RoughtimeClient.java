package dev.cinch.lease.time.udp;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.TimeBound;
import dev.cinch.lease.time.TimeSource;
import dev.cinch.lease.time.roughtime.RoughtimeChain;
import dev.cinch.lease.time.roughtime.RoughtimeException;
import dev.cinch.lease.time.roughtime.RoughtimeReply;
import dev.cinch.lease.time.roughtime.RoughtimeRequest;
import dev.cinch.lease.witness.PublicKey;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.PortUnreachableException;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Asks Roughtime servers over UDP. Thread-safe. */
@CheckReturnValue
public final class RoughtimeClient {
  /** After what time a request is sent again, at first; then half as long again each time. */
  private static final long RETRY = 1_000_000_000L;

  private final SecureRandom random = new SecureRandom();
  private final TimeSource time;
  private final Duration patience;

  /**
   * @param patience how long a server may take to answer
   */
  public RoughtimeClient(TimeSource time, Duration patience) {
    this.time = time;
    this.patience = patience;
  }

  /**
   * A server.
   *
   * @param host its name or address
   * @param port its UDP port
   * @param key its long-term key
   */
  public record Server(String host, int port, PublicKey key) {
    /** Like {@code roughtime.example.com:2002}. */
    public String address() {
      return (host.indexOf(':') < 0 ? host : "[" + host + "]") + ":" + port;
    }
  }

  /**
   * What a server said, and when.
   *
   * @param bound between which times it was when the answer arrived, by that server
   * @param monotonic the monotonic clock at that moment, nanoseconds
   * @param wall the machine's clock at that moment, nanoseconds since the Unix epoch
   * @param roundTripNanos how long the answer took
   */
  public record Answer(
      RoughtimeReply reply, TimeBound bound, long monotonic, long wall, long roundTripNanos) {}

  /**
   * Asks one server, with a nonce made of the last response of a chain, to which the response is
   * added.
   *
   * @throws IOException if it does not answer, or not validly; one line, without its address
   */
  public Answer ask(Server server, RoughtimeChain chain) throws IOException {
    RoughtimeChain.Question question = chain.next(server.key(), random);
    Answer answer = ask(server, question.request());
    chain.add(question, answer.reply());
    return answer;
  }

  private Answer ask(Server server, RoughtimeRequest request) throws IOException {
    var address = new InetSocketAddress(server.host(), server.port());
    if (address.isUnresolved()) {
      throw new IOException("no such host");
    }
    try (DatagramChannel channel = DatagramChannel.open();
        Selector selector = Selector.open()) {
      channel.configureBlocking(false);
      channel.connect(address); // only what comes from there is received
      SelectionKey unused = channel.register(selector, SelectionKey.OP_READ);
      return exchange(server, request, channel, selector);
    } catch (PortUnreachableException e) {
      throw new IOException("nobody listens there", e);
    }
  }

  private Answer exchange(
      Server server, RoughtimeRequest request, DatagramChannel channel, Selector selector)
      throws IOException {
    ByteBuffer packet = ByteBuffer.wrap(request.packet());
    ByteBuffer buffer = ByteBuffer.allocate(RoughtimeReply.MAX_BYTES + 1);
    RoughtimeException invalid = null;
    long first = time.monotonicNanos();
    long end = first + patience.toNanos();
    long retry = first;
    long interval = RETRY;
    long now = first;
    while (now < end) {
      if (now >= retry) {
        int unused = channel.write(packet.rewind());
        retry = now + interval;
        interval += interval / 2;
      }
      long wait = Math.min(end, retry) - now;
      selector.select(Math.max(1, TimeUnit.NANOSECONDS.toMillis(wait)));
      selector.selectedKeys().clear();
      now = time.monotonicNanos(); // before what came is read: what came in time counts
      while (channel.read(buffer.clear()) > 0) {
        long arrived = time.monotonicNanos();
        long wall = time.wallNanos();
        try {
          // Others may send what they like: only a valid response ends the wait.
          var reply = RoughtimeReply.verify(bytes(buffer), request, server.key());
          return answer(reply, first, arrived, wall);
        } catch (RoughtimeException e) {
          invalid = e;
        }
      }
    }
    throw silence(invalid);
  }

  /** It answered at some moment between the first request and now. */
  private static Answer answer(RoughtimeReply reply, long first, long arrived, long wall) {
    TimeBound then = reply.bound();
    var now = new TimeBound(then.earliest(), then.later(arrived - first).latest(), then.kind());
    return new Answer(reply, now, arrived, wall, arrived - first);
  }

  private static byte[] bytes(ByteBuffer buffer) {
    var bytes = new byte[buffer.flip().remaining()];
    buffer.get(bytes);
    return bytes;
  }

  private IOException silence(@Nullable RoughtimeException invalid) {
    String waited = "within " + patience.toMillis() + " ms";
    return invalid == null
        ? new SocketTimeoutException(
            "no answer " + waited + ": nobody is there, or a server that has another key")
        : new IOException("no valid answer " + waited + ": " + invalid.getMessage(), invalid);
  }
}
