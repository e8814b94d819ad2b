package dev.cinch.cli;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.Comparator;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Bad input: one clear line and the right exit code, and nothing is changed. */
class RefusalsTest {
  private static final ObjectMapper JSON = new ObjectMapper();

  @TempDir Path temp;

  @Test
  void aLogNameOf10000Characters() {
    Path store = Cinch.store(temp);
    Cinch.Ran ran = Cinch.on(store).run("append", "--log=" + "a".repeat(10_000));
    ran.failed(2, "(10000 characters)");
    assertTrue(ran.err().length() < 300, ran.err());
  }

  @Test
  void aMessageOverTheLimitIsRefusedAndTheOthersStay() throws Exception {
    Path store = Cinch.store(temp, "--message-limit=10");
    String input = "0123456789\n01234567890\nok\n" + "x".repeat(1_000_000) + "\nend\n";
    Cinch.Ran ran = Cinch.on(store).feed(input, "append", "--log", "jobs", "--json");
    ran.failed(3, "2 of 5 messages not appended (lines 2, 4): the message has 11 bytes");
    List<String> receipts = ran.out().lines().toList();
    assertEquals(5, receipts.size());
    JsonNode refused = JSON.readTree(receipts.get(3));
    assertEquals("REFUSED", refused.get("state").textValue());
    assertTrue(refused.get("reason").textValue().contains("1000000 bytes"));
    assertEquals(
        "0123456789\nok\nend\n", Cinch.on(store).run("cat", "--log", "jobs", "--live").out());
  }

  @Test
  void anyBytesSurviveJson() throws Exception {
    Path store = Cinch.store(temp);
    var all = new ByteArrayOutputStream();
    for (int i = 0; i < 256; i++) {
      if (i != '\n') {
        all.write(i);
      }
    }
    byte[] text =
        "tab\t nul\0 quote\" back\\slash ünï 🙂 \u007f \r\u001b".getBytes(StandardCharsets.UTF_8);
    var input = new ByteArrayOutputStream();
    input.write(all.toByteArray());
    input.write('\n');
    input.write(text);
    Cinch.on(store).feed(input.toByteArray(), "append", "--log", "jobs").ended(0);
    byte[] out =
        Cinch.on(store).run("cat", "--log=jobs", "--live", "--format=json").ended(0).bytes();
    List<String> lines = new String(out, StandardCharsets.UTF_8).lines().toList();
    assertEquals(2, lines.size());
    assertArrayEquals(
        all.toByteArray(),
        Base64.getDecoder().decode(JSON.readTree(lines.get(0)).get("payloadBase64").textValue()));
    assertArrayEquals(
        text,
        JSON.readTree(lines.get(1)).get("payload").textValue().getBytes(StandardCharsets.UTF_8));
  }

  @Test
  void aTruncatedAFlippedAndAForeignFile() throws Exception {
    Path store = Cinch.quickStore(temp);
    Cinch cinch = Cinch.on(store);
    cinch.feed("a message\n".repeat(10_000), "append", "--log", "jobs", "--machine=m1").ended(0);
    cinch.settle("jobs");
    Path lock = lock(store);
    Path foreign = lock.resolveSibling("letter.txt");
    writable(lock);
    Files.writeString(foreign, "x");
    cinch.run("cat", "--log", "jobs").ended(0);
    Cinch.Ran noted = cinch.run("verify", "--notes").ended(0);
    assertTrue(noted.out().contains("letter.txt"), noted.out());
    byte[] good = Files.readAllBytes(lock);
    byte[] flipped = good.clone();
    flipped[good.length / 2] ^= 4;
    Files.write(lock, flipped);
    cinch.run("cat", "--log", "jobs").failed(1, lock + ": damaged at byte ");
    cinch.run("view", "cat", "--log", "jobs").failed(1, "and cinch salvage prints what is whole");
    cinch.run("cat", "--all").failed(1, "and cinch salvage prints what is whole");
    assertTrue(cinch.run("verify").ended(1).out().contains("damage " + lock));
    assertTrue(cinch.run("audit").ended(1).out().contains("violation: " + lock));
    Files.write(lock, java.util.Arrays.copyOf(good, good.length / 2));
    cinch.run("cat", "--log", "jobs").failed(1, lock + ": damaged at byte ");
    Files.delete(lock);
    cinch.run("cat", "--log", "jobs").failed(1, "expected a lock, found no file");
  }

  private static Path lock(Path store) throws IOException {
    try (var all = Files.walk(store.resolve("logs/jobs/buckets"))) {
      return all.filter(p -> p.endsWith("lock"))
          .max(Comparator.comparingLong(p -> p.toFile().length()))
          .orElseThrow();
    }
  }

  private static void writable(Path data) {
    assertTrue(java.util.Objects.requireNonNull(data.getParent()).toFile().setWritable(true));
    assertTrue(data.toFile().setWritable(true));
  }

  @Test
  void aStoreThatCannotBeWritten() throws IOException {
    Path store = Cinch.store(temp);
    boolean superuser = "root".equals(System.getProperty("user.name"));
    assumeTrue(!superuser, "a superuser writes everywhere; LauncherTest does this as another user");
    assertTrue(store.resolve("logs").toFile().setWritable(false));
    Cinch.on(store).feed("a\n", "append", "--log", "jobs").failed(4, "permission denied");
  }
}
