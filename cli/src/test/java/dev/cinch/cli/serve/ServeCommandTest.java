package dev.cinch.cli.serve;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.cinch.cli.Cinch;
import dev.cinch.cli.Forked;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.instance.ServiceInstance;
import dev.cinch.lease.time.SystemTime;
import dev.cinch.lease.witness.SigningKey;
import dev.cinch.lease.witness.WitnessSigner;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A lease server that can't start leaves the one that runs alone. */
@Timeout(600) // one that starts all the same does not end
class ServeCommandTest {
  @TempDir Path temp;

  @Test
  void aPortThatCanNotBeHadTakesNoNumber() throws Exception {
    Path store = Cinch.store(temp);
    try (var taken = new ServerSocket(0, 1, InetAddress.getByName("127.0.0.1"))) {
      int port = taken.getLocalPort();
      Cinch.on(store)
          .run("serve", "--key=" + temp.resolve("key"), "--port=" + port)
          .failed(4, "can't serve on 127.0.0.1:" + port);
    }
    for (String place : List.of("service/instances", "service/ceilings", "keys")) {
      assertArrayEquals(new String[0], store.resolve(place).toFile().list(), place);
    }
  }

  /** With the Logback file of docs/operating.md, in another directory. */
  @Test
  void theTrailIsAFileOfJsonLines() throws Exception {
    String page = Files.readString(Path.of("../docs/operating.md"));
    int from = page.indexOf("<configuration>");
    String end = "</configuration>";
    String xml = page.substring(from, page.indexOf(end, from) + end.length());
    Path logback = temp.resolve("logback.xml");
    Files.writeString(logback, xml.replace("/var/log/cinch", temp.toString()));
    Path store = Cinch.store(temp);
    try (Forked server =
        new Forked(
            List.of("-Dlogback.configurationFile=" + logback),
            "serve",
            "--port=0",
            "--store=" + store,
            "--key=" + temp.resolve("key"))) {
      Cinch cinch = new Cinch().with("CINCH_SERVER", server.listening());
      Cinch.Ran grant = cinch.run("lease", "acquire", "--holder=\"me\"", "a").ended(0);
      cinch.run("lease", "acquire", "a").ended(3);
      cinch.with("CINCH_GRANT", new ObjectMapper().readTree(grant.out()).get("id").asText());
      cinch.run("lease", "release").ended(0);
      server.signal("TERM");
      server.ended(0);
    }
    var events = new ArrayList<String>();
    for (String line : Files.readAllLines(temp.resolve("trail.log"))) {
      JsonNode event = new ObjectMapper().readTree(line);
      events.add(event.get("event").asText() + " " + event.get("holder").asText());
      assertTrue(event.get("from").asText().startsWith("127.0.0.1:"), line);
    }
    assertEquals("granted \"me\"", events.get(0));
    assertEquals(3, events.size(), events::toString);
    assertTrue(events.get(1).startsWith("refused "), events.get(1));
    assertEquals("released \"me\"", events.get(2));
    assertTrue(Files.size(temp.resolve("serve.log")) > 0);
  }

  /** There is no authentication, and whoever takes the address from a manual may not know. */
  @Test
  void otherMachinesReachItOnlyIfThatIsSaid() throws Exception {
    Path store = Cinch.store(temp);
    try (Forked server = Forked.serveHere(temp, store, "--host=0.0.0.0", "--insecure")) {
      assertEquals(
          "cinch serve: there is no authentication: whoever reaches 0.0.0.0:0 may take leases",
          server.errLine());
      assertEquals("http://0.0.0.0:", server.listening().replaceFirst("\\d+$", ""));
    }
    for (String own : List.of("localhost", "127.0.0.2")) {
      try (Forked server = Forked.serveHere(temp, store, "--host=" + own)) {
        assertTrue(server.listening().startsWith("http://" + own + ":"));
      }
    }
  }

  /** With leases of up to eight hours each restart took the server away for eight hours. */
  @Test
  void l3_aRestartWaitsForWhatWasGrantedAndSaysUntilWhen() throws Exception {
    Path store = Cinch.store(temp, "--longest-lease=8h");
    try (Forked idle = Forked.serveHere(temp, store)) {
      assertTrue(idle.listening().startsWith("http://"));
    }
    try (Forked second = Forked.serve(temp, store)) {
      Cinch cinch = new Cinch().with("CINCH_SERVER", second.listening());
      cinch.run("lease", "acquire", "--for=1s", "a").ended(0);
    }
    Cinch lasting = new Cinch();
    try (Forked third = Forked.serve(temp, store, "--replace")) {
      lasting.with("CINCH_SERVER", third.listening());
      lasting.run("lease", "acquire", "--for=2h", "--wait=60s", "a").ended(0);
    }
    try (Forked fourth = Forked.serveHere(temp, store)) {
      lasting.with("CINCH_SERVER", fourth.listening());
      String said = fourth.line();
      assertTrue(
          said.matches(
              "the service was started anew and grants again in (2 h( 1 min)?|120 min),"
                  + " at (\\d{4}-\\d\\d-\\d\\d )?\\d\\d:\\d\\d:\\d\\d UTC"),
          said);
      lasting.run("lease", "acquire", "a").failed(3, "grants again in ");
    }
  }

  @Test
  void untilItHasStartedItSaysSo() throws Exception {
    var late = new LateService(null);
    late.maintain();
    var e = assertThrows(LeaseUnavailableException.class, late::now);
    assertEquals("the lease service is starting", e.getMessage());
    var signer = new WitnessSigner(SigningKey.generate());
    late.start(ServiceInstance.builder(signer, SystemTime.INSTANCE));
    late.maintain();
    assertEquals(signer.publicKey().toString(), late.info().publicKey());
  }
}
