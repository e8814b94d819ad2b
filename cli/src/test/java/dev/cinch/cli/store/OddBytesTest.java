package dev.cinch.cli.store;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.cinch.cli.Cinch;
import dev.cinch.cli.OddStore;
import dev.cinch.cli.ReaderPy;
import java.io.IOException;
import java.nio.charset.Charset;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Bytes that docs/format.md might be read to allow, or not, with every digest right: {@code cinch}
 * and {@code reader.py}, which knows that page alone, say the same of them, and it is what the page
 * says.
 */
@SuppressWarnings("NullAway.Init") // made before all
class OddBytesTest {
  private static final String MESSAGES = "one\ntwo\n";

  @TempDir static Path temp;

  private static OddStore good;
  private static OddStore retired;
  private static ReaderPy python;

  private final List<String> wrong = new ArrayList<>();

  @BeforeAll
  static void make() throws Exception {
    try {
      python = new ReaderPy();
    } catch (IOException e) {
      assumeTrue(false, "SKIPPED: there is no python3, so examples/reader.py was not compared");
    }
    do { // until both messages have the same bucket
      Path root = Files.createTempDirectory(temp, "good");
      Cinch cinch = Cinch.on(Cinch.quickStore(root));
      cinch.run("log", "create", "jobs").ended(0);
      cinch.settled("jobs", MESSAGES);
      good = new OddStore(root.resolve("store"), temp);
    } while (good.locks() != 1);
    Path copy = good.copy().root();
    Cinch other = Cinch.on(copy);
    other.run("view", "build", "--wait=0s").ended(0);
    other.run("gc", "--retention=0s").ended(0);
    retired = new OddStore(copy, temp);
    assertTrue(Files.exists(retired.file("horizon/checkpoints/0000000001")));
  }

  @AfterAll
  static void end() {
    python.close();
  }

  private interface Change {
    void of(OddStore store) throws Exception;
  }

