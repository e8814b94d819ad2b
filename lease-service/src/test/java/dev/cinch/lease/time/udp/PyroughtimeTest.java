package dev.cinch.lease.time.udp;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.cinch.lease.TimeBound;
import dev.cinch.lease.TimeBound.Kind;
import dev.cinch.lease.time.ManualTime;
import dev.cinch.lease.time.SystemTime;
import dev.cinch.lease.time.TimeBounds;
import dev.cinch.lease.time.roughtime.MalfeasanceReport;
import dev.cinch.lease.time.roughtime.RoughtimeChain;
import dev.cinch.lease.time.roughtime.ServerKeys;
import dev.cinch.lease.witness.SigningKey;
import java.io.BufferedReader;
import java.io.IOException;
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
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * With an implementation that is not ours, in both directions: pyroughtime, by an author of the
 * draft. Skipped where Python can't import one that speaks draft 14 or later.
 */
@Timeout(600)
class PyroughtimeTest {
  private static final int CLIENTS = 4;

  private static final String USABLE =
      """
      import inspect, pyroughtime
      new = pyroughtime.RoughtimeServer.ROUGHTIME_VERSION == 0x8000000c
      exit(0 if new and "'TYPE'" in inspect.getsource(pyroughtime.RoughtimeClient.query) else 1)
      """;

  /** Asks the servers host:port=key one after the other; tells what they said, and reports. */
  private static final String CLIENT =
      """
      import sys, pyroughtime
      client = pyroughtime.RoughtimeClient()
      for server in sys.argv[1:]:
          at, key = server.split('=', 1)
          host, port = at.split(':')
          said = client.query(host, int(port), key, timeout=60)
          print(said.midp(), said.radi(), said.ver())
      print(client.verify_replies())
      print(client.get_malfeasance_report())
      """;

  /** Asks one server in several threads at once; tells how long the path of each answer was. */
  private static final String CLIENTS_AT_ONCE =
      """
      import sys, pyroughtime, concurrent.futures
      at, key = sys.argv[1].split('=', 1)
      host, port = at.split(':')
      def ask(i):
          said = pyroughtime.RoughtimeClient().query(host, int(port), key, timeout=60)
          return said.midp(), said.pathlen()
      with concurrent.futures.ThreadPoolExecutor(int(sys.argv[2])) as pool:
          for midp, pathlen in pool.map(ask, range(int(sys.argv[2]))):
              print(midp, pathlen)
      """;

  /** Serves until its input ends; a day late if there is an argument. */
  private static final String SERVER =
      """
      import sys, time, pyroughtime
      Server = pyroughtime.RoughtimeServer
      private, public = Server.create_key()
      certificate, delegated = Server.create_delegated_key(private, int(time.time()) - 10 * 86400)
      server = Server(public, certificate, delegated, badtime=len(sys.argv) > 1)
      server.start('127.0.0.1', 0)
      print('%d=%s' % (server._sock.getsockname()[1], public), flush=True)
      sys.stdin.read()
      server.stop()
      """;

  private final SigningKey key = SigningKey.generate();

