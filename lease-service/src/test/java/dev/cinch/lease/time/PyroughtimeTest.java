package dev.cinch.lease.time;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.cinch.lease.TimeBound;
import dev.cinch.lease.TimeBound.Kind;
import dev.cinch.lease.time.BoundSource.Measurement;
import dev.cinch.lease.witness.SigningKey;
import java.io.BufferedReader;
import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
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

  private static ProcessBuilder python(String script, String... arguments) {
    var command = new ArrayList<>(List.of("python3", "-c", script));
    command.addAll(Arrays.asList(arguments));
    return new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT);
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

  /** So they and we mean the same tree. */
  @Test
  void theirClientsTakeAnswersOfTheServerThatOurTestsHave() throws Exception {
    SigningKey key = SigningKey.generate();
    TimeBound now = TimeBound.around(ManualTime.START, 0, Kind.MEASURED);
    try (var socket = new DatagramSocket(0, InetAddress.getLoopbackAddress())) {
      String named =
          "127.0.0.1:" + socket.getLocalPort() + "=" + RoughtimeServer.base64(key.publicKey());
      Process clients = python(CLIENTS_AT_ONCE, named, "" + CLIENTS).start();
      var requests = new ArrayList<DatagramPacket>();
      for (int i = 0; i < CLIENTS; i++) {
        var request = new DatagramPacket(new byte[2_000], 2_000);
        socket.receive(request);
        requests.add(request);
      }
      List<byte[]> responses =
          RoughtimeServer.answer(
              key,
              requests.stream().map(r -> Arrays.copyOf(r.getData(), r.getLength())).toList(),
              now);
      for (int i = 0; i < CLIENTS; i++) {
        byte[] response = responses.get(i);
        socket.send(
            new DatagramPacket(response, response.length, requests.get(i).getSocketAddress()));
      }
      try (BufferedReader out = clients.inputReader(UTF_8)) {
        String line = ManualTime.START / 1_000_000_000L + " 2";
        assertEquals(Collections.nCopies(CLIENTS, line), out.lines().toList());
      }
      assertEquals(0, clients.waitFor());
    }
  }

  @Test
  void ourClientAsksTheirServers() throws Exception {
    Process right = python(SERVER).start();
    Process wrong = python(SERVER, "late").start();
    try (BufferedReader first = right.inputReader(UTF_8);
        BufferedReader second = wrong.inputReader(UTF_8)) {
      Measurement said = ask(first.readLine());
      assertTrue(said.bound().contains(said.wall()), "" + said);
      said = ask(second.readLine());
      assertFalse(said.bound().contains(said.wall()), "" + said);
    } finally {
      right.getOutputStream().close();
      wrong.getOutputStream().close();
      right.waitFor();
      wrong.waitFor();
    }
  }

  private static Measurement ask(String line) throws IOException {
    var server = RoughtimeSource.Server.parse("127.0.0.1:" + line);
    return new RoughtimeSource(SystemTime.INSTANCE, Duration.ofSeconds(60), server).measure();
  }
}
