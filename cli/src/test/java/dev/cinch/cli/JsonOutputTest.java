package dev.cinch.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.cinch.cli.base.Io;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

/** What {@code --json} prints is what {@code docs/cinch.schema.json} says. */
final class JsonOutputTest {
  private static final ObjectMapper JSON = new ObjectMapper();

  @TempDir private Path temp;
  private final JsonSchema schema;
  private final Set<String> seen = new TreeSet<>();

  JsonOutputTest() throws Exception {
    schema = new JsonSchema(Path.of("../docs/cinch.schema.json"));
  }

  /** Every command that has the option is run here, and has a schema. */
  @Test
  void everyCommandPrintsWhatTheSchemaSays() throws Exception {
    try (var served = new Served(temp)) {
      Cinch cinch = served.cinch;
      lines("cinch log create", cinch.run("log", "create", "jobs", "empty", "--json").ended(0));
      lines("cinch append", append(cinch, "a\n\u00e4\n", "--lease=jobs/1"));
      lines("cinch append", append(cinch, "b\n"));
      byte[] noText = {(byte) 0xff, '\n'};
      lines("cinch append", cinch.feed(noText, "append", "--log=jobs", "--json").ended(0));
      lines("cinch append", append(cinch, "b\n", "--lease=jobs/1"));
      String two = Files.writeString(temp.resolve("two"), "x".repeat(2 << 20) + "\nc\n").toString();
      lines("cinch append", cinch.feed("b\n", "append", "--log=two", "--json", "-", two).ended(3));
      lines("cinch append", append(cinch, "a\n\u00e4\nb\nc\n", "--lease=jobs/1", "--resume"));
      lines("cinch cat", cinch.run("cat", "--log=jobs", "--live", "--json").ended(0));
      cinch.run("cat", "--log=jobs", "--end-mark").failed(2, "--end-mark is for --json");
      cinch.settled("old", "x\ny\n");
      lines("cinch close", cinch.run("close", "--through", "-1m", "--json").ended(0));
      cinch.settle("jobs");
      marked(cinch, 0, false, "--log=jobs", "--from=2026-01-01");
      String backup = temp.resolve("backup").toString();
      lines("cinch backup", cinch.run("backup", "--json", backup).ended(0));
      lines("cinch backup", cinch.run("backup", "--json", "--restore", backup).ended(0));
      cinch.run("close", "--wait", "--now").ended(0);
      marked(cinch, 0, false, "--log=jobs", "--log=old");
      lines("cinch view cat", cinch.run("view", "cat", "--log=jobs", "--json").ended(0));
      lines("cinch verify", cinch.run("verify", "--json").ended(0));
      lines("cinch audit", cinch.run("audit", "--json").ended(0));
      lines("cinch doctor", cinch.run("doctor", "--json"));
      lines("cinch view build", cinch.run("view", "build", "--json").ended(0));
      lines("cinch view build", cinch.run("view", "build", "--wait=0s", "--json").ended(0));
      String[] tables = {"view", "build", "--table", "--latest-by=$.a", "--json"};
      lines("cinch view build", cinch.run(tables).ended(0));
      lines("cinch sql", cinch.run("sql", "--json", "SELECT 1 AS one, [2] AS more").ended(0));
      String[] retired = {"gc", "--retention=0s", "--log=old", "--json", "--dry-run"};
      lines("cinch gc", cinch.run(retired).ended(0));
      lines("cinch gc", cinch.run("gc", "--retention=0s", "--log=old", "--json").ended(0));
      lines("cinch logs", cinch.run("logs", "--json").ended(0));
      lines("cinch cut", cinch.run("cut", "--json").ended(0));
      lines("cinch cut", cinch.run("cut", "--list", "--json").ended(0));
      lines("cinch shards", cinch.run("shards", "--json").ended(0));
      lines("cinch status", cinch.run("status", "--json").ended(0));
      expired(cinch);
      cinch.run("log", "create", "wrong").ended(0);
      lines("cinch log rm", cinch.run("log", "rm", "wrong", "--yes=wrong", "--json").ended(0));
      leases(cinch, served.uri(), served.admin);
      damaged(served.store, cinch);
    }
    try (var shared = new SharedStore(Files.createDirectory(temp.resolve("shared")))) {
      shared.serve(1);
      shared.cinch.run("shards", "set", "2", shared.key()).ended(0);
      String uri = shared.serve(2).uri().toString();
      lines("cinch shards", shared.cinch.run("shards", "--json").ended(0));
      lines("cinch status", shared.cinch.run("status", "--json").ended(3));
      lines("cinch status", shared.cinch.run("status", "--json", "--server=" + uri).ended(3));
    }
    cell();
    Cinch elsewhere = new Cinch();
    String store = temp.resolve("other").toString();
    lines("cinch init", elsewhere.run("init", "--json", store).ended(0));
    lines("cinch destroy", elsewhere.run("destroy", "--json", "--yes=other", store).ended(0));
    String key = temp.resolve("key").toString();
    lines("cinch keygen", elsewhere.run("keygen", "--json", "--key", key).ended(0));
    String tokens = "--tokens=" + temp.resolve("own.tokens");
    for (String lasting : List.of("--note=x", "--for=1h")) {
      Cinch.Ran made = elsewhere.run("token", "add", "--right=observe", lasting, tokens, "--json");
      lines("cinch token add", made.ended(0));
    }
    lines("cinch token list", elsewhere.run("token", "list", tokens, "--json").ended(0));
    assertEquals(schema.commands(), seen, "commands that the schema has, and those of this test");
    assertEquals(withTheOption(), seen, "commands that have --json, and those of this test");
  }

