package dev.cinch.cli.store;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.cinch.bag.model.TimeName;
import dev.cinch.cli.Cinch;
import dev.cinch.cli.Forked;
import dev.cinch.lease.time.SystemTime;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The options of {@code cinch status}. */
final class StatusCommandTest {
  private static final ObjectMapper JSON = new ObjectMapper();

  @TempDir private Path temp;

  @Test
  void whatIsLateIsSaidByAnOption() throws Exception {
    Path store = Cinch.quickStore(temp);
    Cinch cinch = Cinch.on(store);
    cinch.settled("jobs", "a\n");
    Path intents = store.resolve("logs/jobs/horizon/intents");
    long now = SystemTime.INSTANCE.wallNanos() / 1_000_000_000 * 1_000_000_000;
    Files.createFile(intents.resolve(TimeName.of(now) + "-" + "0".repeat(32)));
    cinch.run("status").ended(0);
    String out = cinch.run("status", "--json", "--late=0s").ended(3).out();
    assertEquals("INTENT", JSON.readTree(out).at("/attention/0/kind").textValue());
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
