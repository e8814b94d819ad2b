package dev.cinch.lease.time;

import dev.cinch.lease.TimeBound;
import dev.cinch.lease.time.RoughtimeMessage.Invalid;
import dev.cinch.lease.witness.PublicKey;
import dev.cinch.lease.witness.SigningKey;
import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.function.Supplier;

/** A Roughtime server on loopback, which says what a test wants. */
public final class RoughtimeServer implements AutoCloseable {
  private static final long SECOND = 1_000_000_000L;
  private static final int MAX_REQUEST = 1_500;
  private static final int DRAFT = 0x8000000c;
  private static final int[] VERSIONS = {1, DRAFT};

  private final SigningKey key = SigningKey.generate();
  private final Supplier<TimeBound> now;
  private final DatagramSocket socket;
  private final Thread thread = new Thread(this::run, "roughtime");

  private RoughtimeServer(Supplier<TimeBound> now) throws IOException {
    this.now = now;
    this.socket = new DatagramSocket(0, InetAddress.getLoopbackAddress());
  }

  /** A server whose time is this. */
  static RoughtimeServer saying(Supplier<TimeBound> now) throws IOException {
    var server = new RoughtimeServer(now);
    server.thread.setDaemon(true);
    server.thread.start();
    return server;
  }

  /** A server whose clock is off by so much. */
  public static RoughtimeServer off(long offsetSeconds) throws IOException {
    return saying(
        () -> {
          long wall = SystemTime.INSTANCE.wallNanos() + offsetSeconds * SECOND;
          return TimeBound.around(wall, SECOND, TimeBound.Kind.ASSUMED);
        });
  }

  RoughtimeSource.Server server() {
    return new RoughtimeSource.Server("127.0.0.1", socket.getLocalPort(), key.publicKey());
  }

  /** Like {@code 127.0.0.1:2002}. */
  public String address() {
    return server().address();
  }

  /** Its address and its key, in base64. */
  public String named() {
    return address() + "=" + base64(key.publicKey());
  }

  static String base64(PublicKey key) {
    return Base64.getEncoder().encodeToString(key.bytes());
  }

  private void run() {
    var buffer = new DatagramPacket(new byte[MAX_REQUEST], MAX_REQUEST);
    try {
      while (!socket.isClosed()) {
        buffer.setLength(MAX_REQUEST);
        socket.receive(buffer);
        byte[] request = Arrays.copyOf(buffer.getData(), buffer.getLength());
        byte[] response = answer(key, List.of(request), now.get()).get(0);
        socket.send(new DatagramPacket(response, response.length, buffer.getSocketAddress()));
      }
    } catch (SocketException e) {
      // It was closed.
    } catch (IOException | Invalid e) {
      throw new IllegalStateException("not asked by a client of ours", e);
    }
  }

  @Override
  public void close() {
    socket.close();
    try {
      thread.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Answers the packets of requests, all of one version, under one signature. */
  static List<byte[]> answer(SigningKey longTerm, List<byte[]> requests, TimeBound now)
      throws Invalid {
    // Rounded to a second: the radius covers what that adds, and leap seconds.
    long midpoint = Math.floorDiv(now.midpoint(), SECOND);
    int radius = (int) Math.max(3, now.radius() / SECOND + 2);
    List<List<byte[]>> levels = tree(requests);
    RoughtimeMessage first = RoughtimeMessage.ofPacket(requests.get(0));
    int version = first.getVersions(RoughtimeMessage.VER)[0];
    byte[] said =
        new RoughtimeMessage()
            .putInt(RoughtimeMessage.VER, version)
            .putInt(RoughtimeMessage.RADI, radius)
            .put(RoughtimeMessage.MIDP, seconds(midpoint))
            .putInt(RoughtimeMessage.VERS, VERSIONS)
            .put(RoughtimeMessage.ROOT, levels.get(levels.size() - 1).get(0))
            .encode();
    SigningKey online = SigningKey.generate();
    byte[] signature = online.sign(RoughtimeRequest.RESPONSE, said);
    byte[] certificate = certificate(longTerm, online.publicKey(), midpoint, midpoint + 86_400);
    var responses = new ArrayList<byte[]>();
    for (int i = 0; i < requests.size(); i++) {
      byte[] nonce = RoughtimeMessage.ofPacket(requests.get(i)).get(RoughtimeMessage.NONC);
      responses.add(
          new RoughtimeMessage()
              .put(RoughtimeMessage.SIG, signature)
              .put(RoughtimeMessage.NONC, nonce)
              .putInt(RoughtimeMessage.TYPE, RoughtimeRequest.ANSWERS)
              .put(RoughtimeMessage.PATH, path(levels, i))
              .put(RoughtimeMessage.SREP, said)
              .put(RoughtimeMessage.CERT, certificate)
              .putInt(RoughtimeMessage.INDX, i)
              .packet());
    }
    return responses;
  }

  /** CERT: a key that may sign from a second to a second. */
  static byte[] certificate(SigningKey longTerm, PublicKey key, long from, long to) {
    byte[] delegation =
        new RoughtimeMessage()
            .put(RoughtimeMessage.PUBK, key.bytes())
            .put(RoughtimeMessage.MINT, seconds(from))
            .put(RoughtimeMessage.MAXT, seconds(to))
            .encode();
    return new RoughtimeMessage()
        .put(RoughtimeMessage.SIG, longTerm.sign(RoughtimeRequest.DELEGATION, delegation))
        .put(RoughtimeMessage.DELE, delegation)
        .encode();
  }

  static byte[] seconds(long number) {
    return ByteBuffer.allocate(Long.BYTES).order(ByteOrder.LITTLE_ENDIAN).putLong(number).array();
  }

  /** From the leaves to the root. The last node of an odd level is its own sibling too. */
  private static List<List<byte[]>> tree(List<byte[]> packets) {
    var levels = new ArrayList<List<byte[]>>();
    List<byte[]> level = packets.stream().map(RoughtimeRequest::leaf).toList();
    levels.add(level);
    while (level.size() > 1) {
      var above = new ArrayList<byte[]>();
      for (int i = 0; i < level.size(); i += 2) {
        above.add(RoughtimeRequest.node(level.get(i), sibling(level, i)));
      }
      level = above;
      levels.add(level);
    }
    return levels;
  }

  private static byte[] sibling(List<byte[]> level, int index) {
    return level.get(Math.min(index ^ 1, level.size() - 1));
  }

  private static byte[] path(List<List<byte[]>> levels, int leaf) {
    int steps = levels.size() - 1;
    ByteBuffer path = ByteBuffer.allocate(RoughtimeRequest.HASH_BYTES * steps);
    for (int i = 0; i < steps; i++) {
      path.put(sibling(levels.get(i), leaf >> i));
    }
    return path.array();
  }
}
