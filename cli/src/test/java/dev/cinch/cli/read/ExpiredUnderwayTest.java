package dev.cinch.cli.read;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.cinch.cli.Cinch;
import dev.cinch.cli.base.ExitCode;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Messages that expire while a command prints them: it ends, and says how to go on. */
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

  private Cinch.Ran overtaken(int code, String words) {
    cinch.onOutput(() -> other.run("expire", "--log=jobs", "--keep=25m").ended(0));
    return cinch.run(words.split(" ")).ended(code);
  }

  /** What it said in one line, which names the time from which the rest is there. */
  private String from(Cinch.Ran ran) {
    Matcher line =
        Pattern.compile("cinch .*cat: jobs: messages expired .* go on with (--from \\S*Z)\n")
            .matcher(ran.err());
    assertTrue(line.matches(), ran.err());
    return line.group(1);
  }

  @Test
  void everyCommandEndsAndSaysFromWhenOnToRead() throws Exception {
    for (String words :
        List.of(
            "cat --log=jobs --json",
            "view cat --log=jobs --json",
            "cat --log=jobs --json --live",
            "cat --log=jobs --json --from=-1h --follow --to=-15m",
            "cat --log=jobs --json --from=-1h --follow --live --to=-15m")) {
      Path store = temp.resolve("store");
      Path kept = temp.resolve("kept-" + words.hashCode());
      copy(store, kept);
      Cinch.Ran ran = overtaken(ExitCode.UNAVAILABLE, words);
      assertEquals(payloads(all.subList(0, EACH)), payloads(ran.out().lines().toList()), words);
      Cinch.Ran rest = cinch.run(("cat --log=jobs --json " + from(ran)).split(" ")).ended(0);
      assertEquals(all.subList(3 * EACH, all.size()), rest.out().lines().toList(), words);
      assertEquals("", rest.err());
      put(kept, store);
    }
  }

  /** Of several logs as one, more is read ahead of what is printed. */
  @Test
  void oneLogOfSeveral() throws Exception {
    cinch.settled("other", "other\n", Duration.ofMinutes(15)); // as jobs is, too
    Cinch.Ran ran = overtaken(ExitCode.UNAVAILABLE, "cat --all --json");
    List<String> lines = ran.out().lines().toList();
    assertTrue(lines.size() >= EACH, "" + lines.size());
    assertTrue(lines.size() < 3 * EACH, "segments had expired");
    assertEquals(payloads(all.subList(0, lines.size())), payloads(lines));
    Cinch.Ran rest = cinch.run(("cat --all --json " + from(ran)).split(" ")).ended(0);
    List<String> kept = payloads(rest.out().lines().toList());
    assertEquals(EACH, kept.stream().filter(payload -> payload.startsWith("m-3")).count());
    assertEquals(1, kept.stream().filter("other"::equals).count());
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
  void nothingIsMissingWhereNothingWasPrintedBefore() throws Exception {
    Cinch.Ran late = overtaken(0, "cat --log=jobs --json --from=-22m");
    assertEquals(all.subList(3 * EACH, all.size()), late.out().lines().toList());
    assertEquals("", late.err());
    Cinch.Ran whole = cinch.run("cat", "--log=jobs", "--json").ended(0);
    assertEquals(all.subList(3 * EACH, all.size()), whole.out().lines().toList());
    assertEquals("", whole.err());
  }

  /** Of a cut all that it had is given, or that is told: also where nothing was printed before. */
  @Test
  void whoReadsACutIsToldBehindIt() throws Exception {
    for (int i = 0; i < 3; i++) {
      cinch.settled("few", "m-" + i + "\n", Duration.ofMinutes(50 - 10 * i));
      cinch.run("view", "build", "--wait=0s", "--log=few").ended(0);
    }
    cinch.run("gc", "--retention=0s").ended(0);
    cinch.run("cut", "--log=few").ended(0);
    for (String words : List.of("cat --cut=1", "view cat --cut=1 --log=few")) {
      Path store = temp.resolve("store");
      Path kept = temp.resolve("kept-" + words.hashCode());
      copy(store, kept);
      cinch.onOutput(() -> other.run("expire", "--log=few", "--keep=35m").ended(0));
      Cinch.Ran ran = cinch.run(words.split(" ")).ended(ExitCode.UNAVAILABLE);
      String told = ": cut 1 can't be read as it was taken: of log \"few\" messages expired since";
      assertTrue(ran.err().contains(told), words + ran.err());
      put(kept, store);
      assertEquals("m-0\nm-1\nm-2\n", cinch.run(words.split(" ")).ended(0).out());
    }
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
