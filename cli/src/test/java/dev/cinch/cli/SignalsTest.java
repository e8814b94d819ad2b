package dev.cinch.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.Socket;
import java.net.SocketException;
import java.net.URI;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Commands that are told to end, in the middle of their work. How a process hears a signal is
 * tested once for each that does something about it.
 */
@Timeout(600)
public class SignalsTest {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String LEASE = "--lease=jobs/1";

  @TempDir Path temp;

  private static String[] words(Path store, String... options) {
    var args = new java.util.ArrayList<>(List.of("append", "--log=jobs", "--store=" + store));
    args.addAll(List.of(options));
    Cinch.on(store).run("log", "create", "jobs").ended(0); // or that it was made would be told
    return args.toArray(String[]::new);
  }

  private static Forked append(Path store, String... options) throws IOException {
    return new Forked(words(store, options));
  }

  private static Forked appendHere(Path store, String... options) throws IOException {
    return Forked.here(words(store, options));
  }

  @Test
  void sigtermFinishesWhatWasTakenAndGivesTheLeasesBack() throws Exception {
    try (var served = new Served(temp);
        Forked append = appendHere(served.store, LEASE, "--server=" + served.uri(), "--json")) {
      append.type("one\ntw");
      JsonNode receipt = JSON.readTree(append.line());
      assertEquals("COMMITTED", receipt.get("state").textValue());
      append.signal("TERM"); // its input is still open
      append.ended(143);
      assertEquals(List.of(), append.rest());
      assertEquals(
          "cinch append: stopped by SIGTERM before the end of the input: 1 message committed\n",
          append.err());
      Cinch cinch = served.cinch;
      assertEquals("one\n", cinch.run("cat", "--log=jobs", "--live").ended(0).out());
      JsonNode next =
          JSON.readTree(cinch.run("lease", "acquire", "jobs/1").ended(0).out())
              .get("witnesses")
              .get(0)
              .get("witness");
      assertEquals("RELEASED", next.get("previousEnding").textValue());
      String watermark = next.get("watermark").get("timestamp").textValue();
      assertTrue(watermark.compareTo(receipt.get("timestamp").textValue()) >= 0, watermark);
      assertTrue(next.get("fence") == null, next.toString());
    }
  }

  @Test
  void sigintEndsAPlainAppendInTheSameWay() throws Exception {
    Path store = Cinch.quickStore(temp);
    try (Forked append = append(store, "--json")) {
      append.type("one\ntwo\n");
      append.line();
      append.line();
      append.signal("INT");
      append.ended(130);
      assertEquals(
          "cinch append: stopped by SIGINT before the end of the input: 2 messages committed\n",
          append.err());
    }
    assertEquals("one\ntwo\n", Cinch.on(store).run("cat", "--log=jobs", "--live").out());
  }

  @Test
  void aWatchPrintsEachChangeAsItHappensUntilItIsInterrupted() throws Exception {
    try (var served = new Served(temp)) {
      Cinch cinch = served.cinch;
      cinch.run("lease", "acquire", "--holder=me", "jobs/1").ended(0);
      String uri = "--server=" + served.uri();
      try (Forked people = new Forked("lease", "watch", uri, "jobs/", "other");
          Forked programs = Forked.endless("lease", "watch", uri, "--json")) {
        assertEquals("jobs/1 held by me", people.line());
        JsonNode held = JSON.readTree(programs.line());
        assertEquals("held", held.get("event").textValue());
        assertEquals("HELD", held.get("lease").get("state").textValue());
        assertEquals("{\"event\":\"synced\"}", programs.line());
        cinch.run("lease", "revoke", "--reason=x", served.admin, "jobs/1").ended(0);
        assertEquals("jobs/1 revoked by me", people.line());
        assertEquals("revoked", JSON.readTree(programs.line()).get("event").textValue());
        people.signal("INT");
        people.ended(130);
      }
    }
    cinchFails("lease", "watch", "--server=http://127.0.0.1:1", "a\u0000");
  }

  private static void cinchFails(String... args) {
    new Cinch().run(args).failed(2, "name");
  }

  /** Nothing is lost by it, and what opens may hang for ever. */
  @Test
  void beforeItHasItsInputASignalJustEndsIt() throws Exception {
    Path store = Cinch.quickStore(temp);
    Path pipe = temp.resolve("pipe");
    assertEquals(0, new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor());
    try (Forked append = append(store, pipe.toString())) {
      append.awaitStack("UnixNativeDispatcher.open"); // nobody opens the other end
      append.signal("TERM");
      append.ended(143);
    }
  }

