package dev.cinch.lease.time.udp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.TimeBound;
import dev.cinch.lease.TimeBound.Kind;
import dev.cinch.lease.time.ManualTime;
import dev.cinch.lease.time.SystemTime;
import dev.cinch.lease.time.TimeBounds;
import dev.cinch.lease.time.roughtime.RoughtimeChain;
import dev.cinch.lease.time.roughtime.RoughtimeException;
import dev.cinch.lease.time.roughtime.RoughtimeReply;
import dev.cinch.lease.time.roughtime.RoughtimeRequest;
import dev.cinch.lease.witness.SigningKey;
import java.io.IOException;
import java.net.BindException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

/** The server and the client, over loopback. */
class RoughtimeServerTest {
  private static final InetSocketAddress ANY =
      new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
  private static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final TimeBound NOW =
      TimeBound.around(ManualTime.START, 1_000_000_000L, Kind.MEASURED);

  private final SigningKey key = SigningKey.generate();

  private RoughtimeServer serving(TimeBound bound) throws IOException {
    return RoughtimeServer.start(ANY, key, () -> Optional.of(bound));
  }

  private static RoughtimeClient.Server at(RoughtimeServer server) {
    return new RoughtimeClient.Server("127.0.0.1", server.port(), server.publicKey());
  }

  private static RoughtimeClient client(Duration patience) {
    return new RoughtimeClient(SystemTime.INSTANCE, patience);
  }

  @Test
  void serversAreAskedInAChain() throws IOException {
    try (RoughtimeServer one = serving(NOW);
        RoughtimeServer two =
            RoughtimeServer.start(
                ANY, SigningKey.generate(), () -> Optional.of(NOW.later(-60_000_000_000L)))) {
      var chain = new RoughtimeChain();
      var asking = client(PATIENCE);
      RoughtimeClient.Answer first = asking.ask(at(one), chain);
      assertEquals(ManualTime.START / 1_000_000_000L, first.reply().midpointSeconds());
      assertEquals(first.reply().bound().earliest(), first.bound().earliest());
      long longer = first.bound().latest() - first.reply().bound().latest();
      assertEquals(first.roundTripNanos(), longer);
      assertEquals(List.of(), chain.conflicts());
      RoughtimeClient.Answer unused = asking.ask(at(two), chain);
      assertEquals(1, chain.conflicts().size());
      counted(one, 1, 0);
    }
  }

  /** Three requests wait while the first is answered; one signature serves them. */
  @Test
  void whatWaitsIsAnsweredTogetherAndWhatIsNoRequestNotAtAll() throws Exception {
    var asked = new CountDownLatch(1);
    var go = new CountDownLatch(1);
    TimeBounds slow =
        () -> {
          asked.countDown();
          try {
            go.await();
          } catch (InterruptedException e) {
            throw new IllegalStateException(e);
          }
          return Optional.of(NOW);
        };
    try (RoughtimeServer server = RoughtimeServer.start(ANY, key, slow);
        var socket = new DatagramSocket()) {
      var requests = new ArrayList<RoughtimeRequest>();
      for (int i = 0; i < 4; i++) {
        var nonce = new byte[32];
        nonce[0] = (byte) i;
        requests.add(RoughtimeRequest.of(key.publicKey(), nonce));
      }
      send(socket, server, requests.get(0).packet());
      asked.await();
      send(socket, server, new byte[0]);
      send(socket, server, new byte[2_000]);
      for (RoughtimeRequest request : requests.subList(1, 4)) {
        send(socket, server, request.packet());
        send(socket, server, Arrays.copyOf(request.packet(), 500));
      }
      go.countDown();
      List<byte[]> answers = new ArrayList<>();
      for (int i = 0; i < 4; i++) {
        answers.add(receive(socket));
        RoughtimeReply.verify(answers.get(i), requests.get(i), key.publicKey());
      }
      assertEquals(signature(answers.get(1)), signature(answers.get(2)));
      assertEquals(signature(answers.get(1)), signature(answers.get(3)));
      assertTrue(answers.get(1).length > answers.get(0).length); // it has a path
      counted(server, 4, 5);
    }
  }

  /** It counts after it has sent. */
  private static void counted(RoughtimeServer server, long answered, long dropped)
      throws IOException {
    server.close();
    assertEquals(answered, server.answered());
    assertEquals(dropped, server.dropped());
  }

