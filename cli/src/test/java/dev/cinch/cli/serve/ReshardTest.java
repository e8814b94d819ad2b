package dev.cinch.cli.serve;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.cinch.cli.Cinch;
import dev.cinch.cli.Forked;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.Share;
import dev.cinch.lease.http.ShardRouter;
import java.io.IOException;
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
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The number of lease servers changes while others append under leases (rule L16). */
@Timeout(1_800)
class ReshardTest {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int APPENDS = Share.of(20, 6);

  @TempDir Path temp;

  private final List<Forked> forked = new ArrayList<>();

  /** Starts servers, which wait for the map, and then publishes it; the address of one. */
  private String share(Path store, int count) throws Exception {
    String uri = "";
    for (int shard = 1; shard <= count; shard++) {
      Forked server = Forked.serveHere(temp, store, "--shard=" + shard + "/" + count);
      forked.add(server);
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

  private static void write(List<Forked> appends, int round, Map<String, String> expected)
      throws Exception {
    for (int i = 0; i < appends.size(); i++) {
      String text = "line " + round + " of " + i;
      appends.get(i).type(text + "\n");
      JsonNode receipt = JSON.readTree(appends.get(i).line());
      assertEquals("COMMITTED", receipt.get("state").textValue(), receipt.toString());
      expected.put(receipt.get("timestampNanos").asText(), text);
    }
  }

  private static long count(Path directory) throws IOException {
    try (var files = Files.list(directory)) {
      return files.filter(f -> !f.getFileName().toString().startsWith("tmp-")).count();
    }
  }

  /** Waits until the servers of the last map go on with all of them. */
  private static void awaitResumed(Path store, String uri, int ended) throws Exception {
    Path ends = store.resolve("service/ends");
    try (WatchService watch = ends.getFileSystem().newWatchService()) {
      WatchKey unused = ends.register(watch, StandardWatchEventKinds.ENTRY_CREATE);
      while (count(ends) < ended) {
        boolean valid = watch.take().reset();
        assertTrue(valid);
      }
    }
    for (int i = 0; i < APPENDS; i++) {
      // The answer comes right after the file.
      while (ShardRouter.of(URI.create(uri)).show(new LeaseName("name-" + i)).isEmpty()) {
        Thread.onSpinWait();
      }
    }
  }

  @Test
  @Tag("share")
  void noneOfTwentyAppendsEndsOrLosesALine() throws Exception {
    Path store = Cinch.quickStore(temp);
    Cinch cinch = Cinch.on(store);
    cinch.run("log", "create", "jobs").ended(0);
    var expected = new HashMap<String, String>();
    try {
      String first = share(store, 2);
      var appends = new ArrayList<Forked>();
      for (int i = 0; i < APPENDS; i++) {
        Forked append =
            new Forked(
                "append",
                "--store=" + store,
                "--server=" + first,
                "--log=jobs",
                "--lease=name-" + i,
                "--lease-for=20s",
                "--json");
        appends.add(append);
        forked.add(append);
      }
      write(appends, 0, expected);
      String second = share(store, 4);
      write(appends, 1, expected);
      awaitResumed(store, second, APPENDS);
      write(appends, 2, expected);
      String third = share(store, 1);
      write(appends, 3, expected);
      awaitResumed(store, third, 2 * APPENDS);
      write(appends, 4, expected);
      for (Forked append : appends) {
        append.endInput();
        assertEquals(List.of(), append.rest());
        assertEquals("", append.err());
        append.ended(0);
      }
      cinch.settle("jobs");
      Map<String, String> found = new HashMap<>();
      for (String line :
          cinch.run("cat", "--log=jobs", "--format=json").ended(0).out().lines().toList()) {
        JsonNode message = JSON.readTree(line);
        found.put(message.get("timestampNanos").asText(), message.get("payload").textValue());
      }
      assertEquals(expected, found);
      cinch.run("audit").ended(0);
    } finally {
      for (Forked one : forked) {
        one.close();
      }
    }
  }
}