  private void cell() throws Exception {
    Path directory = Files.createDirectory(temp.resolve("cell"));
    var cell = new ServedCell(directory, "--algorithm=flease");
    try (cell) {
      lines("cinch cell init", cell.made);
      lines("cinch cell status", cell.status("--json").ended(3));
      for (int node = 1; node <= 3; node++) {
        cell.tell(ServedCell.status(node, 0, 1_000_000, ServedCell.QUIET));
      }
      lines("cinch cell status", cell.status("--json").ended(0));
    }
  }

  private void expired(Cinch cinch) throws Exception {
    cinch.settled("older", "x\n", Duration.ofMinutes(50));
    cinch.run("view", "build", "--wait=0s", "--log=older").ended(0);
    cinch.settled("older", "y\n");
    cinch.run("view", "build", "--wait=0s", "--log=older").ended(0);
    String[] command = {"gc", "--retention=0s", "--keep=30m", "--log=older", "--dry-run", "--json"};
    lines("cinch gc", cinch.run(command).ended(0));
    cinch.run("gc", "--retention=0s", "--log=older").ended(0);
    String[] dry = {"expire", "--keep=30m", "--log=older", "--dry-run", "--json"};
    lines("cinch expire", cinch.run(dry).ended(0));
    lines("cinch expire", cinch.run("expire", "--keep=30m", "--log=older", "--json").ended(0));
    marked(cinch, 0, true, "--log=older");
    marked(cinch, 0, true, "--log=older", "--live", "--tail=1");
    marked(cinch, 0, false, "--log=older", "--from=-30m");
  }

  private void leases(Cinch cinch, String uri, String admin) throws Exception {
    Cinch.Ran grant = cinch.run("lease", "acquire", "--json", "jobs/1", "x").ended(0);
    lines("cinch lease acquire", grant);
    String id = JSON.readTree(grant.out()).get("id").textValue();
    cinch.with("CINCH_GRANT", id);
    lines("cinch lease renew", cinch.run("lease", "renew", "--json").ended(0));
    lines("cinch lease show", cinch.run("lease", "show", "--json", "jobs/1").ended(0));
    lines("cinch lease list", cinch.run("lease", "list", "--json").ended(0));
    lines("cinch lease list", cinch.run("lease", "list", "--prefix=none", "--json").ended(0));
    try (Forked watch = Forked.endless("lease", "watch", "--server=" + uri, "--json")) {
      String printed = watch.line() + "\n" + watch.line() + "\n" + watch.line();
      lines("cinch lease watch", new Cinch.Ran(0, printed.getBytes(StandardCharsets.UTF_8), ""));
    }
    String[] revoke = {"lease", "revoke", "--reason=why not", "--json", admin, "jobs/1"};
    lines("cinch lease revoke", cinch.run(revoke).ended(0));
    lines("cinch audit", cinch.run("audit", "--json").ended(0));
    assertFalse(cinch.run("lease", "release", "--json").ended(0).out().contains("{"));
  }

