package dev.cinch.cli;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Comparator;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Bad input: one clear line and the right exit code, and nothing is changed. */
class RefusalsTest {
  private static final ObjectMapper JSON = new ObjectMapper();

  @TempDir Path temp;

  @ParameterizedTest
  @ValueSource(strings = {"append", "cat", "close", "audit", "verify"})
  void aDirectoryThatIsNoStore(String command) {
    String[] args =
        command.equals("append") || command.equals("cat")
            ? new String[] {command, "--log", "jobs"}
            : new String[] {command};
    Cinch.on(temp).run(args).failed(4, "is not a Cinch store");
    Cinch.on(temp.resolve("nowhere")).run(args).failed(4, "is not a Cinch store");
  }

  @Test
  void anUnknownOptionIsNamedAndItsValueIsNot() {
    String store = temp.resolve("store").toString();
    new Cinch()
        .run("init", "--bucket-widht", "5s", store)
        .failed(
            2,
            "cinch init: Unknown option: '--bucket-widht'; did you mean --bucket-width?"
                + " (see cinch init --help)");
    new Cinch()
        .run("init", "-x", "5s", store)
        .failed(2, "cinch init: Unknown option: '-x' (see cinch init --help)");
    new Cinch()
        .run("init", "--one", "5s", store, "--two")
        .failed(2, "cinch init: Unknown options: '--one', '--two' (see cinch init --help)");
    assertFalse(Files.exists(temp.resolve("store")));
  }

  @Test
  void aStoreOfANewerFormat() throws IOException {
    Path store = Cinch.store(temp);
    Path settings = store.resolve("store.json");
    Files.writeString(
        settings, Files.readString(settings).replaceFirst("\"format\" ?: ?2", "\"format\" : 3"));
    for (String[] command :
        List.of(
            new String[] {"cat", "--log=jobs"},
            new String[] {"cat", "--log=jobs", "--live"},
            new String[] {"append", "--log=jobs"},
            new String[] {"append", "--log=jobs", "--lease=x", "--server=http://127.0.0.1:1"},
            new String[] {"close"},
            new String[] {"serve", "--key=" + temp.resolve("key")},
            new String[] {"lease", "acquire", "x", "--server=http://127.0.0.1:1"},
            new String[] {"verify"},
            new String[] {"audit"},
            new String[] {"view", "build"},
            new String[] {"view", "cat", "--log=jobs"},
            new String[] {"gc", "--retention=1d"},
            new String[] {"doctor"},
            new String[] {"keygen", "--key=" + temp.resolve("key")})) {
      Cinch.Ran ran = Cinch.on(store).run(command);
      ran.failed(4, "store.json: made by a newer Cinch: store format 3, this one knows 2");
      assertEquals("", ran.out());
    }
    assertFalse(Files.exists(temp.resolve("key")));
    new Cinch().run("init", store.toString()).failed(3, "is a store already");
  }

  @Test
  void aFormatThatNeverWas() throws IOException {
    Path store = Cinch.store(temp);
    Path settings = store.resolve("store.json");
    Files.writeString(
        settings, Files.readString(settings).replaceFirst("\"format\" ?: ?2", "\"format\" : 0"));
    Cinch.on(store)
        .run("cat", "--log", "jobs")
        .failed(1, "damaged at byte 0: expected store format 2, found 0");
  }

  @Test
  void aDamagedStoreFile() throws IOException {
    Path store = Cinch.store(temp);
    Path settings = store.resolve("store.json");
    Files.writeString(settings, Files.readString(settings).replace("2000", "2001"));
    Cinch.on(store).run("cat", "--log", "jobs").failed(1, "store.json: damaged");
    Files.writeString(settings, "{");
    Cinch.on(store).run("cat", "--log", "jobs").failed(1, "expected a JSON object");
    assertTrue(Cinch.on(store).run("verify").ended(1).out().contains("store.json"));
  }

  @Test
  void anInitThatWasCutShort() throws IOException {
    Path store = Cinch.store(temp);
    Files.delete(store.resolve("store.json"));
    Cinch.on(store).run("cat", "--log", "jobs").failed(4, "is not a Cinch store");
    new Cinch().run("init", store.toString()).ended(0); // and can be finished
  }

