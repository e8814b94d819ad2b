package dev.cinch.cli.serve;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.cinch.cli.Cinch;
import dev.cinch.cli.Forked;
import dev.cinch.cli.SharedStore;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.Share;
import dev.cinch.lease.client.HttpLeaseClient;
import dev.cinch.lease.client.ShardRouter;
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
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A lease server that is followed by another one, or by several, while others append. */
@Timeout(600)
public class RestartTest {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int APPENDS = Share.of(20, 6);

  @TempDir Path temp;

  private final List<Forked> servers = new ArrayList<>();
  private final List<Forked> appends = new ArrayList<>();

  /** What the receipts say. */
  private final Map<String, String> expected = new HashMap<>();

  @AfterEach
  void stop() throws InterruptedException {
    for (Forked append : appends) {
      append.close();
    }
    for (Forked server : servers) {
      server.close();
    }
  }

  public static int freePort() throws Exception {
    try (var socket = new ServerSocket(0, 1, InetAddress.getByName("127.0.0.1"))) {
      return socket.getLocalPort();
    }
  }

  /** In a process of its own, which can be killed. */
  private Forked serve(Path store, String port, String key) throws IOException {
    var server = new Forked("serve", port, "--store=" + store, "--key=" + temp.resolve(key));
    servers.add(server);
    return server;
  }

  /** Starts servers, which wait for the map, and then publishes it; the address of one. */
  private String share(Path store, int count) throws Exception {
    String uri = "";
    for (int shard = 1; shard <= count; shard++) {
      Forked server = Forked.serveHere(temp, store, "--shard=" + shard + "/" + count);
      servers.add(server);
      uri = server.listening();
      assertEquals(
          "has shard " + shard + "/" + count + " once cinch shards set has made a map of so many",
          server.line());
    }
    Cinch.on(store)
        .run("shards", "set", "" + count, "--key=" + temp.resolve("served.key"))
        .ended(0);
    return uri;
  }

  private void append(Path store, String uri, String lasting) throws IOException {
    for (int i = 0; i < APPENDS; i++) {
      appends.add(
          Forked.here(
              "append",
              "--store=" + store,
              "--server=" + uri,
              "--log=jobs",
              "--lease=name-" + i,
              lasting,
              "--json"));
    }
  }

  /** A line of each. */
  private void write(int round) throws Exception {
    for (int i = 0; i < APPENDS; i++) {
      String text = "line " + round + " of " + i;
      appends.get(i).type(text + "\n");
      JsonNode receipt = JSON.readTree(appends.get(i).line());
      assertEquals("COMMITTED", receipt.get("state").textValue(), receipt.toString());
      expected.put(receipt.get("timestampNanos").asText(), text);
    }
  }

  /** Waits until so many leases were resumed in all, and all are held at the present servers. */
  private static void awaitResumed(Path store, String uri, int resumed) throws Exception {
    Path ends = store.resolve("service/ends");
    try (WatchService watch = ends.getFileSystem().newWatchService()) {
      WatchKey changed = ends.register(watch, StandardWatchEventKinds.ENTRY_CREATE);
      while (count(ends) < resumed) {
        WatchKey unused = watch.take();
        changed.pollEvents().clear(); // or it would be there again at once
        assertTrue(changed.reset());
      }
    }
    ShardRouter router = ShardRouter.of(URI.create(uri));
    for (int i = 0; i < APPENDS; i++) {
      // The answer comes right after the file.
      while (router.show(new LeaseName("name-" + i)).isEmpty()) {
        Thread.onSpinWait();
      }
    }
  }

  private static long count(Path directory) throws IOException {
    try (var files = Files.list(directory)) {
      return files.filter(f -> !f.getFileName().toString().startsWith("tmp-")).count();
    }
  }

  /** Ends all appends: what the receipts said is there, and no lease was lost. */
  private void check(Path store) throws Exception {
    for (Forked append : appends) {
      append.endInput();
      assertEquals(List.of(), append.rest());
      assertEquals("", append.err());
      append.ended(0);
    }
    Cinch cinch = Cinch.on(store);
    cinch.settle("jobs");
    var found = new HashMap<String, String>();
    for (String line :
        cinch.run("cat", "--log=jobs", "--format=json").ended(0).out().lines().toList()) {
      JsonNode message = JSON.readTree(line);
      found.put(message.get("timestampNanos").asText(), message.get("payload").textValue());
    }
    assertEquals(expected, found);
    String audit = cinch.run("audit").ended(0).out();
    assertTrue(audit.contains("" + APPENDS), audit);
  }

  /** The new server has another key, which the first one signed. */
  @Test
  @Tag("share")
  void noneOfTwentyAppendsEndsOrLosesALine() throws Exception {
    Path store = Cinch.quickStore(temp);
    Cinch.on(store).run("log", "create", "jobs").ended(0);
    String port = "--port=" + freePort();
    Forked first = serve(store, port, "served.key");
    String uri = first.listening();
    append(store, uri, "--lease-for=60s");
    write(0);
    first.signal("KILL");
    first.await();
    write(1);
    String[] next = {"--key=" + temp.resolve("next"), "--signed-by=" + temp + "/served.key"};
    Cinch.on(store).run("keygen", next[0], next[1]).ended(0);
    assertEquals(uri, serve(store, port, "next").listening());
    write(2);
    awaitResumed(store, uri, APPENDS);
    write(3);
    check(store);
    assertEquals(APPENDS, count(store.resolve("service/ends")));
  }

  /** Rule L16: the number of servers changes. */
  @Test
  @Tag("share")
  void noneOfTwentyAppendsUnderLeasesOfSeveralServersEndsOrLosesALine() throws Exception {
    Path store = Cinch.quickStore(temp);
    Cinch.on(store).run("log", "create", "jobs").ended(0);
    String first = share(store, 2);
    SharedStore.awaitServers(store, 2);
    append(store, first, "--lease-for=20s");
    write(0);
    String second = share(store, 4);
    write(1);
    awaitResumed(store, second, APPENDS);
    write(2);
    String third = share(store, 1);
    write(3);
    awaitResumed(store, third, 2 * APPENDS);
    write(4);
    check(store);
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
      String released = cinch.run("lease", "acquire", "released").ended(0).out();
      cinch.feed(released, "lease", "release", "--grant-file=-").ended(0);
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
    try (Forked third =
        Forked.here("serve", port, "--store=" + store, "--key=" + temp.resolve("served.key"))) {
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