  /** The kinds of lines that tell of damage. */
  private void damaged(Path store, Cinch cinch) throws Exception {
    Path segment = store.resolve("logs/old/segments/0000000001");
    byte[] bytes = Files.readAllBytes(segment);
    bytes[bytes.length / 3] ^= 1;
    assertTrue(segment.toFile().setWritable(true));
    Files.write(segment, bytes);
    lines("cinch status", cinch.run("status", "--json", "--late=0s"));
    List<JsonNode> found = lines("cinch verify", cinch.run("verify", "--json").ended(1));
    assertEquals("finding", found.get(0).get("type").textValue());
    found = lines("cinch audit", cinch.run("audit", "--json").ended(1));
    assertEquals("violation", found.get(0).get("type").textValue());
    found = lines("cinch salvage", cinch.run("salvage", "--log=old", "--json").ended(1));
    assertTrue(found.stream().anyMatch(line -> line.get("type").textValue().equals("left")));
    lines("cinch salvage", cinch.run("salvage", "--log=jobs", "--json").ended(0));
  }

  private static Cinch.Ran append(Cinch cinch, String input, String... more) {
    var words = new ArrayList<>(List.of("append", "--log=jobs", "--json"));
    words.addAll(List.of(more));
    return cinch.feed(input, words.toArray(String[]::new)).ended(0);
  }

  /** The last line says that the output is whole, and whether messages of its range expired. */
  private void marked(Cinch cinch, int code, boolean expired, String... options) throws Exception {
    var words = new ArrayList<>(List.of("cat", "--json", "--end-mark"));
    words.addAll(List.of(options));
    List<JsonNode> lines = lines("cinch cat", cinch.run(words.toArray(String[]::new)).ended(code));
    JsonNode last = lines.get(lines.size() - 1);
    assertEquals("end", last.path("type").asText());
    assertEquals(code, last.path("exitCode").intValue());
    assertEquals(expired, last.has("expiredBefore"));
    boolean begins = words.stream().anyMatch(word -> word.startsWith("--from"));
    assertEquals(begins, last.has("from"));
  }

  private List<JsonNode> lines(String command, Cinch.Ran ran) throws Exception {
    seen.add(command);
    var found = new ArrayList<JsonNode>();
    for (String line : ran.out().lines().toList()) {
      JsonNode node = JSON.readTree(line);
      assertEquals(List.of(), schema.wrong(command, node), () -> command + ": " + line);
      found.add(node);
    }
    return found;
  }

  private static Set<String> withTheOption() {
    var found = new TreeSet<String>();
    gather(Commands.all(Io.ofProcess()), found);
    found.remove("cinch lease release"); // takes it as its siblings do, and prints nothing
    return found;
  }

  private static void gather(CommandLine line, Set<String> found) {
    if (line.getCommandSpec().optionsMap().containsKey("--json")) {
      found.add(line.getCommandSpec().qualifiedName());
    }
    line.getSubcommands().values().forEach(below -> gather(below, found));
  }

  /** A validator that lets all pass would make the other test worthless. */
  @Test
  void theValidatorFindsWhatIsWrong() throws Exception {
    String good =
        "{\"log\":\"a\",\"settledThrough\":\"2026-11-23T14:00:05.000000000Z\","
            + "\"settledThroughNanos\":\"1795442405000000000\",\"record\":1,\"buckets\":0}";
    assertEquals(List.of(), schema.wrong("cinch close", JSON.readTree(good)));
    for (String bad :
        List.of(
            good.replace("\"log\":\"a\",", ""),
            good.replace("\"record\":1", "\"record\":\"1\""),
            good.replace("\"record\":1", "\"record\":-1"),
            good.replace("\"record\":1", "\"record\":1,\"more\":1"),
            good.replace(".000000000Z", "Z"),
            good.replace("\"1795442405000000000\"", "1795442405000000000"))) {
      assertFalse(schema.wrong("cinch close", JSON.readTree(bad)).isEmpty(), bad);
    }
    JsonNode none = JSON.readTree("{\"type\":\"other\"}");
    assertFalse(schema.wrong("cinch verify", none).isEmpty());
  }
}