  private static ProcessBuilder python(String script, String... arguments) {
    var command = new ArrayList<>(List.of("python3", "-c", script));
    command.addAll(Arrays.asList(arguments));
    return new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT);
  }

  private static List<String> output(String script, String... arguments) throws Exception {
    Process process = python(script, arguments).start();
    try (BufferedReader out = process.inputReader(UTF_8)) {
      List<String> lines = out.lines().toList();
      assertEquals(0, process.waitFor(), "" + lines);
      return lines;
    }
  }

  @BeforeAll
  static void requireIt() throws InterruptedException {
    boolean usable;
    try {
      Process process = python(USABLE).redirectError(ProcessBuilder.Redirect.DISCARD).start();
      usable = process.waitFor() == 0;
    } catch (IOException e) {
      usable = false; // no Python
    }
    assumeTrue(usable, "python3 can't import a pyroughtime that speaks draft 14 or later");
  }

  private RoughtimeServer ours(SigningKey key, TimeBounds bounds) throws IOException {
    var any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    return RoughtimeServer.start(any, key, bounds);
  }

  private static TimeBounds always(long offsetSeconds) {
    long now = ManualTime.START + offsetSeconds * 1_000_000_000L;
    return () -> Optional.of(TimeBound.around(now, 0, Kind.MEASURED));
  }

  private static String named(int port, RoughtimeServer server) {
    return "127.0.0.1:" + port + "=" + ServerKeys.text(server.publicKey());
  }

  @Test
  void theirClientAsksOurServersAndItsReportProvesToUsWhatTheySaid() throws Exception {
    try (RoughtimeServer one = ours(key, always(0));
        RoughtimeServer late = ours(SigningKey.generate(), always(-60))) {
      long right = ManualTime.START / 1_000_000_000L;
      String first = named(one.port(), one);
      List<String> said = output(CLIENT, first, first);
      assertEquals(right + " 3 draft-12", said.get(0));
      assertEquals("True", said.get(2));
      said = output(CLIENT, first, named(late.port(), late), first);
      assertEquals(right - 60 + " 3 draft-12", said.get(1));
      assertEquals("False", said.get(3));
      byte[] report = String.join("\n", said.subList(4, said.size())).getBytes(UTF_8);
      RoughtimeChain chain = MalfeasanceReport.read(report);
      assertEquals(List.of(one.publicKey(), late.publicKey(), one.publicKey()), chain.servers());
      assertEquals(List.of(new RoughtimeChain.Conflict(0, 1, 54)), chain.conflicts());
    }
  }

  @Test
  void theirClientsTakeAnswersThatShareASignature() throws Exception {
    var asked = new CountDownLatch(1);
    var go = new CountDownLatch(1);
    TimeBounds gated =
        () -> {
          asked.countDown();
          try {
            go.await();
          } catch (InterruptedException e) {
            throw new IllegalStateException(e);
          }
          return always(0).now();
        };
    try (RoughtimeServer server = ours(key, gated);
        var between = new DatagramSocket(0, InetAddress.getLoopbackAddress())) {
      Process clients =
          python(CLIENTS_AT_ONCE, named(between.getLocalPort(), server), "" + CLIENTS).start();
      var received = new ArrayList<DatagramPacket>();
      for (int i = 0; i < CLIENTS; i++) {
        var request = new DatagramPacket(new byte[2_000], 2_000);
        between.receive(request);
        received.add(request);
      }
      var sockets = new ArrayList<DatagramSocket>();
      for (DatagramPacket request : received) {
        var socket = new DatagramSocket();
        socket.send(
            new DatagramPacket(
                request.getData(),
                request.getLength(),
                InetAddress.getLoopbackAddress(),
                server.port()));
        sockets.add(socket);
        asked.await(); // the others wait while the first is answered
      }
      go.countDown();
      for (int i = 0; i < CLIENTS; i++) {
        var response = new DatagramPacket(new byte[2_000], 2_000);
        sockets.get(i).receive(response);
        sockets.get(i).close();
        response.setSocketAddress(received.get(i).getSocketAddress());
        between.send(response);
      }
      try (BufferedReader out = clients.inputReader(UTF_8)) {
        String right = ManualTime.START / 1_000_000_000L + " ";
        assertEquals(
            List.of(right + 0, right + 2, right + 2, right + 2), out.lines().sorted().toList());
      }
      assertEquals(0, clients.waitFor());
    }
  }

  @Test
  void ourClientAsksTheirServersAndFindsTheOneThatLies() throws Exception {
    Process right = python(SERVER).start();
    Process wrong = python(SERVER, "late").start();
    try (BufferedReader first = right.inputReader(UTF_8);
        BufferedReader second = wrong.inputReader(UTF_8)) {
      RoughtimeClient.Server one = server(first.readLine());
      RoughtimeClient.Server late = server(second.readLine());
      var client = new RoughtimeClient(SystemTime.INSTANCE, Duration.ofSeconds(60));
      var chain = new RoughtimeChain();
      RoughtimeClient.Answer answer = client.ask(one, chain);
      assertTrue(answer.bound().contains(answer.wall()), "" + answer.bound());
      assertEquals(0x8000000c, answer.reply().version());
      answer = client.ask(one, chain);
      assertEquals(3, answer.reply().radiusSeconds());
      assertEquals(List.of(), chain.conflicts());
      answer = client.ask(late, chain);
      assertEquals(3, answer.reply().radiusSeconds());
      assertEquals(2, chain.conflicts().size());
      RoughtimeChain read = MalfeasanceReport.read(MalfeasanceReport.write(chain));
      assertEquals(chain.conflicts(), read.conflicts());
    } finally {
      right.getOutputStream().close();
      wrong.getOutputStream().close();
      right.waitFor();
      wrong.waitFor();
    }
  }

  private static RoughtimeClient.Server server(String line) {
    String[] parts = line.split("=", 2);
    return new RoughtimeClient.Server(
        "127.0.0.1", Integer.parseInt(parts[0]), ServerKeys.parse(parts[1]));
  }
}
