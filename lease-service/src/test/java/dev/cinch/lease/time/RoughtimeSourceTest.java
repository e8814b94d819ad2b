package dev.cinch.lease.time;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.cinch.lease.TimeBound;
import dev.cinch.lease.TimeBound.Kind;
import dev.cinch.lease.time.BoundSource.Measurement;
import dev.cinch.lease.witness.SigningKey;
import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** Servers that are asked over loopback. */
class RoughtimeSourceTest {
  private static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final long SECOND = 1_000_000_000L;

  private final SigningKey key = SigningKey.generate();

  private static RoughtimeSource source(RoughtimeSource.Server server) {
    return new RoughtimeSource(SystemTime.INSTANCE, PATIENCE, server);
  }

  private static void fails(String why, RoughtimeSource source) {
    var e = assertThrows(IOException.class, () -> source.measure().wall());
    assertEquals(why, e.getMessage());
  }

  @Test
  void theBoundOfAServerIsWiderByHowLongItsAnswerTook() throws Exception {
    var time = new ManualTime();
    TimeBound now = TimeBound.around(ManualTime.START, SECOND, Kind.MEASURED);
    try (RoughtimeServer server =
        RoughtimeServer.saying(
            () -> {
              time.advanceMs(400);
              return now;
            })) {
      var source = new RoughtimeSource(time, PATIENCE, server.server());
      assertEquals("roughtime:127.0.0.1:" + server.server().port(), source.name());
      long first = time.monotonicNanos();
      Measurement said = source.measure();
      assertEquals(ManualTime.START - 3 * SECOND, said.bound().earliest());
      assertEquals(ManualTime.START + 3 * SECOND + 400_000_000, said.bound().latest());
      assertEquals(Kind.MEASURED, said.bound().kind());
      assertEquals(first + 400_000_000, said.monotonic());
      assertEquals(time.wallNanos(), said.wall());
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
          new RoughtimeSource.Server("127.0.0.1", impostor.getLocalPort(), key.publicKey());
      fails(
          "no valid answer within 60000 ms: not a packet of Roughtime",
          new RoughtimeSource(time, PATIENCE, server));
      thread.join();
    }
  }

  @Test
  void aServerThatDoesNotAnswerIsTold() throws Exception {
    try (var silent = new DatagramSocket(0, InetAddress.getLoopbackAddress())) {
      var server = new RoughtimeSource.Server("127.0.0.1", silent.getLocalPort(), key.publicKey());
      fails(
          "no answer within 50 ms: nobody is there, or a server that has another key",
          new RoughtimeSource(SystemTime.INSTANCE, Duration.ofMillis(50), server));
    }
    RoughtimeSource.Server gone;
    try (RoughtimeServer server = RoughtimeServer.off(0)) {
      gone = server.server();
    }
    fails("nobody listens there", source(gone));
    fails(
        "no such host",
        source(new RoughtimeSource.Server("no-such-host.invalid", 1, key.publicKey())));
  }

  @Test
  void serversAreReadAsPeopleWriteThem() {
    String base64 = RoughtimeServer.base64(key.publicKey());
    for (String text : new String[] {base64, key.publicKey().toString()}) {
      var server = new RoughtimeSource.Server("foo", 2_002, key.publicKey());
      assertEquals(server, RoughtimeSource.Server.parse("foo:2002=" + text));
      var v6 = RoughtimeSource.Server.parse("[::1]:1=" + text);
      assertEquals("::1", v6.host());
      assertEquals("[::1]:1", v6.address());
    }
    for (String wrong : new String[] {"A".repeat(44), "?".repeat(44), "0".repeat(63), "bar"}) {
      assertThrows(
          IllegalArgumentException.class, () -> RoughtimeSource.Server.parse("foo:1=" + wrong));
    }
    String any = "0".repeat(64);
    for (String wrong : new String[] {"", "foo", "foo:1", "foo:99999=" + any, ":1=x", "foo:1="}) {
      var e =
          assertThrows(
              IllegalArgumentException.class, () -> RoughtimeSource.Server.parse(wrong), wrong);
      String why = "not a Roughtime server: \"" + wrong;
      assertEquals(why, String.valueOf(e.getMessage()).substring(0, why.length()));
    }
  }
}
