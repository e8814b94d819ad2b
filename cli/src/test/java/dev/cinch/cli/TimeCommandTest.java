package dev.cinch.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.time.SystemTime;
import dev.cinch.lease.time.TimeBounds;
import dev.cinch.lease.time.roughtime.ServerKeys;
import dev.cinch.lease.time.udp.RoughtimeServer;
import dev.cinch.lease.witness.SigningKey;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** {@code cinch time}, asking servers whose clocks are right and wrong. */
@Timeout(600)
class TimeCommandTest {
  private static final String TIME =
      "  \\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ ±3 s, in \\d+ ms\n";

  @TempDir Path temp;

  private final Cinch cinch = new Cinch();

  /** A server whose clock is off by so much. */
  static RoughtimeServer server(long offsetSeconds) throws IOException {
    var clock = new SystemTime(offsetSeconds * 1_000_000_000L);
    var any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    return RoughtimeServer.start(any, SigningKey.generate(), TimeBounds.assumed(clock));
  }

  private static String address(RoughtimeServer server) {
    return "127.0.0.1:" + server.port();
  }

  static String named(RoughtimeServer server) {
    return address(server) + "=" + ServerKeys.text(server.publicKey());
  }

  @Test
  void oneServerSaysHowFarTheClockIsOff() throws Exception {
    try (RoughtimeServer one = server(0)) {
      String said = cinch.run("time", named(one)).ended(0).out();
      assertTrue(
          said.matches(
              address(one)
                  + TIME
                  + "this machine's clock is right, as far as that tells: within ±\\d+ ms\n"),
          said);
      String hex = address(one) + "=" + one.publicKey();
      said = cinch.run("time", "--clock-offset=-1h", hex).ended(3).out();
      assertTrue(
          said.matches("(?s).*this machine's clock is (59|60) min behind, ±\\d+ ms\n"), said);
      said = cinch.run("time", "--clock-offset=100s", hex).ended(3).out();
      assertTrue(said.matches("(?s).*clock is (99|100|101) s ahead, ±.*"), said);
    }
  }

  @Test
  void severalAreAskedTwiceInTheirOrder() throws Exception {
    try (RoughtimeServer one = server(0);
        RoughtimeServer two = server(0)) {
      String said = cinch.run("time", named(one), named(two)).ended(0).out();
      String both = address(one) + TIME + address(two) + TIME;
      assertTrue(said.matches(both + both + "this machine's clock is right.*\n"), said);
    }
  }

  @Test
  void theOneThatIsWrongIsNamedAndTheReportProvesIt() throws Exception {
    Path report = temp.resolve("report.json");
    try (RoughtimeServer one = server(0);
        RoughtimeServer ahead = server(3_600);
        RoughtimeServer two = server(0)) {
      String[] all = {
        "time", "--report=" + report, named(one), named(ahead), named(two),
      };
      String said = cinch.run(all).ended(1).out();
      assertTrue(
          said.matches(
              "(?s).*\ncontradiction: "
                  + address(two)
                  + " was asked after "
                  + address(ahead)
                  + " and says that it was at least 359\\d s before\n"
                  + "contradiction: "
                  + address(one)
                  + " was asked after "
                  + address(ahead)
                  + " .*\nwrong: "
                  + address(ahead)
                  + ", by 2 of 3\nthis machine's clock is right.*"),
          said);
      // Anybody can check it, with nothing but the file.
      String proven = cinch.run("time", "--check=" + report).ended(1).out();
      assertTrue(proven.contains("contradiction: " + ServerKeys.text(two.publicKey())), proven);
      assertEquals(6, proven.lines().filter(line -> line.endsWith("±3 s")).count());
      byte[] bytes = Files.readAllBytes(report);
      String altered = new String(bytes, java.nio.charset.StandardCharsets.UTF_8);
      Files.writeString(
          report,
          altered.replace(ServerKeys.text(two.publicKey()), ServerKeys.text(one.publicKey())));
      cinch
          .run("time", "--check=" + report)
          .failed(3, report + " proves nothing: response 3: the certificate is not signed by key ");
    }
  }

  @Test
  void ofTwoThatContradictEachOtherNobodyKnowsWhich() throws Exception {
    try (RoughtimeServer one = server(0);
        RoughtimeServer behind = server(-100)) {
      Cinch.Ran ran = cinch.run("time", named(one), named(behind)).ended(1);
      assertTrue(ran.out().contains("\nno time that most of them allow; ask a third server\n"));
      assertEquals("cinch time: --report FILE keeps the proof\n", ran.err());
    }
  }

  @Test
  void aServerThatDoesNotAnswerIsLeftOut() throws Exception {
    String gone;
    try (RoughtimeServer server = server(0)) {
      gone = named(server);
    }
    try (RoughtimeServer one = server(0)) {
      Cinch.Ran ran = cinch.run("time", gone, named(one)).failed(4, ": nobody listens there");
      assertEquals(1, ran.err().lines().count());
      assertTrue(ran.out().contains("this machine's clock is right"), ran.out());
      String other = address(one) + "=" + SigningKey.generate().publicKey();
      cinch
          .run("time", "--timeout=20ms", other)
          .failed(4, "no answer within 20 ms: nobody is there, or a server that has another key");
    }
    cinch.run("time", "no-such-host.invalid:1=" + "0".repeat(64)).failed(4, ": no such host");
  }

