package dev.cinch.cli.read;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.cinch.bag.Store;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.read.LogReader;
import dev.cinch.cli.Cinch;
import dev.cinch.cli.Forked;
import dev.cinch.cli.base.MachineNames;
import dev.cinch.lease.time.SystemTime;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Every read gives the same messages, whatever holds them; the last ones too. */
final class LastMessagesTest {
  private static final ObjectMapper JSON = new ObjectMapper();

  @TempDir private Path temp;

  /** The payload of each message. */
  private static List<String> cat(Cinch cinch, String... words) throws Exception {
    var found = new ArrayList<String>();
    for (String line : cinch.run(words).ended(0).out().lines().toList()) {
      found.add(shown(line));
    }
    return found;
  }

  private static String shown(String line) throws Exception {
    return JSON.readTree(line).get("payload").textValue();
  }

  private static Cinch filled(Path temp) throws Exception {
    Cinch cinch = Cinch.on(Cinch.quickStore(temp));
    cinch.settled("jobs", "a\nb\n", Duration.ofMinutes(50));
    cinch.settled("jobs", "c\n", Duration.ofMinutes(40));
    cinch.run("view", "build", "--wait=0s").ended(0);
    cinch.settled("jobs", "d\ne\n", Duration.ofMinutes(30));
    cinch.settled("jobs", "f\n", Duration.ofMinutes(20));
    return cinch;
  }

  @Test
  void sameFromEverywhere() throws Exception {
    Cinch cinch = filled(temp);
    for (String step : List.of("built", "retired", "built again", "retired again")) {
      for (String command : List.of("cat", "view cat")) {
        String[] all = (command + " --log=jobs --json").split(" ");
        assertEquals(List.of("a", "b", "c", "d", "e", "f"), cat(cinch, all), step);
        List<String> lines = cinch.run(all).out().lines().toList();
        for (int i = 0; i < 6; i++) {
          String from = JSON.readTree(lines.get(i)).get("timestampNanos").textValue();
          String[] some = (command + " --log=jobs --json --from " + from).split(" ");
          assertEquals(lines.subList(i, 6), cinch.run(some).ended(0).out().lines().toList());
        }
      }
      assertEquals(List.of("e", "f"), cat(cinch, "cat", "--log=jobs", "--json", "--tail=2"));
      switch (step) {
        case "built", "built again" -> cinch.run("gc", "--retention=0s").ended(0);
        default -> cinch.run("view", "build", "--wait=0s").ended(0);
      }
    }
    cinch.feed("g\n", "append", "--log=jobs").ended(0);
    assertEquals(
        List.of("f", "g"), cat(cinch, "cat", "--log=jobs", "--json", "--live", "--tail=2"));
  }

  @Test
  void theLastMessagesStayWhenTheFirstOnesExpire() throws Exception {
    Cinch cinch = filled(temp);
    cinch.run("view", "build", "--wait=0s").ended(0);
    cinch.run("gc", "--retention=0s").ended(0);
    cinch.run("expire", "--log=jobs", "--keep=35m").ended(0);
    assertEquals(List.of("d", "e", "f"), cat(cinch, "cat", "--log=jobs", "--json"));
    assertEquals(List.of("d", "e", "f"), cat(cinch, "view", "cat", "--log=jobs", "--json"));
    assertEquals(List.of("f"), cat(cinch, "cat", "--log=jobs", "--json", "--from=-25m"));
    assertEquals(List.of("e", "f"), cat(cinch, "cat", "--log=jobs", "--json", "--tail=2"));
    assertEquals(3, cat(cinch, "cat", "--log=jobs", "--json", "--tail=9").size());
    JsonNode log = JSON.readTree(cinch.run("status", "--json").ended(0).out()).get("logs").get(0);
    assertEquals(3, log.get("messages").intValue());
    assertEquals(1, log.get("segments").intValue());
    String before = log.get("expiredBefore").textValue();
    assertTrue(before.compareTo(log.get("newest").textValue()) < 0, before);
  }

  /** The last messages are found without reading those before. */
  @Test
  void theLastMessagesBeginWithTheirBucket() throws Exception {
    Cinch cinch = filled(temp);
    Path store = temp.resolve("store");
    List<String> lines = cinch.run("cat", "--log=jobs", "--json").ended(0).out().lines().toList();
    for (String step : List.of("built", "retired")) {
      LogReader reader =
          Store.open(store, Store.Environment.of(MachineNames.ofHost(), SystemTime.INSTANCE))
              .log(new LogName("jobs"))
              .reader();
      int[] begins = {5, 3, 3, 2, 0, 0}; // index of the first message of the bucket
      for (int n = 1; n <= 6; n++) {
        long first = JSON.readTree(lines.get(begins[n - 1])).get("timestampNanos").asLong();
        long start = reader.startOfLast(n, Long.MAX_VALUE);
        assertTrue(start <= first && first < start + 100_000_000, step + " " + n);
      }
      assertEquals(Long.MIN_VALUE, reader.startOfLast(7, Long.MAX_VALUE));
      cinch.run("view", "build", "--wait=0s").ended(0);
      cinch.run("gc", "--retention=0s").ended(0);
    }
  }

  /** What is settled while it is followed, before and after what was asked for. */
  @Test
  @Timeout(600)
  void whatIsFollowed() throws Exception {
    Cinch cinch = filled(temp);
    String store = "--store=" + temp.resolve("store");
    String[] follow = {"cat", "--log=jobs", "--json", "--follow", store};
    try (var now = Forked.endless(follow);
        var later = Forked.endless(with(follow, "--from=-8m"));
        var tail = Forked.endless(with(follow, "--tail=1"))) {
      assertEquals("f", shown(tail.line()));
      now.awaitStack("CatCommand.follow");
      later.awaitStack("CatCommand.follow");
      cinch.settled("jobs", "g\n", Duration.ofMinutes(10));
      cinch.settled("jobs", "h\n", Duration.ofMinutes(5));
      assertEquals(List.of("g", "h"), List.of(shown(now.line()), shown(now.line())));
      assertEquals(List.of("g", "h"), List.of(shown(tail.line()), shown(tail.line())));
      assertEquals("h", shown(later.line()));
    }
  }

  private static String[] with(String[] words, String more) {
    String[] all = Arrays.copyOf(words, words.length + 1);
    all[words.length] = more;
    return all;
  }
}