  /** What each program says of a store; those who disagree with what is right are remembered. */
  private void judge(String what, OddStore from, Change change, boolean isGood) throws Exception {
    OddStore store = from.copy();
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

  private void taken(String what, OddStore from, Change change) throws Exception {
    judge(what, from, change, true);
  }

  private void damage(String what, OddStore from, Change change) throws Exception {
    judge(what, from, change, false);
  }

  @AfterEach
  void allAgreed() {
    assertEquals("", String.join("\n", wrong));
  }

  private interface Edit {
    byte[] of(byte[] file);
  }

  private static String body(byte[] file) {
    String text = new String(file, UTF_8);
    return text.substring(text.indexOf('\n') + 1);
  }

  private static byte[] envelope(String type, byte[] body) {
    return OddStore.envelope("cinch " + type, body);
  }

  private static byte[] bytes(String start, String text, Charset charset) {
    return (start + new String(text.getBytes(charset), ISO_8859_1)).getBytes(ISO_8859_1);
  }

  /** Edits of a document, each with its own digest. */
  private static Map<String, Edit> documents(String type) {
    var edits = new LinkedHashMap<String, Edit>();
    edits.put("UTF-16LE", f -> envelope(type, bytes("", body(f), Charset.forName("UTF-16LE"))));
    edits.put("UTF-16BE", f -> envelope(type, bytes("", body(f), Charset.forName("UTF-16BE"))));
    edits.put(
        "UTF-16 with a mark", f -> envelope(type, bytes("", body(f), Charset.forName("UTF-16"))));
    edits.put("UTF-32", f -> envelope(type, bytes("", body(f), Charset.forName("UTF-32"))));
    edits.put("a mark", f -> envelope(type, bytes("\u00ef\u00bb\u00bf", body(f), UTF_8)));
    for (String odd :
        List.of(
            "\"\u00ff\"", "\"\u00ed\u00a0\u0080\"", "\"\u00c0\u0080\"", "NaN", "Infinity", "01")) {
      edits.put(
          "with " + odd,
          f ->
              envelope(
                  type, ("{\"odd\":" + odd + "," + body(f).substring(1)).getBytes(ISO_8859_1)));
    }
    edits.put("something behind", f -> envelope(type, (body(f) + "x").getBytes(UTF_8)));
    return edits;
  }

  /** Edits of a first line. */
  private static Map<String, Edit> lines(String type, int version) {
    String words = type + " " + version;
    var edits = new LinkedHashMap<String, Edit>();
    for (String other :
        List.of(
            type + " 0" + version,
            type + " +" + version,
            type + "  " + version,
            type + "\t" + version,
            " " + words)) {
      edits.put("cinch " + other, f -> envelope(other, body(f).getBytes(UTF_8)));
    }
    edits.put("a padded length", f -> line(f, words + " ", words + " 0"));
    edits.put("a signed length", f -> line(f, words + " ", words + " +"));
    edits.put("CR at the end", f -> line(f, "\n", "\r\n"));
    edits.put(
        "a digest in capitals",
        f -> {
          String text = new String(f, UTF_8);
          String line = text.substring(0, text.indexOf('\n'));
          String digest = line.substring(line.lastIndexOf(' ') + 1);
          return text.replaceFirst(digest, digest.toUpperCase(java.util.Locale.ROOT))
              .getBytes(UTF_8);
        });
    return edits;
  }

  private static byte[] line(byte[] file, String from, String to) {
    String text = new String(file, UTF_8);
    int at = text.indexOf(from);
    assertTrue(at >= 0 && at <= text.indexOf('\n'), from);
    return (text.substring(0, at) + to + text.substring(at + from.length())).getBytes(UTF_8);
  }

  @Test
  void envelopesHaveOneForm() throws Exception {
    Map<String, Edit> ofRecord = documents("record 3");
    ofRecord.putAll(lines("record", 3));
    for (var edit : ofRecord.entrySet()) {
      damage("record: " + edit.getKey(), good, s -> s.record(edit.getValue()::of));
    }
    Map<String, Edit> ofIdentity = documents("log 1");
    for (var edit : ofIdentity.entrySet()) {
      damage("identity: " + edit.getKey(), good, s -> s.edit("identity", edit.getValue()::of));
    }
  }

  private static byte[] padded(String type, byte[] file, int length) {
    int line = envelope(type, new byte[length - 90]).length - (length - 90);
    return envelope(
        type, (body(file) + " ".repeat(length)).substring(0, length - line).getBytes(UTF_8));
  }

  @Test
  void envelopesHaveALimit() throws Exception {
    taken("a record of 4 MiB", good, s -> s.record(f -> padded("record 3", f, 1 << 22)));
    damage("a longer record", good, s -> s.record(f -> padded("record 3", f, (1 << 22) + 1)));
    taken("an identity of 64 KiB", good, s -> s.edit("identity", f -> padded("log 1", f, 1 << 16)));
    damage(
        "a longer identity", good, s -> s.edit("identity", f -> padded("log 1", f, (1 << 16) + 1)));
  }

  private static String replaced(String text, String pattern, String by) {
    String other = text.replaceFirst(pattern, by);
    assertTrue(!other.equals(text), pattern);
    return other;
  }

  private void field(String what, String pattern, String by) throws Exception {
    damage(
        what,
        good,
        s -> s.record(f -> envelope("record 3", replaced(body(f), pattern, by).getBytes(UTF_8))));
  }

  @Test
  void fieldsHaveOneForm() throws Exception {
    field("an id in capitals", "(\"log\" *: *\"[0-9a-f]*)[0-9a-f]{3}\"", "$1ABC\"");
    field("no closer", "\"closer\"", "\"somebody\"");
    field("no time of settling", "\"settledAt\"", "\"then\"");
    field("a negative count of keys", "(\"trustedKeys\") *: *0", "$1:-1");
    field("no digest of keys", "(\"keys\" *: *)\"[0-9a-f]*\"", "$1\"\"");
    field("65 bits", "(\"settledAt\" *: *)[0-9]*", "$136893488147419103232");
    field("a fraction", "(\"settledAt\" *: *[0-9]*)", "$1.0");
    field("a bucket before all eras", "(\"start\" *: *)[0-9]*", "$1-9223372036800000000");
    field("a bucket that ends too late", "(\"start\" *: *)[0-9]*", "$19223372036800000000");
  }

  @Test
  void settingsHaveOneForm() throws Exception {
    damage(
        "required in capitals",
        good,
        s -> s.settings(t -> replaced(t, "\"optional\"", "\"REQUIRED\"")));
    damage(
        "optional in capitals",
        good,
        s -> s.settings(t -> replaced(t, "\"optional\"", "\"Optional\"")));
    damage(
        "a fraction",
        good,
        s -> s.settings(t -> replaced(t, "(\"bucketWidthMs\" *: *100)", "$1.0")));
    damage("a truth", good, s -> s.settings(t -> replaced(t, "\\{", "{\"odd\":true,")));
    damage(
        "a width of 0",
        good,
        s -> s.settings(t -> replaced(t, "(\"bucketWidthMs\" *: *)100", "$10")));
    damage("a mark", good, s -> s.settings(t -> "\ufeff" + t));
    damage(
        "UTF-16",
        good,
        s -> {
          Path file = s.root().resolve("store.json");
          Files.write(file, Files.readString(file).getBytes(Charset.forName("UTF-16")));
        });
  }

  @Test
  void whatMayBeMissing() throws Exception {
    for (String directory : List.of("intents", "checkpoints")) {
      taken("no " + directory, good, s -> Files.delete(s.file("horizon/" + directory)));
    }
    taken("no segments", good, s -> Files.delete(s.file("segments")));
    for (String directory : List.of("keys", "limits", "clock", "service")) {
      taken("no " + directory, good, s -> OddStore.delete(s.root().resolve(directory)));
    }
    damage("no records", good, s -> OddStore.delete(s.file("horizon/records")));
    damage("no buckets", good, s -> OddStore.delete(s.file("buckets")));
  }

  @Test
  void sealsAndRecordsOfAnotherGroupAreNobodys() throws Exception {
    String digest = "0".repeat(64);
    damage("a seal", good, s -> s.make("horizon/records/0000000/0000000001." + digest));
    damage("a seal above", good, s -> s.make("horizon/records/0000000/0000000002." + digest));
    taken("in another group", good, s -> s.make("horizon/records/0000001/0000000001." + digest));
    taken("above, there", good, s -> s.make("horizon/records/0000007/0000000002." + digest));
    taken("an empty record there", good, s -> s.make("horizon/records/0000001/0000000002"));
    taken("a checkpoint 0", good, s -> s.make("horizon/checkpoints/0000000000"));
  }

  @Test
  void aTombstoneBesideAnIdentityIsOfARemovedLog() throws Exception {
    OddStore s = good.copy();
    String id =
        body(Files.readAllBytes(s.file("identity")))
            .replaceAll("(?s).*\"log\" *: *\"([0-9a-f]*)\".*", "$1");
    String removal = "{\"log\":\"%s\",\"name\":\"jobs\",\"removed\":1,\"by\":\"m\"}".formatted(id);
    Files.write(s.file("removed"), envelope("removal 1", removal.getBytes(UTF_8)));
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

  private interface Blocks {
    void of(OddStore store, UnaryOperator<List<OddStore.Block>> edit) throws IOException;
  }

  @Test
  void locks() throws Exception {
    settledFiles(good, OddStore::lock);
  }

  @Test
  void segments() throws Exception {
    settledFiles(retired, OddStore::segment);
  }

  private void settledFiles(OddStore from, Blocks file) throws Exception {
    taken("as it is", from, s -> file.of(s, blocks -> blocks));
    taken(
        "leases before messages",
        from,
        s -> file.of(s, b -> OddStore.with(b, 1, OddStore.leases(b.get(1).time()))));
    damage(
        "leases twice",
        from,
        s ->
            file.of(
                s,
                b ->
                    OddStore.with(
                        OddStore.with(b, 1, OddStore.leases(b.get(1).time())),
                        1,
                        OddStore.leases(b.get(1).time()))));
    damage(
        "leases behind messages",
        from,
        s -> file.of(s, b -> OddStore.with(b, 2, OddStore.leases(b.get(1).time()))));
    damage(
        "leases of another time",
        from,
        s -> file.of(s, b -> OddStore.with(b, 1, OddStore.leases(b.get(1).time() - 1))));
    damage(
        "no messages",
        from,
        s -> file.of(s, b -> OddStore.with(b, 1, OddStore.messages(b.get(1).time()))));
    damage(
        "another first time",
        from,
        s ->
            file.of(
                s,
                b -> {
                  var all = new ArrayList<>(b);
                  OddStore.Block m = b.get(1);
                  all.set(1, new OddStore.Block("SEGM", m.how(), m.body(), m.time() - 1));
                  return all;
                }));
    damage("a bucket twice", from, s -> file.of(s, b -> OddStore.with(b, 0, b.get(0))));
    damage("messages first", from, s -> file.of(s, b -> List.of(b.get(1), b.get(0))));
  }
}