  @Test
  void whatIsNoServerIsRefused() {
    cinch.run("time").failed(2, "name servers, HOST:PORT=KEY, or a report with --check");
    for (String wrong :
        new String[] {"foo", "foo:1", "foo:99999=" + "0".repeat(64), ":1=x", "foo:1="}) {
      cinch.run("time", wrong).failed(2, "not a Roughtime server: \"" + wrong.substring(0, 3));
    }
    cinch.run("time", "foo:1=bar").failed(2, "a public key has 64 hexadecimal digits");
    cinch.run("time", "--timeout=0s", "foo:1=" + "0".repeat(64)).failed(2, "--timeout is above 0");
  }

  @Test
  void aLeaseServerAnswersIt() throws Exception {
    Path store = Cinch.store(temp);
    try (Forked serving = Forked.serve(temp, store, "--roughtime=0")) {
      String unused = serving.listening();
      String line = serving.line();
      String prefix = "answering Roughtime on ";
      assertTrue(line.startsWith(prefix + "127.0.0.1:"), line);
      SigningKey key = SigningKey.load(temp.resolve("served.key"));
      assertTrue(line.endsWith("=" + ServerKeys.text(key.publicKey())), line);
      cinch.run("time", line.substring(prefix.length())).ended(0);
    }
    Path own = temp.resolve("roughtime.key");
    try (Forked serving =
        Forked.serve(temp, store, "--replace", "--roughtime=0", "--roughtime-key=" + own)) {
      String unused = serving.listening();
      assertTrue(serving.line().endsWith("=" + ServerKeys.text(SigningKey.load(own).publicKey())));
    }
  }

  /** Three sources, of which one is wrong. */
  @Test
  void aLeaseServerKnowsHowFarOffItsTimeMayBe() throws Exception {
    Path store = Cinch.store(temp);
    try (RoughtimeServer right = server(0);
        RoughtimeServer wrong = server(3_600);
        Forked serving =
            Forked.serve(
                temp,
                store,
                "--time-source=store",
                "--time-source=roughtime:" + named(right),
                "--time-source=roughtime:" + named(wrong))) {
      String uri = serving.listening();
      String problem = "roughtime:" + address(wrong) + " contradicts the others";
      assertEquals("cinch serve: time source: " + problem, serving.errLine());
      Cinch.Ran ran = Cinch.on(store).run("status", "--server=" + uri).ended(3);
      assertTrue(ran.out().contains("! the lease server's time sources: " + problem), ran.out());
      assertTrue(
          ran.out().matches("(?s).*\ntime    known to the lease server: ±\\d+ ms, measured\n.*"),
          ran.out());
    }
  }

  @Test
  void withoutSourcesTheBoundIsAssumed() throws Exception {
    Path store = Cinch.store(temp);
    try (Forked serving = Forked.serve(temp, store)) {
      String uri = serving.listening();
      Cinch.Ran ran = Cinch.on(store).run("status", "--server=" + uri).ended(0);
      assertTrue(ran.out().contains("\ntime    known to the lease server: ±1000 ms, assumed\n"));
    }
  }

  @Test
  void aClockThatItsSourcesContradictIsRefused() throws Exception {
    try (RoughtimeServer one = server(0);
        RoughtimeServer two = server(0)) {
      String[] serve = {
        "serve", "--port=0", "--first", "--key=" + temp.resolve("k"), "--clock-offset=-1h",
      };
      cinch
          .run(
              with(
                  with(serve, "--time-source=roughtime:" + named(one)),
                  "--time-source=roughtime:" + named(two)))
          .failed(3, " min behind its time sources: set the clock (NTP)");
      cinch
          .run(with(serve, "--time-source=ntp"))
          .failed(2, "--time-source is chrony, store, or roughtime:HOST:PORT=KEY, not ntp");
      cinch
          .run(with(serve, "--time-source=roughtime:x"))
          .failed(2, "not a Roughtime server: \"x\"");
      cinch
          .run(with(serve, "--time-source=store"))
          .failed(2, "--time-source store goes with --store");
    }
  }

  @Test
  void aPortThatCanNotBeHadIsTold() throws Exception {
    Path store = Cinch.store(temp);
    String[] serve = {"serve", "--port=0", "--store=" + store, "--key=" + temp.resolve("k")};
    try (RoughtimeServer taken = server(0)) {
      cinch
          .run(with(serve, "--roughtime=" + taken.port()))
          .failed(4, "can't listen on UDP port " + taken.port() + " of 127.0.0.1: ");
    }
    for (String wrong : new String[] {"65536", "x", "a:b:1", "[::1]", ":1", "127.0.0.1:-1"}) {
      cinch
          .run(with(serve, "--roughtime=" + wrong))
          .failed(2, "--roughtime is a port, 0 to 65535, or ADDRESS:PORT, not " + wrong);
    }
    cinch.run(with(serve, "--roughtime=no-such-host.invalid:0")).failed(4, "no such host: no-such");
    cinch
        .run(with(serve, "--roughtime-key=" + temp.resolve("k")))
        .failed(2, "--roughtime-key goes with --roughtime PORT");
    String[] numbers = store.resolve("service/instances").toFile().list();
    assertEquals(0, numbers == null ? -1 : numbers.length);
  }

  private static String[] with(String[] command, String option) {
    String[] all = java.util.Arrays.copyOf(command, command.length + 1);
    all[command.length] = option;
    return all;
  }
}
