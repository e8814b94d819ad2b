package dev.cinch.cli.read;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.cinch.cli.Cinch;
import dev.cinch.cli.JsonSchema;
import dev.cinch.cli.base.ExitCode;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Messages that expire while a command prints them: it says what is missing, where it is. */
@SuppressWarnings("NullAway.Init")
class ExpiredUnderwayTest {
  private static final ObjectMapper JSON = new ObjectMapper();

  /** So many that a segment is longer than what is printed at a time. */
  private static final int EACH = 100;

  @TempDir Path temp;

  private Cinch cinch;
  private Cinch other;
  private List<String> all;

  @BeforeEach
  void fourSegments() throws Exception {
    cinch = Cinch.on(Cinch.quickStore(temp));
    other = Cinch.on(temp.resolve("store"));
    for (int segment = 0; segment < 4; segment++) {
      var lines = new StringBuilder();
      for (int i = 0; i < EACH; i++) {
        lines.append("m-" + segment + "-" + i + "-" + "x".repeat(4_000) + "\n");
      }
      cinch.settled("jobs", lines.toString(), Duration.ofMinutes(50 - 10 * segment));
      cinch.run("view", "build", "--wait=0s").ended(0);
    }
    cinch.run("gc", "--retention=0s").ended(0);
    cinch.settled("jobs", "end\n");
    all = cinch.run("cat", "--log=jobs", "--json").ended(0).out().lines().toList();
    assertEquals(4 * EACH + 1, all.size());
  }

  private Cinch.Ran overtaken(int code, String... words) {
    cinch.onOutput(() -> other.run("expire", "--log=jobs", "--keep=25m").ended(0));
    return cinch.run(words).ended(code);
  }

  private static List<String> sequences(List<String> lines) throws Exception {
    var found = new ArrayList<String>();
    for (String line : lines) {
      JsonNode m = JSON.readTree(line);
      found.add(m.path("sequence").asText() + m.path("payload").asText());
    }
    return found;
  }

  private void told(Cinch.Ran ran, String messages) {
    assertEquals(1, ran.err().lines().count(), ran.err());
    assertTrue(
        ran.err()
            .matches(
                "cinch .*cat: "
                    + messages
                    + "messages from .*Z to .*Z expired while the log was read, and are left out\n"),
        ran.err());
  }

  /** What was printed, but for what is missing in the middle. */
  private List<String> withHole() {
    return IntStream.range(0, all.size())
        .filter(i -> i < EACH || i >= 3 * EACH)
        .mapToObj(all::get)
        .toList();
  }

  @Test
  void theHoleIsToldAndTheNumbersAreThoseOfEveryOtherRead() throws Exception {
    Cinch.Ran ran = overtaken(ExitCode.GAP, "cat", "--log=jobs", "--json");
    told(ran, 2 * EACH + " ");
    var lines = new ArrayList<>(ran.out().lines().toList());
    JsonNode gap = JSON.readTree(lines.remove(EACH));
    assertEquals("gap", gap.get("type").textValue());
    assertEquals(2 * EACH, gap.get("messages").intValue());
    JsonNode before = JSON.readTree(all.get(EACH - 1));
    JsonNode after = JSON.readTree(all.get(3 * EACH));
    assertTrue(gap.get("from").textValue().compareTo(before.get("timestamp").textValue()) > 0);
    assertTrue(gap.get("to").textValue().compareTo(after.get("timestamp").textValue()) <= 0);
    assertEquals(sequences(withHole()), sequences(lines));
    assertEquals(
        List.of(), new JsonSchema(Path.of("../docs/cinch.schema.json")).wrong("cinch cat", gap));
  }

  @Test
  void everyCommandTellsIt() throws Exception {
    var expected = new StringBuilder();
    for (String line : withHole().subList(0, 2 * EACH)) {
      expected.append(JSON.readTree(line).get("payload").textValue()).append('\n');
    }
    for (String words :
        List.of(
            "cat --log=jobs",
            "view cat --log=jobs",
            "cat --log=jobs --live",
            "cat --log=jobs --from=-1h --follow --to=-15m",
            "cat --log=jobs --from=-1h --follow --live --to=-15m")) {
      Path store = temp.resolve("store");
      Path kept = temp.resolve("kept-" + words.hashCode());
      copy(store, kept);
      Cinch.Ran ran = overtaken(ExitCode.GAP, words.split(" "));
      told(ran, 2 * EACH + " ");
      String end = words.contains("--to") ? "" : "end\n";
      assertEquals(expected + end, ran.out(), words);
      put(kept, store);
    }
  }

  /** Of several logs as one, more is read ahead of what is printed. */
  @Test
  void theHoleOfOneLogOfSeveralIsToldWithItsName() throws Exception {
    cinch.settled("other", "other\n", Duration.ofMinutes(5));
    Cinch.Ran ran = overtaken(ExitCode.GAP, "cat", "--all", "--json");
    told(ran, "jobs: ([0-9]+ )?");
    List<String> lines = ran.out().lines().toList();
    int at = 0;
    while (!JSON.readTree(lines.get(at)).path("type").asText().equals("gap")) {
      at++;
    }
    JsonNode gap = JSON.readTree(lines.get(at));
    assertEquals("jobs", gap.get("log").textValue());
    assertEquals(
        List.of(), new JsonSchema(Path.of("../docs/cinch.schema.json")).wrong("cinch cat", gap));
    assertTrue(at < 3 * EACH, "segments had expired");
    assertEquals(payloads(all.subList(0, at)), payloads(lines.subList(0, at)));
    assertEquals(
        payloads(all.subList(3 * EACH, all.size())), payloads(lines.subList(at + 1, lines.size())));
  }

  private static List<String> payloads(List<String> lines) throws Exception {
    var found = new ArrayList<String>();
    for (String line : lines) {
      found.add(JSON.readTree(line).path("payload").asText());
    }
    return found;
  }

  /** Who begins later than what expired, or asks when it did already, misses nothing. */
  @Test
  void noHoleWhereNothingWasPrintedBefore() throws Exception {
    Cinch.Ran late = overtaken(0, "cat", "--log=jobs", "--json", "--from=-22m");
    assertEquals(all.subList(3 * EACH, all.size()), late.out().lines().toList());
    assertEquals("", late.err());
    Cinch.Ran whole = cinch.run("cat", "--log=jobs", "--json").ended(0);
    assertEquals(all.subList(3 * EACH, all.size()), whole.out().lines().toList());
    assertEquals("", whole.err());
  }

  private static void copy(Path from, Path to) throws Exception {
    run("cp", "-a", from.toString(), to.toString());
  }

  private static void put(Path from, Path to) throws Exception {
    run(
        "sh",
        "-c",
        "chmod -R u+w '" + to + "' && rm -rf '" + to + "' && mv '" + from + "' '" + to + "'");
  }

  private static void run(String... words) throws Exception {
    assertEquals(0, new ProcessBuilder(words).inheritIO().start().waitFor());
  }
}
