package dev.cinch.lease.server;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Connections that harm a server as they can, from many addresses, and come again when they are
 * closed. Reads nothing, and does something only when it is stepped. Not thread-safe.
 */
final class Attack implements AutoCloseable {
  private static final String JSON = "Content-Type: application/json\r\n";
  private static final String HEAD = " HTTP/1.1\r\nHost: 127.0.0.1\r\n";
  private static final int ADDRESSES = 20;

  /** Names that are taken with a thousand logs each, so that a listing would have 35 MB. */
  private static final int MUCH = 1_000;

  /** How many of these at once: their answer has half a megabyte. */
  private static final int NAMES = 10;

  /** Such requests are made in one of so many turns: what they cost the test is no matter. */
  private static final int SELDOM = 8;

  /** How a connection does harm: what it sends once, and then again and again. */
  private enum Kind {
    PIPELINES("", ("GET /v1/service" + HEAD + "\r\n").repeat(1_000)),
    LISTS("", ("GET /v1/leases?limit=10000" + HEAD + "\r\n").repeat(100)),
    HEAD_TRICKLES("GET /v1/time" + HEAD, "X: y\r\n"),
    BODY_TRICKLES(
        "POST /v1/leases/renew"
            + HEAD
            + JSON
            + "Content-Length: 1000000\r\n\r\n"
            + " ".repeat(900_000),
        " "),
    IS_QUIET("", ""),
    TALKS_RUBBISH("", "\u0001\u0002 rubbish\r\n\r\n"),
    /** Of an answer of 80 MB, if there were one. */
    ASKS_FOR_MUCH("", acquire(1_000, MUCH, 1_000)),
    /** So that listings would be long, too. Takes its answers, or they would be few. */
    TAKES_MUCH("", "");

    final byte[] first;
    final byte[] again;

    Kind(String first, String again) {
      this.first = first.getBytes(ISO_8859_1);
      this.again = again.getBytes(ISO_8859_1);
    }
  }

  /** Takes some names for as many logs as they may name. */
  private static String acquire(int names, int from, int logs) {
    String named =
        IntStream.range(from, from + names)
            .mapToObj(i -> "\"attack/" + i + "\"")
            .collect(Collectors.joining(","));
    String all =
        IntStream.range(0, logs).mapToObj("\"%032x\""::formatted).collect(Collectors.joining(","));
    String body =
        "{\"id\":\"%032x\",\"names\":[%s],\"holder\":\"h\",\"durationMs\":%d,\"logs\":[%s]}"
            .formatted(from, named, ServerUnderAttack.LONGEST_LEASE_MS, all);
    return "POST /v1/leases/acquire"
        + HEAD
        + JSON
        + "Content-Length: "
        + body.length()
        + "\r\n\r\n"
        + body;
  }

  /** One that comes again. */
  private final class Attacker {
    private final Kind kind;
    private final String from;
    private final ByteBuffer taken = ByteBuffer.allocate(1 << 16);
    private final int number;
    private int turns;
    private @Nullable SocketChannel channel;
    private ByteBuffer rest = ByteBuffer.allocate(0);

    Attacker(int number) {
      this.number = number;
      kind = Kind.values()[number % Kind.values().length];
      from = "127.0.0." + (2 + number % ADDRESSES);
    }

    void step() {
      try {
        SocketChannel to = channel;
        if (to == null) {
          to = SocketChannel.open();
          channel = to;
          to.bind(new InetSocketAddress(from, 0));
          to.connect(new InetSocketAddress("127.0.0.1", port));
          to.configureBlocking(false);
          rest = ByteBuffer.wrap(kind.first);
          connected++;
        }
        if (!rest.hasRemaining()) {
          rest = ByteBuffer.wrap(kind == Kind.TAKES_MUCH ? takeMore() : kind.again);
        }
        sent += to.write(rest);
        if (kind == Kind.TAKES_MUCH) {
          take(to);
        }
      } catch (IOException e) {
        close();
      }
    }

    /** Some that others of the kind may have taken already. */
    private byte[] takeMore() {
      if (turns++ % SELDOM != 0) {
        return new byte[0];
      }
      int some = (number + turns / SELDOM) * NAMES % MUCH;
      return acquire(NAMES, some, 1_000).getBytes(ISO_8859_1);
    }

    private void take(SocketChannel from) throws IOException {
      int read;
      do {
        read = from.read(taken.clear());
        received += Math.max(read, 0);
      } while (read > 0);
    }

    void close() {
      try {
        if (channel != null) {
          channel.close();
        }
      } catch (IOException e) {
        // It comes again anyway.
      }
      channel = null;
    }
  }

  private final int port;
  private final List<Attacker> attackers = new ArrayList<>();
  private int turn;
  private long sent;
  private long received;
  private int connected;

  Attack(int port, int connections) {
    this.port = port;
    for (int i = 0; i < connections; i++) {
      attackers.add(new Attacker(i));
    }
  }

  /** The next so many do something. */
  void step(int many) {
    for (int i = 0; i < many; i++) {
      attackers.get(turn++ % attackers.size()).step();
    }
  }

  @Override
  public String toString() {
    return connected + " connections, " + sent + " bytes sent, " + received + " received";
  }

  @Override
  public void close() {
    attackers.forEach(Attacker::close);
  }
}