  @Test
  void aStoreThatLostItsSettingsIsNotMadeAnew() throws IOException {
    Path store = Cinch.store(temp);
    Cinch cinch = Cinch.on(store);
    cinch.feed("one\n", "append", "--log", "jobs").ended(0);
    Files.delete(store.resolve("store.json"));
    cinch.run("cat", "--log", "jobs").failed(4, "has lost its store.json");
    new Cinch().run("init", store.toString()).failed(3, "has lost its store.json");
    assertEquals("one\n", cinch.run("salvage", "--log", "jobs").ended(0).out());
  }

  @Test
  void anAppendWithoutALeaseWhereNoReaderWouldSeeIt() {
    Path store = Cinch.store(temp, "--leases=required");
    Cinch.on(store)
        .feed("lost\n", "append", "--log=jobs")
        .failed(3, "messages without a lease do not exist in this store");
    assertFalse(Files.exists(store.resolve("logs/jobs")));
  }

  @Test
  void aSecondInit() throws IOException {
    Path store = Cinch.store(temp);
    byte[] before = Files.readAllBytes(store.resolve("store.json"));
    new Cinch().run("init", store.toString()).failed(3, "is a store already");
    assertArrayEquals(before, Files.readAllBytes(store.resolve("store.json")));
    Path other = Files.createDirectory(temp.resolve("other"));
    Files.writeString(other.resolve("letter"), "x");
    new Cinch().run("init", other.toString()).failed(3, "holds other files");
  }

  @Test
  void settingsThatCannotWork() {
    Path store = temp.resolve("store");
    for (String option :
        List.of(
            "--grace=1s",
            "--bucket-width=1ms",
            "--message-limit=0",
            "--message-limit=x",
            "--file-mode=9",
            "--confirm=never",
            "--longest-lease=1s",
            "--lease-margin=500500us", // which the store can't keep
            "--grace=soon")) {
      new Cinch().run("init", option, store.toString()).failed(2, "(see cinch init --help)");
    }
    assertFalse(Files.exists(store));
  }

  @ParameterizedTest
  @ValueSource(strings = {"..", ".", "a/b", "../a", "", "A", "a b", "-a", "a\nb", "ü", ".hidden"})
  void aLogNameThatIsNone(String name) {
    Path store = Cinch.store(temp);
    Cinch.on(store).run("append", "--log=" + name).failed(2, "not a log name");
    Cinch.on(store).run("cat", "--log=" + name).failed(2, "not a log name");
    Cinch.on(store).run("close", "--log=" + name).failed(2, "not a log name");
  }

  @Test
  void aLogNameOf10000Characters() {
    Path store = Cinch.store(temp);
    Cinch.Ran ran = Cinch.on(store).run("append", "--log=" + "a".repeat(10_000));
    ran.failed(2, "(10000 characters)");
    assertTrue(ran.err().length() < 300, ran.err());
  }