  @Test
  void aLaterSignalEndsItAtOnce() throws Exception {
    Path store = Cinch.quickStore(temp);
    try (Forked append = append(store, "--json")) {
      append.type("x\n");
      append.line();
      append.type("x\n".repeat(5_000)); // more receipts than the pipe holds, and nobody reads them
      Cinch cinch = Cinch.on(store);
      while (cinch.run("cat", "--log=jobs", "--live").out().length() < 2 * 1_000) {
        Thread.onSpinWait(); // a signal before it stands there would just end it
      }
      append.signal("TERM");
      append.signalUntilItEnds("INT"); // those that come too soon are the same wish
      int code = append.await();
      assertEquals(130, code);
      String said = append.err();
      assertTrue(
          said.matches(
              "(cinch append: SIGTERM: takes no more input; waiting for [^\n]*\n)?"
                  + "cinch append: ended by another signal: [0-9]+ messages were committed; the fate"
                  + " of lines [0-9]+ to 5001 is unknown\n"),
          said);
    }
  }

  @Test
  void aSignalEndsTheWaitForALeaseAndNothingIsTaken() throws Exception {
    try (var served = new Served(temp)) {
      served.cinch.run("lease", "acquire", "--for=60s", "jobs/1").ended(0);
      served.awaitAcquires(1);
      String server = "--server=" + served.uri();
      try (Forked append = appendHere(served.store, LEASE, server, "--wait=1h")) {
        append.type("never\n");
        served.awaitAcquires(2); // it tries again
        append.signal("TERM");
        append.ended(143);
        assertEquals("cinch append: stopped by SIGTERM; nothing was appended\n", append.err());
      }
      assertEquals("", served.cinch.run("cat", "--log=jobs", "--live").ended(0).out());
    }
  }

  /** A short lease, which may be lost and taken anew before the kill where the machine is slow. */
  @Test
  void afterSigkillReceiptsAreTrueAndTheNextHolderFences() throws Exception {
    try (var served = new Served(temp)) {
      Cinch cinch = served.cinch;
      String server = "--server=" + served.uri();
      try (Forked append =
          append(served.store, LEASE, server, "--json", "--lease-for=2s", "--wait=1h")) {
        append.type("a\nb\n");
        append.line();
        append.line();
        append.signal("KILL");
        append.ended(137);
      }
      cinch.feed("c\n", "append", "--log=jobs", LEASE, "--wait=1h").ended(0);
      JsonNode last =
          JSON.readTree(cinch.run("lease", "show", "--json", "jobs/1").ended(0).out())
              .get("witness");
      assertEquals("BROKEN", last.get("previousEnding").textValue());
      cinch.settle("jobs");
      assertEquals("a\nb\nc\n", cinch.run("cat", "--log=jobs").ended(0).out());
      String audited = cinch.run("audit").ended(0).out();
      assertTrue(
          audited.matches("(?s).* [1-9][0-9]* handovers, [1-9][0-9]* fences; 0 violations.*"),
          audited);
    }
  }

  /** A request of which the head has arrived at a server, by a connection of its own. */
  public static Socket begun(URI server) throws IOException {
    var socket = new Socket(server.getHost(), server.getPort());
    String head =
        "POST /v1/leases/release HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nExpect: 100-continue\r\n"
            + "Content-Length: 41\r\n\r\n";
    socket.getOutputStream().write(head.getBytes(UTF_8));
    assertEquals(
        "HTTP/1.1 100 Continue\r\n\r\n", new String(socket.getInputStream().readNBytes(25), UTF_8));
    return socket;
  }

  public static void awaitEnd(Socket socket) throws IOException {
    try {
      assertEquals(-1, socket.getInputStream().read());
    } catch (SocketException e) {
      // A reset: the server had not accepted it yet.
    }
  }

  @Test
  void serveAnswersWhatIsUnderWayAndEndsWell() throws Exception {
    Path store = Cinch.store(temp);
    try (Forked serve = Forked.serve(temp, store)) {
      URI uri = URI.create(serve.listening());
      try (Socket busy = begun(uri);
          Socket quiet = new Socket(uri.getHost(), uri.getPort())) {
        serve.signal("TERM");
        awaitEnd(quiet); // it has heard
        busy.getOutputStream()
            .write("{\"id\":\"000102030405060708090a0b0c0d0e0f\"}".getBytes(UTF_8));
        var answer = new String(busy.getInputStream().readAllBytes(), UTF_8);
        assertTrue(answer.startsWith("HTTP/1.1 410 Gone\r\n"), answer);
      }
      serve.ended(0);
      assertEquals("", serve.err());
    }
  }

  @Test
  void aLaterSignalEndsServeAtOnce() throws Exception {
    Path store = Cinch.store(temp);
    try (Forked serve = Forked.serve(temp, store)) {
      URI uri = URI.create(serve.listening());
      try (Socket busy = begun(uri);
          Socket quiet = new Socket(uri.getHost(), uri.getPort())) {
        serve.signal("TERM");
        awaitEnd(quiet);
        serve.signalUntilItEnds("TERM"); // those that come too soon are the same wish
        serve.ended(143);
        awaitEnd(busy);
      }
    }
  }
}
