package dev.cinch.lease.time;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.OneLine;
import dev.cinch.lease.TimeBound;
import dev.cinch.lease.time.RoughtimeMessage.Invalid;
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
import java.util.Base64;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** A Roughtime server, asked over UDP: its answers are signed. */
@CheckReturnValue
public final class RoughtimeSource implements BoundSource {
  /** After what time a request is sent again, at first; then half as long again each time. */
  private static final long RETRY = 1_000_000_000L;

  private final SecureRandom random = new SecureRandom();
  private final TimeSource time;
  private final Duration patience;
  private final Server server;

  /**
   * @param patience how long the server may take to answer
   */
  public RoughtimeSource(TimeSource time, Duration patience, Server server) {
    this.time = time;
    this.patience = patience;
    this.server = server;
  }

  /**
   * A server.
   *
   * @param host its name or address
   * @param port its UDP port
   * @param key its long-term key
   */
  public record Server(String host, int port, PublicKey key) {
    private static final Pattern FORM =
        Pattern.compile("(\\[[0-9a-fA-F:.]+\\]|[^\\[\\]:=]{1,253}):(\\d{1,5})=(.{1,100})");
    private static final int MAX_PORT = 65_535;
    private static final int BASE64 = 44;

    /**
     * Reads {@code HOST:PORT=KEY}, the key in base64, as lists of Roughtime servers have it, or as
     * 64 hexadecimal digits.
     *
     * @throws IllegalArgumentException for anything else
     */
    public static Server parse(String text) {
      Matcher m = FORM.matcher(text);
      if (!m.matches() || Integer.parseInt(m.group(2)) > MAX_PORT) {
        throw new IllegalArgumentException(
            "not a Roughtime server: \""
                + OneLine.of(text, 80)
                + "\"; like time.example.com:2002=KEY, the key in base64 or hexadecimal");
      }
      String host = m.group(1);
      String name = host.startsWith("[") ? host.substring(1, host.length() - 1) : host;
      return new Server(name, Integer.parseInt(m.group(2)), key(m.group(3).strip()));
    }

    private static PublicKey key(String text) {
      if (text.length() != BASE64) {
        return PublicKey.parse(text);
      }
      try {
        return new PublicKey(Base64.getDecoder().decode(text));
      } catch (IllegalArgumentException e) {
        throw new IllegalArgumentException("a public key is 32 bytes in base64", e);
      }
    }

    /** Like {@code roughtime.example.com:2002}. */
    public String address() {
      return (host.indexOf(':') < 0 ? host : "[" + host + "]") + ":" + port;
    }
  }

  @Override
  public String name() {
    return "roughtime:" + server.address();
  }

  @Override
  public Measurement measure() throws IOException {
    var nonce = new byte[RoughtimeRequest.HASH_BYTES];
    random.nextBytes(nonce);
    var request = new RoughtimeRequest(server.key(), nonce);
    var address = new InetSocketAddress(server.host(), server.port());
    if (address.isUnresolved()) {
      throw new IOException("no such host");
    }
    try (DatagramChannel channel = DatagramChannel.open();
        Selector selector = Selector.open()) {
      channel.configureBlocking(false);
      channel.connect(address); // only what comes from there is received
      SelectionKey unused = channel.register(selector, SelectionKey.OP_READ);
      return exchange(request, channel, selector);
    } catch (PortUnreachableException e) {
      throw new IOException("nobody listens there", e);
    }
  }

  private Measurement exchange(RoughtimeRequest request, DatagramChannel channel, Selector selector)
      throws IOException {
    ByteBuffer packet = ByteBuffer.wrap(request.packet());
    ByteBuffer buffer = ByteBuffer.allocate(RoughtimeRequest.MAX_RESPONSE + 1);
    Invalid invalid = null;
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
          TimeBound then = request.verify(bytes(buffer));
          // It answered at some moment between the first request and now.
          long latest = then.later(arrived - first).latest();
          var bound = new TimeBound(then.earliest(), latest, then.kind());
          return new Measurement(bound, arrived, wall);
        } catch (Invalid e) {
          invalid = e;
        }
      }
    }
    throw silence(invalid);
  }

  private static byte[] bytes(ByteBuffer buffer) {
    var bytes = new byte[buffer.flip().remaining()];
    buffer.get(bytes);
    return bytes;
  }

  private IOException silence(@Nullable Invalid invalid) {
    String waited = "within " + patience.toMillis() + " ms";
    return invalid == null
        ? new SocketTimeoutException(
            "no answer " + waited + ": nobody is there, or a server that has another key")
        : new IOException("no valid answer " + waited + ": " + invalid.getMessage(), invalid);
  }
}
