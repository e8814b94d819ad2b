package dev.cinch.cli.serve;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.cinch.cli.Cinch;
import dev.cinch.cli.Forked;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.Share;
import dev.cinch.lease.http.HttpLeaseClient;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardWatchEventKinds;
import java.nio.file.WatchKey;
import java.nio.file.WatchService;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A lease server that is killed and started anew while others append under its leases. */
@Timeout(600)
public class RestartTest {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int APPENDS = Share.of(20, 6);

  @TempDir Path temp;

  public static int freePort() throws Exception {
    try (var socket = new ServerSocket(0, 1, InetAddress.getByName("127.0.0.1"))) {
      return socket.getLocalPort();
    }
  }

  private Forked serve(Path store, String port, String key) throws IOException {
    return new Forked("serve", port, "--store=" + store, "--key=" + temp.resolve(key));
  }

  private static JsonNode committed(Forked append) throws Exception {
    JsonNode receipt = JSON.readTree(append.line());
    assertEquals("COMMITTED", receipt.get("state").textValue(), receipt.toString());
    return receipt;
  }

  /** Waits until the second instance goes on with all of them. */
  private void awaitResumed(Path store, String uri) throws Exception {
    Path ends = store.resolve("service/ends");
    try (WatchService watch = ends.getFileSystem().newWatchService()) {
      WatchKey unused = ends.register(watch, StandardWatchEventKinds.ENTRY_CREATE);
      while (count(ends) < APPENDS) {
        boolean valid = watch.take().reset();
        assertTrue(valid);
      }
    }
    HttpLeaseClient client = HttpLeaseClient.builder(URI.create(uri)).build();
    for (int i = 0; i < APPENDS; i++) {
      // The answer comes right after the file.
      while (client.show(new LeaseName("name-" + i)).isEmpty()) {
        Thread.onSpinWait();
      }
    }
  }

  private static long count(Path directory) throws IOException {
    try (var files = Files.list(directory)) {
      return files.filter(f -> !f.getFileName().toString().startsWith("tmp-")).count();
    }
  }

  /** The new server has another key, which the first one signed. */
  @Test
  @Tag("share")
  void noneOfTwentyAppendsEndsOrLosesALine() throws Exception {
    Path store = Cinch.quickStore(temp);
    Cinch.on(store).run("log", "create", "jobs").ended(0);
    String port = "--port=" + freePort();
    var appends = new ArrayList<Forked>();
    var expected = new HashMap<String, String>();
    Forked server = serve(store, port, "served.key");
    try {
      String uri = server.listening();
      Cinch cinch = Cinch.on(store).with("CINCH_SERVER", uri);
      for (int i = 0; i < APPENDS; i++) {
        appends.add(
            new Forked(
                "append",
                "--store=" + store,
                "--server=" + uri,
                "--log=jobs",
                "--lease=name-" + i,
                "--lease-for=60s",
                "--json"));
      }
      for (int round = 0; round < 4; round++) {
        if (round == 1) {
          server.signal("KILL");
          server.await();
        } else if (round == 2) {
          String[] next = {"--key=" + temp.resolve("next"), "--signed-by=" + temp + "/served.key"};
          cinch.run("keygen", next[0], next[1]).ended(0);
          server = serve(store, port, "next");
          assertEquals(uri, server.listening());
        } else if (round == 3) {
          awaitResumed(store, uri);
        }
        for (int i = 0; i < APPENDS; i++) {
          String text = "line " + round + " of " + i;
          appends.get(i).type(text + "\n");
          expected.put(committed(appends.get(i)).get("timestampNanos").asText(), text);
        }
      }
      for (Forked append : appends) {
        append.endInput();
        assertEquals(List.of(), append.rest());
        assertEquals("", append.err());
        append.ended(0);
      }
      assertEquals(APPENDS, count(store.resolve("service/ends")));
      cinch.settle("jobs");
      Map<String, String> found = new HashMap<>();
      for (String line :
          cinch.run("cat", "--log=jobs", "--format=json").ended(0).out().lines().toList()) {
        JsonNode message = JSON.readTree(line);
        found.put(message.get("timestampNanos").asText(), message.get("payload").textValue());
      }
      assertEquals(expected, found);
      String audit = cinch.run("audit").ended(0).out();
      assertTrue(audit.contains("" + APPENDS), audit);
    } finally {
      for (Forked append : appends) {
        append.close();
      }
      server.close();
    }
  }

  /** Rule L19: who comes anew is not kept waiting, and who holds is kept. */
  @Test
  void aServerThatEndsBySigtermIsFollowedByOneThatGrantsAtOnce() throws Exception {
    Path store = Cinch.quickStore(temp);
    String port = "--port=" + freePort();
    Cinch cinch;
    try (Forked first = serve(store, port, "served.key")) {
      cinch = Cinch.on(store).with("CINCH_SERVER", first.listening());
      cinch.run("lease", "acquire", "--for=60s", "held").ended(0);
      cinch.run("lease", "run", "released", "--", "true").ended(0);
      first.signal("TERM");
      first.ended(0);
      assertEquals("", first.err());
    }
    try (Forked second = serve(store, port, "served.key")) {
      String uri = second.listening();
      assertEquals(Optional.empty(), HttpLeaseClient.builder(URI.create(uri)).build().obstacle());
      cinch.run("lease", "acquire", "never-seen").ended(0);
      cinch.run("lease", "acquire", "released").ended(0);
      cinch.run("lease", "acquire", "held").failed(3, "held is held by ");
      second.signal("KILL");
      second.await();
    }
    try (Forked third = serve(store, port, "served.key")) {
      String unused = third.listening(); // nobody left it last words
      cinch
          .run("lease", "acquire", "another")
          .failed(3, "the service was started anew and grants again in ");
      cinch
          .run("lease", "who", "another")
          .failed(3, "the service knows nothing of another: it was started anew and grants again");
    }
  }
}