  private static List<Byte> signature(byte[] response) {
    var signature = new ArrayList<Byte>();
    // Of seven tags SIG is the first, so its value is the first.
    for (int i = 0; i < 64; i++) {
      signature.add(response[12 + 7 * 8 + i]);
    }
    return signature;
  }

  private static void send(DatagramSocket socket, RoughtimeServer server, byte[] bytes)
      throws IOException {
    var to = new InetSocketAddress(InetAddress.getLoopbackAddress(), server.port());
    socket.send(new DatagramPacket(bytes, bytes.length, to));
  }

  private static byte[] receive(DatagramSocket socket) throws IOException {
    socket.setSoTimeout(60_000);
    var packet = new DatagramPacket(new byte[4_096], 4_096);
    socket.receive(packet);
    return Arrays.copyOf(packet.getData(), packet.getLength());
  }

  /** Not one byte more comes back than was sent, so nobody can be flooded through it. */
  @Test
  void aShortRequestIsNotAnsweredAtLength() throws Exception {
    byte[] full = RoughtimeRequest.of(key.publicKey(), new byte[32]).packet();
    try (RoughtimeServer server = serving(NOW);
        var socket = new DatagramSocket()) {
      send(socket, server, Shorter.of(full));
      send(socket, server, full);
      byte[] answer = receive(socket);
      RoughtimeReply.verify(
          answer, RoughtimeRequest.of(key.publicKey(), new byte[32]), key.publicKey());
      counted(server, 1, 1);
    }
  }

  /** A request without its padding: ZZZZ has no bytes. */
  private static final class Shorter {
    private Shorter() {}

    static byte[] of(byte[] packet) throws RoughtimeException {
      int values = 12 + 5 * 8;
      int padding = packet.length - values - (8 + 32 + 32 + 4);
      byte[] shorter = Arrays.copyOf(packet, packet.length - padding);
      int length = shorter.length - 12;
      for (int i = 0; i < 4; i++) {
        shorter[8 + i] = (byte) (length >> (8 * i));
      }
      return shorter;
    }
  }

  @Test
  void whoVouchesForNoTimeAnswersNothing() throws Exception {
    try (RoughtimeServer server = RoughtimeServer.start(ANY, key, Optional::empty)) {
      var e =
          assertThrows(
              IOException.class,
              () -> client(Duration.ofMillis(50)).ask(at(server), new RoughtimeChain()).wall());
      assertEquals(
          "no answer within 50 ms: nobody is there, or a server that has another key",
          e.getMessage());
    }
  }

  @Test
  void aForgedAnswerIsPassedOverAndNamedIfNoOtherComes() throws Exception {
    var time = new ManualTime();
    try (var impostor = new DatagramSocket(0, InetAddress.getLoopbackAddress())) {
      var thread =
          new Thread(
              () -> {
                try {
                  var packet = new DatagramPacket(new byte[4_096], 4_096);
                  impostor.receive(packet);
                  impostor.send(new DatagramPacket(new byte[40], 40, packet.getSocketAddress()));
                  time.advanceMs(PATIENCE.toMillis());
                } catch (IOException e) {
                  throw new IllegalStateException(e);
                }
              });
      thread.start();
      var server =
          new RoughtimeClient.Server("127.0.0.1", impostor.getLocalPort(), key.publicKey());
      var asking = new RoughtimeClient(time, PATIENCE);
      var e =
          assertThrows(IOException.class, () -> asking.ask(server, new RoughtimeChain()).wall());
      assertEquals("no valid answer within 60000 ms: not a packet of Roughtime", e.getMessage());
      thread.join();
    }
  }

  @Test
  void placesWhereNobodyListensAreTold() throws Exception {
    int port;
    try (RoughtimeServer server = serving(NOW)) {
      port = server.port();
      assertThrows(
          BindException.class,
          () ->
              RoughtimeServer.start(
                      new InetSocketAddress(ANY.getAddress(), port), key, Optional::empty)
                  .close());
    }
    var gone = new RoughtimeClient.Server("127.0.0.1", port, key.publicKey());
    var e =
        assertThrows(
            IOException.class, () -> client(PATIENCE).ask(gone, new RoughtimeChain()).wall());
    assertEquals("nobody listens there", e.getMessage());
  }
}
