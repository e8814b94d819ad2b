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
import java.util.zip.CRC32;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A segment with a right header, and other bytes, whose checksums are all right. */
class ForgedSegmentTest {
  @TempDir Path temp;

  @Test
  void doesNotBecomeTheTruth() throws Exception {
    Path store = Cinch.quickStore(temp);
    Cinch cinch = Cinch.on(store);
    cinch.settled("jobs", "one\n", Duration.ofMinutes(50));
    cinch.run("view", "build", "--wait=0s").ended(0);
    cinch.settled("jobs", "two\nthree\n", Duration.ofMinutes(40));
    cinch.run("view", "build", "--wait=0s").ended(0);
    Path segment = store.resolve("logs/jobs/segments/0000000002");
    byte[] bytes = Files.readAllBytes(segment);
    forge(bytes);
    try (var all = Files.newDirectoryStream(segment.resolveSibling(""), "0000000002*")) {
      for (Path file : all) { // with its seal
        Files.delete(file);
      }
    }
    Files.write(segment, bytes);
    String named = segment + " at byte 0: expected content of SHA-256 ";
    String verified = cinch.run("verify").ended(1).out();
    assertTrue(verified.contains("damage " + named), verified);
    cinch.run("gc", "--retention=0s").failed(1, "which its records and data files give");
    assertEquals("one\ntwo\nthree\n", cinch.run("cat", "--log=jobs").ended(0).out());
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
}
