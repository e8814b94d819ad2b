package dev.cinch.cli.store;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.cinch.bag.layout.TimeName;
import dev.cinch.cli.Cinch;
import dev.cinch.cli.Forked;
import dev.cinch.lease.time.SystemTime;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** How a store is doing, and what needs attention. */
final class StatusCommandTest {
  private static final ObjectMapper JSON = new ObjectMapper();

  @TempDir private Path temp;

  private static JsonNode status(Cinch cinch, int code, String... more) throws Exception {
    var words = new ArrayList<>(List.of("status", "--json"));
    words.addAll(List.of(more));
    return JSON.readTree(cinch.run(words.toArray(String[]::new)).ended(code).out());
  }

  /** What needs attention, each as kind and log. */
  private static List<String> attention(JsonNode status) {
    var found = new ArrayList<String>();
    for (JsonNode a : status.get("attention")) {
      found.add(a.get("kind").textValue() + (a.has("log") ? " " + a.get("log").textValue() : ""));
    }
    return found;
  }

  @Test
  void aCloserThatStoppedHalfWay() throws Exception {
    Path store = Cinch.quickStore(temp);
    Cinch cinch = Cinch.on(store);
    cinch.settled("jobs", "a\n");
    Path intents = store.resolve("logs/jobs/horizon/intents");
    long now = SystemTime.INSTANCE.wallNanos() / 1_000_000_000 * 1_000_000_000;
    Files.createFile(intents.resolve(TimeName.of(now) + "-" + "0".repeat(32)));
    assertEquals(List.of(), attention(status(cinch, 0)), "may be at work");
    assertEquals(List.of("INTENT jobs"), attention(status(cinch, 3, "--late=0s")));
  }

  @Test
  @Timeout(600)
  void watchingSeesWhatIsNew() throws Exception {
    Path store = Cinch.quickStore(temp);
    Cinch cinch = Cinch.on(store);
    cinch.settled("jobs", "a\n");
    try (var watch = Forked.endless("status", "--json", "--watch", "10ms", "--store=" + store)) {
      assertEquals(1, messages(watch));
      cinch.settled("jobs", "b\nc\n", Duration.ofMinutes(5));
      while (messages(watch) == 1) {
        // It looks again.
      }
      assertEquals(3, messages(watch));
    }
  }

  private static int messages(Forked watch) throws Exception {
    return JSON.readTree(watch.line()).get("logs").get(0).get("messages").intValue();
  }
}
