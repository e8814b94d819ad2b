package dev.cinch.cli.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.cli.Cinch;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.zip.CRC32;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Segments, and the records that they were made of: neither is believed without the other. */
@SuppressWarnings("NullAway.Init")
class LostRecordsTest {
  @TempDir Path temp;

  private Path log;
  private Cinch cinch;

  @BeforeEach
  void aBackupOfWhatWasEmpty() throws Exception {
    Path store = Cinch.quickStore(temp);
    log = store.resolve("logs/jobs");
    cinch = Cinch.on(store);
    cinch.run("log", "create", "jobs").ended(0);
    run("cp", "-a", log.resolve("horizon").toString(), temp.resolve("empty").toString());
    cinch.settled("jobs", "one\n", Duration.ofMinutes(50));
    cinch.run("view", "build", "--wait=0s").ended(0);
    run("cp", "-a", log.resolve("horizon").toString(), temp.resolve("old").toString());
    cinch.settled("jobs", "two\nthree\n", Duration.ofMinutes(40));
  }

  private void built(boolean retired) {
    cinch.run("view", "build", "--wait=0s").ended(0);
    if (retired) {
      cinch.run("gc", "--retention=0s").ended(0);
    }
    assertEquals("one\ntwo\nthree\n", cinch.run("cat", "--log=jobs").ended(0).out());
    cinch.run("verify").ended(0);
  }

  private void horizon(String from) throws Exception {
    run("sh", "-c", "rm -rf '" + log + "/horizon'");
    if (!from.isEmpty()) {
      run("cp", "-a", temp.resolve(from).toString(), log.resolve("horizon").toString());
    }
  }

  private void everyoneIsToldOfDamage(String why) throws Exception {
    for (String words :
        List.of(
            "cat --log=jobs",
            "cat --log=jobs --json",
            "cat --log=jobs --tail=1",
            "cat --log=jobs --live",
            "view cat --log=jobs",
            "status --no-server",
            "audit",
            "verify",
            "close --now")) {
      Cinch.Ran ran = cinch.run(words.split(" "));
      assertEquals(1, ran.code(), why + ": " + words + ": " + ran.err() + ran.out());
      assertTrue(ran.out().lines().noneMatch("one"::equals), words);
    }
  }

  @Test
  void allRecordsAreGone() throws Exception {
    for (boolean retired : new boolean[] {false, true}) {
      built(retired);
      for (String left : List.of("", "empty")) {
        horizon(left);
        everyoneIsToldOfDamage("left: " + left);
      }
      run("sh", "-c", "chmod -R u+w '" + temp + "' && rm -rf '" + temp + "'/*");
      aBackupOfWhatWasEmpty();
    }
  }

  /** Without segments the locks of closed buckets say it. */
  @Test
  void nothingWasBuiltYet() throws Exception {
    run("sh", "-c", "rm -rf '" + log + "'/segments/*");
    for (String left : List.of("", "empty")) {
      horizon(left);
      everyoneIsToldOfDamage("locks, and left: " + left);
    }
  }

  @Test
  void anOldBackupOfTheRecords() throws Exception {
    built(false);
    horizon("old");
    everyoneIsToldOfDamage("records up to the first segment's");
  }

  /** A segment with a right header, and other bytes, whose checksums are all right. */
  @Test
  void aForgedSegmentDoesNotBecomeTheTruth() throws Exception {
    built(false);
    Path segment = log.resolve("segments/0000000002");
    byte[] bytes = Files.readAllBytes(segment);
    forge(bytes);
    run("sh", "-c", "rm -f '" + segment + "'*");
    Files.write(segment, bytes);
    String named = segment + " at byte 0: expected content of SHA-256 ";
    String verified = cinch.run("verify").ended(1).out();
    assertTrue(verified.contains("damage " + named), verified);
    cinch.run("gc", "--retention=0s").failed(1, "which its records and data files give");
    assertEquals("one\ntwo\nthree\n", cinch.run("cat", "--log=jobs").ended(0).out());
  }

  /** One of a copy that went its own way has the same number, and all its checksums are right. */
  @Test
  void theSegmentOfACopy() throws Exception {
    Path copy = temp.resolve("copy");
    run("cp", "-a", temp.resolve("store").toString(), copy.toString());
    built(false);
    Cinch other = Cinch.on(copy);
    other.settled("jobs", "elsewhere\n", Duration.ofMinutes(30));
    other.run("view", "build", "--wait=0s").ended(0);
    run(
        "sh",
        "-c",
        "rm -f '"
            + log
            + "'/segments/*2* && cp '"
            + copy
            + "'/logs/jobs/segments/*2* '"
            + log
            + "/segments'");
    cinch.run("view", "cat", "--log=jobs").ended(1);
    cinch.run("verify").ended(1);
    cinch.run("gc", "--retention=0s").ended(1);
    cinch.run("cat", "--log=jobs").ended(1); // it ends with a record that is not there
  }

  private static void forge(byte[] bytes) {
    String text = new String(bytes, StandardCharsets.ISO_8859_1);
    bytes[text.indexOf("three")] = 'T';
    ByteBuffer in = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    int index = (int) in.getLong(bytes.length - 44);
    int entry = index + 16;
    while (!text.startsWith("SEGM", entry)) {
      entry += 28;
    }
    in.putInt(entry + 24, seal(in, (int) in.getLong(entry + 8)));
    int unused = seal(in, index);
  }

  /** Gives a block the right checksum. */
  private static int seal(ByteBuffer in, int at) {
    var crc = new CRC32();
    ByteBuffer seed = ByteBuffer.allocate(12).order(ByteOrder.LITTLE_ENDIAN);
    crc.update(seed.putInt(in.getInt(12)).putLong(at).flip());
    crc.update(in.array(), at, 12);
    crc.update(in.array(), at + 16, in.getInt(at + 4));
    in.putInt(at + 12, (int) crc.getValue());
    return (int) crc.getValue();
  }

  private static void run(String... words) throws Exception {
    assertEquals(0, new ProcessBuilder(words).inheritIO().start().waitFor());
  }
}
