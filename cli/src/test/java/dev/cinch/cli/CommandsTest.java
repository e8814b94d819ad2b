package dev.cinch.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.cinch.cli.base.Io;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Every command, doing what it is for. */
class CommandsTest {
  private static final ObjectMapper JSON = new ObjectMapper();

  @TempDir Path temp;

  @Test
  void versionIsTheBuilds() {
    Cinch.Ran ran = new Cinch().run("--version").ended(0);
    assertTrue(
        ran.out().matches("cinch \\d+\\.\\d+\\.\\d+\\S*( \\([0-9a-f]{10,}(-dirty)?\\))?\n"),
        ran.out());
    assertEquals(ran.out(), new Cinch().run("-V").ended(0).out());
  }

  @Test
  void completionIsAScriptThatNamesEveryCommand() throws Exception {
    Path script = temp.resolve("completion");
    Files.write(script, new Cinch().run("completion").ended(0).bytes());
    Process bash = new ProcessBuilder("bash", "-n", script.toString()).start();
    assertEquals(0, bash.waitFor());
    String text = Files.readString(script);
    for (String name : Commands.all(Io.ofProcess()).getSubcommands().keySet()) {
      assertTrue(text.contains(name), name);
    }
  }

  @Test
  void initWritesEverySetting() throws IOException {
    Path store =
        Cinch.store(
            temp,
            "--bucket-width=2s",
            "--grace=5s",
            "--clock-ahead=1s",
            "--clock-behind=900ms",
            "--timestamp-distance=800ms",
            "--slow-append=700ms",
            "--longest-lease=1m",
            "--lease-margin=600ms",
            "--file-mode=0660",
            "--directory-mode=02770",
            "--message-limit=1000",
            "--confirm=always",
            "--leases=required");
    JsonNode json = JSON.readTree(store.resolve("store.json").toFile());
    assertEquals(2_000, json.get("bucketWidthMs").longValue());
    assertEquals(5_000, json.get("graceMs").longValue());
    assertEquals(1_000, json.get("clockAheadMs").longValue());
    assertEquals(900, json.get("clockBehindMs").longValue());
    assertEquals(800, json.get("timestampDistanceMs").longValue());
    assertEquals(700, json.get("slowAppendMs").longValue());
    assertEquals(60_000, json.get("longestLeaseMs").longValue());
    assertEquals(600, json.get("leaseMarginMs").longValue());
    assertEquals("660", json.get("fileMode").textValue());
    assertEquals("2770", json.get("directoryMode").textValue());
    assertEquals(1_000, json.get("messageLimit").longValue());
    assertEquals("always", json.get("confirm").textValue());
    assertEquals("required", json.get("leases").textValue());
  }

  @Test
  void appendedLinesComeBackInOrderLiveAndSettled() throws Exception {
    Cinch cinch = Cinch.on(Cinch.quickStore(temp));
    var text = new StringBuilder();
    for (int i = 0; i < 20_000; i++) {
      text.append("line ").append(i).append('\n');
    }
    assertEquals("", cinch.feed(text.toString(), "append", "--log", "jobs").ended(0).out());
    assertEquals("", cinch.run("cat", "--log", "jobs").ended(0).out());
    assertEquals(text.toString(), cinch.run("cat", "--log", "jobs", "--live").ended(0).out());
    cinch.settle("jobs");
    assertEquals(text.toString(), cinch.run("cat", "--log", "jobs").ended(0).out());
    Cinch.Ran verified = cinch.run("verify").ended(0);
    assertTrue(verified.out().startsWith("intact: "), verified.out());
    assertTrue(verified.out().contains(" 20000 messages"), verified.out());
    Cinch.Ran audited = cinch.run("audit").ended(0);
    assertTrue(audited.out().startsWith("exclusive: 20000 messages"), audited.out());
  }

  @Test
  void receiptsNameLineAndPlace() throws Exception {
    Cinch cinch = Cinch.on(Cinch.quickStore(temp));
    Cinch.Ran ran =
        cinch.feed("a\nb\nc", "append", "--log", "jobs", "--json", "--machine", "m7").ended(0);
    List<String> receipts = ran.out().lines().toList();
    List<String> messages =
        cinch.run("cat", "--log", "jobs", "--live", "--format", "json").out().lines().toList();
    assertEquals(3, receipts.size());
    for (int i = 0; i < 3; i++) {
      JsonNode receipt = JSON.readTree(receipts.get(i));
      JsonNode message = JSON.readTree(messages.get(i));
      assertEquals(i + 1, receipt.get("line").intValue());
      assertEquals("COMMITTED", receipt.get("state").textValue());
      assertTrue(receipt.get("dataFile").textValue().startsWith("m7-"));
      assertEquals(receipt.get("timestamp"), message.get("timestamp"));
      assertEquals(receipt.get("dataFile"), message.get("dataFile"));
      assertEquals(receipt.get("position"), message.get("position"));
      assertEquals(receipt.get("id"), message.get("id"));
      assertFalse(message.get("settled").booleanValue());
    }
  }

  @Test
  void followEndsOnceItsEndIsSettled() throws Exception {
    Path store = Cinch.quickStore(temp);
    Cinch cinch = Cinch.on(store);
    String receipt = cinch.feed("a\nb\n", "append", "--log", "jobs", "--json").ended(0).out();
    long first = JSON.readTree(receipt.lines().toList().get(0)).get("timestampNanos").asLong();
    var followed = new AtomicBoolean();
    var closer =
        new Thread(
            () -> {
              // By the right clock: one that is ahead leaves intents that count for nobody else.
              while (!followed.get()) {
                Cinch.on(store).run("close").ended(0);
              }
            });
    closer.start();
    String to = Long.toString(first + 1);
    String[] follow = {"cat", "--log=jobs", "--follow", "--from=0", "--to", to};
    Cinch.Ran ran = cinch.run(follow);
    followed.set(true);
    closer.join();
    assertEquals("a\n", ran.ended(0).out());
  }

  @Test
  void doctorJudgesAStoreAndAPlainDirectoryAndLeavesNothingBehind() throws Exception {
    Path store = Cinch.quickStore(temp);
    Cinch.on(store).feed("a\n", "append", "--log", "jobs").ended(0);
    for (Path place : List.of(store, Files.createDirectory(temp.resolve("plain")))) {
      List<Path> before = everything(place);
      Cinch.Ran ran = Cinch.on(place).run("doctor").ended(0);
      assertEquals(before, everything(place));
      assertTrue(ran.out().lines().allMatch(l -> l.matches("(ok  |note|warn) .+ — .+")), ran.out());
      for (String what : List.of("create exclusively", "link, the first", "clock", "mount ")) {
        assertTrue(ran.out().contains(what), () -> what + " in " + ran.out());
      }
    }
    Cinch.Ran off = Cinch.on(store).run("doctor", "--clock-offset", "-10m").ended(1);
    assertTrue(off.out().matches("(?s).*FAIL filesystem's clock \\+(599|600)\\..*"), off.out());
  }

  private static List<Path> everything(Path place) throws IOException {
    try (var all = Files.walk(place)) {
      return all.sorted().toList();
    }
  }
}
