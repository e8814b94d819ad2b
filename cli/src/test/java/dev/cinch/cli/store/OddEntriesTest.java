package dev.cinch.cli.store;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.cinch.bag.format.Envelope;
import dev.cinch.cli.Cinch;
import dev.cinch.cli.OddStore;
import dev.cinch.cli.ReaderPy;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Files and directories that docs/format.md might be read to need, or to allow: {@code cinch} and
 * {@code reader.py}, which knows that page alone, say the same of them, and it is what the page
 * says.
 */
@SuppressWarnings("NullAway.Init") // made before all
class OddEntriesTest {
  private static final String MESSAGES = "one\ntwo\n";

  @TempDir static Path temp;

  private static OddStore good;
  private static ReaderPy python;

  private final List<String> wrong = new ArrayList<>();

  @BeforeAll
  static void make() throws Exception {
    try {
      python = new ReaderPy();
    } catch (IOException e) {
      assumeTrue(false, "SKIPPED: there is no python3, so examples/reader.py was not compared");
    }
    Cinch cinch = Cinch.on(Cinch.quickStore(temp));
    cinch.run("log", "create", "jobs").ended(0);
    cinch.settled("jobs", MESSAGES);
    good = new OddStore(temp.resolve("store"), temp);
  }

  @AfterAll
  static void end() {
    python.close();
  }

  private interface Change {
    void of(OddStore store) throws Exception;
  }

  /** What each program says of a store; those who disagree with what is right are remembered. */
  private void judge(String what, Change change, boolean isGood) throws Exception {
    OddStore store = good.copy();
    change.of(store);
    Cinch cinch = Cinch.on(store.root());
    Cinch.Ran cat = cinch.run("cat", "--log=jobs");
    boolean whole = cat.code() == 0 && cat.out().equals(MESSAGES);
    boolean told = cat.code() == 1 && cat.out().isEmpty() && cat.err().contains("damaged");
    Cinch.Ran verify = cinch.run("verify");
    String read = store.python(python);
    boolean agreed =
        isGood
            ? whole && verify.code() == 0 && read.equals("0 " + MESSAGES)
            : told && verify.code() == 1 && read.startsWith("1 ") && read.contains("damaged");
    if (!agreed) {
      wrong.add(
          "%s: cat %d %s%s; verify %d; reader.py %s"
              .formatted(what, cat.code(), cat.out(), cat.err(), verify.code(), read));
    }
  }

  private void taken(String what, Change change) throws Exception {
    judge(what, change, true);
  }

  private void damage(String what, Change change) throws Exception {
    judge(what, change, false);
  }

  @AfterEach
  void allAgreed() {
    assertEquals("", String.join("\n", wrong));
  }

  private static String body(byte[] file) {
    String text = new String(file, UTF_8);
    return text.substring(text.indexOf('\n') + 1);
  }

  @Test
  void whatMayBeMissing() throws Exception {
    for (String directory : List.of("intents", "checkpoints")) {
      taken("no " + directory, s -> Files.delete(s.file("horizon/" + directory)));
    }
    taken("no segments", s -> Files.delete(s.file("segments")));
    for (String directory : List.of("keys", "limits", "clock", "service")) {
      taken("no " + directory, s -> OddStore.delete(s.root().resolve(directory)));
    }
    damage("no records", s -> OddStore.delete(s.file("horizon/records")));
    damage("no buckets", s -> OddStore.delete(s.file("buckets")));
  }

  @Test
  void sealsAndRecordsOfAnotherGroupAreNobodys() throws Exception {
    String digest = "0".repeat(64);
    damage("a seal", s -> s.make("horizon/records/0000000/0000000001." + digest));
    damage("a seal above", s -> s.make("horizon/records/0000000/0000000002." + digest));
    taken("in another group", s -> s.make("horizon/records/0000001/0000000001." + digest));
    taken("above, there", s -> s.make("horizon/records/0000007/0000000002." + digest));
    taken("an empty record there", s -> s.make("horizon/records/0000001/0000000002"));
    taken("a checkpoint 0", s -> s.make("horizon/checkpoints/0000000000"));
  }

  @Test
  void aTombstoneBesideAnIdentityIsOfARemovedLog() throws Exception {
    OddStore s = good.copy();
    String id =
        body(Files.readAllBytes(s.file("identity")))
            .replaceAll("(?s).*\"log\" *: *\"([0-9a-f]*)\".*", "$1");
    String removal = "{\"log\":\"%s\",\"name\":\"jobs\",\"removed\":1,\"by\":\"m\"}".formatted(id);
    String line = "cinch removal 1 %d %s\n";
    line = line.formatted(removal.length(), Envelope.sha256(removal.getBytes(UTF_8)));
    Files.writeString(s.file("removed"), line + removal);
    Cinch cinch = Cinch.on(s.root());
    cinch.run("cat", "--log=jobs").failed(4, "was removed");
    cinch.run("cat", "--log=jobs", "--live").failed(4, "was removed");
    cinch.feed("three\n", "append", "--log=jobs").ended(4);
    assertEquals("", cinch.run("logs").ended(0).out());
    cinch.run("verify").ended(0);
    String read = s.python(python);
    assertTrue(read.startsWith("1 ") && read.contains("was removed"), read);
    cinch.run("log", "rm", "--yes=jobs", "jobs").ended(0); // finishes what somebody began
    assertTrue(Files.notExists(s.file("identity")));
  }

  @Test
  void theLastBucketThereIsEndsInTime() throws Exception {
    OddStore s = good.copy();
    // The last multiple of 100 ms before 2^63 ns, in its group and era.
    Path last = s.file("buckets/22620411T215319.600Z/22620411T234651.600Z/22620411T234716.800Z");
    Files.createDirectories(last);
    Files.write(last.resolve("prelock"), new byte[0]);
    Cinch cinch = Cinch.on(s.root());
    assertEquals(MESSAGES, cinch.run("cat", "--log=jobs", "--live").ended(0).out());
    cinch.run("close", "--now").ended(0);
    cinch.run("verify").ended(0);
    assertEquals("0 " + MESSAGES, s.python(python));
  }
}