  @Test
  void aLogThatDoesNotExist() {
    Path store = Cinch.store(temp);
    Cinch.on(store).run("cat", "--log", "jobs").failed(4, "there is no log \"jobs\"");
    Cinch.on(store).run("close", "--log", "jobs").failed(4, "there is no log \"jobs\"");
    Cinch.on(store).feed("a\n", "append", "--log", "jobs", "--no-create").failed(4, "no log");
    Cinch.on(store).feed("a\n", "append", "--log", "jobs").ended(0);
    for (String command : List.of("cat", "view cat", "close")) {
      var args = new ArrayList<>(List.of(command.split(" ", -1)));
      args.add("--log=jbos");
      Cinch.on(store).run(args.toArray(String[]::new)).failed(4, "; there is \"jobs\"");
    }
    Cinch.on(store).run("log", "rm", "jbos", "--yes=jbos").failed(4, "; there is \"jobs\"");
    Cinch.on(store).feed("b\n", "append", "--log", "jobs", "--no-create").ended(0);
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
  void emptyMessagesAndNoMessages() {
    Path store = Cinch.store(temp);
    Cinch.on(store).feed("", "append", "--log", "none").ended(0);
    assertEquals("", Cinch.on(store).run("cat", "--log", "none", "--live").ended(0).out());
    Cinch.on(store).feed("\n\na\n\n", "append", "--log", "some").ended(0);
    assertEquals("\n\na\n\n", Cinch.on(store).run("cat", "--log", "some", "--live").out());
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
    Path data = dataFile(store);
    Path foreign = data.resolveSibling("letter.txt");
    writable(data);
    Files.writeString(foreign, "x");
    cinch.run("cat", "--log", "jobs").ended(0);
    Cinch.Ran noted = cinch.run("verify", "--notes").ended(0);
    assertTrue(noted.out().contains("letter.txt"), noted.out());
    byte[] good = Files.readAllBytes(data);
    byte[] flipped = good.clone();
    flipped[good.length / 2] ^= 4;
    Files.write(data, flipped);
    cinch.run("cat", "--log", "jobs").failed(1, data + ": damaged at byte ");
    assertTrue(cinch.run("verify").ended(1).out().contains("damage " + data));
    assertTrue(cinch.run("audit").ended(1).out().contains("violation: " + data));
    Files.write(data, java.util.Arrays.copyOf(good, good.length / 2));
    cinch.run("cat", "--log", "jobs").failed(1, data + ": damaged at byte ");
    Files.delete(data);
    cinch.run("cat", "--log", "jobs").failed(1, "the data file that the lock lists");
  }

  /** The longest one: of a short one the lock may have a copy. */
  private static Path dataFile(Path store) throws IOException {
    try (var all = Files.walk(store.resolve("logs/jobs/buckets"))) {
      return all.filter(p -> p.toString().endsWith(".log"))
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

  @Test
  @Timeout(600) // a lease server that starts all the same does not end
  void aClockThatIsTenMinutesOff() {
    Path store = Cinch.store(temp);
    Cinch cinch = Cinch.on(store);
    cinch.feed("a\n", "append", "--log", "jobs").ended(0);
    for (String offset : List.of("10m", "-10m")) {
      String side = offset.startsWith("-") ? " s behind " : " s ahead of ";
      cinch
          .feed("b\n", "append", "--log", "jobs", "--clock-offset", offset)
          .failed(3, "this machine's clock is ");
      Cinch.Ran closing = cinch.run("close", "--clock-offset", offset);
      closing.failed(3, side);
      cinch
          .run("serve", "--port=0", "--key=" + temp.resolve("key"), "--clock-offset", offset)
          .failed(3, side);
    }
    assertEquals("a\n", cinch.run("cat", "--log", "jobs", "--live").out());
  }

  @Test
  void aLeaseServiceThatIsNotThere() {
    Path store = Cinch.store(temp);
    String nowhere = "http://127.0.0.1:1";
    Cinch cinch = Cinch.on(store).with("CINCH_SERVER", nowhere).with("CINCH_GRANT", "0".repeat(32));
    for (String[] args :
        List.of(
            new String[] {"lease", "acquire", "a"},
            new String[] {"lease", "list"},
            new String[] {"lease", "show", "a"},
            new String[] {"lease", "release"},
            new String[] {"lease", "renew"})) {
      cinch.run(args).failed(4, nowhere);
    }
    cinch.feed("a\n", "append", "--log", "jobs", "--lease", "x").failed(4, nowhere);
    assertEquals("", cinch.run("cat", "--log", "jobs", "--live").out());
  }

  @Test
  void commandLinesThatMakeNoSense() {
    Path store = Cinch.store(temp);
    Cinch cinch = Cinch.on(store);
    cinch.run().failed(2, "name a command: init, append, ");
    assertFalse(cinch.run().err().contains("names"), "only shells call it");
    cinch.run("frobnicate").failed(2, "frobnicate");
    cinch.run("cat").failed(2, "--log");
    new Cinch().run("cat", "--log", "jobs").failed(2, "--store");
    cinch.run("cat", "--log", "jobs", "--bogus").failed(2, "--bogus");
    cinch.run("cat", "--log=jobs", "--tail=-1").failed(2, "--tail is not negative");
    cinch.run("cat", "--log=jobs", "--tail=x").failed(2, "--tail");
    cinch.run("cat", "--log=jobs", "--from=lately").failed(2, "not a time");
    cinch.run("cat", "--log=jobs", "--format=xml").failed(2, "--format");
    cinch.run("append", "--log=jobs", "--machine=a/b").failed(2, "not a machine name");
    cinch.run("append", "--log=jobs", "--lease=x").failed(2, "--lease needs a lease service");
    cinch.run("append", "--log=jobs", "--lease= ", "--server=x").failed(2, "not a lease name");
    cinch.run("append", "--log=jobs", "--wait=5m").failed(2, "--wait is for --lease");
    cinch.run("append", "--log=jobs", "--lease-for=1h").failed(2, "--lease-for is for --lease");
    cinch.run("serve", "--first").failed(2, "--first does not go with a store");
    cinch.run("init", "--store=a", "b").failed(2, "two directories: b, and --store a");
    cinch.run("append", "--log=jobs", "--clock-offset=1y").failed(2, "not a duration");
    cinch.run("close", "--every=9999999999d").failed(2, "too long: ");
    cinch.run("lease").failed(2, "name a command");
    cinch.run("lease", "list").failed(2, "--server");
    cinch.run("lease", "list", "--server=ftp://x").failed(2, "not the address");
    cinch.run("lease", "release", "xyz", "--server=http://x").failed(2, "CINCH_GRANT");
    new Cinch()
        .with("CINCH_GRANT", "xyz")
        .run("lease", "release", "--server=http://x")
        .failed(2, "32 hexadecimal digits");
    cinch.run("serve", "--port=70000").failed(2, "a port is 0 to 65535");
    cinch.run("append", "--log=jobs", temp.resolve("missing").toString()).failed(4, "no such file");
    cinch.run("append", "--log=jobs", temp.toString()).failed(4, "irectory");
    cinch.run("keygen", "--key", store.resolve("store.json").toString()).failed(4, "signing key");
  }

  /** An empty path would be the current directory. */
  @Test
  void aStoreWithoutAName() {
    List<String[]> commands =
        List.of(
            new String[] {"init"},
            new String[] {"cat", "--log=jobs"},
            new String[] {"append", "--log=jobs"},
            new String[] {"close"},
            new String[] {"verify"},
            new String[] {"salvage", "--log=jobs"},
            new String[] {"doctor"},
            new String[] {"serve", "--port=0", "--key=" + temp.resolve("key")},
            new String[] {"keygen", "--key=" + temp.resolve("key")},
            new String[] {"lease", "acquire", "a", "--server=http://127.0.0.1:1"});
    for (String[] command : commands) {
      new Cinch().with("CINCH_STORE", "").run(command).failed(2, "the path is empty");
      String[] given = Arrays.copyOf(command, command.length + 1);
      given[command.length] = "--store=";
      new Cinch().run(given).failed(2, "the path is empty");
    }
    new Cinch().run("init", "").failed(2, "the path is empty");
    assertFalse(Files.exists(Path.of("logs")));
    assertFalse(Files.exists(temp.resolve("key")));
  }

  @Test
  @Timeout(600) // a closer that starts all the same does not end
  void aPauseThatIsNone() {
    Cinch cinch = Cinch.on(Cinch.store(temp));
    for (String pause : List.of("0s", "-1s")) {
      cinch.run("close", "--every", pause).failed(2, "--every is longer than 0s");
    }
  }

  @Test
  void timesAtTheEndsOfTime() {
    Cinch cinch = Cinch.on(Cinch.store(temp));
    cinch.feed("a\n", "append", "--log", "jobs").ended(0);
    String first = Long.toString(Long.MIN_VALUE);
    String last = Long.toString(Long.MAX_VALUE);
    assertEquals(
        "a\n", cinch.run("cat", "--log=jobs", "--live", "--from", first, "--to", last).out());
    cinch.run("close", "--log=jobs", "--through", last).failed(3, "too early");
    cinch.run("close", "--log=jobs", "--through", last + "0").failed(2, "too far away");
    cinch
        .run("cat", "--log=jobs", "--from", "+999999999-01-01T00:00:00Z")
        .failed(2, "too far away");
  }

  @Test
  void aGroupThatDoesNotExist() {
    String store = temp.resolve("store").toString();
    new Cinch()
        .run("init", "--group=no-such-group-here", store)
        .failed(4, "there is no user or group \"no-such-group-here\"");
  }

  @Test
  void debugShowsTheStackTraceAndNothingElseDoes() {
    Cinch.Ran ran = Cinch.on(temp).run("cat", "--log", "jobs", "--debug");
    ran.ended(4);
    assertTrue(ran.err().contains("\tat dev.cinch."), ran.err());
  }
}
