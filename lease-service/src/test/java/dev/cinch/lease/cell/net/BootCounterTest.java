package dev.cinch.lease.cell.net;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Rule R4. */
final class BootCounterTest {
  @TempDir private Path directory;

  private int start() throws IOException {
    try (BootCounter counter = BootCounter.next(directory, 2)) {
      return counter.boot();
    }
  }

  private void refused(String why) {
    String message =
        String.valueOf(
            assertThrows(IOException.class, () -> BootCounter.next(directory, 2)).getMessage());
    assertTrue(message.contains(why), message);
  }

  @Test
  void r4_eachStartHasAHigherNumber() throws IOException {
    assertEquals(1, start());
    assertEquals(2, start());
    assertEquals("node 2 boot 2\n", Files.readString(directory.resolve("boot")));
    assertEquals(3, start());
  }

  /** The old count, whole, is there until the new one is. */
  @Test
  void r4_aWriteThatWasCutIsNotTheCount() throws IOException {
    assertEquals(1, start());
    Files.writeString(directory.resolve("boot.new"), "node 2 bo");
    assertEquals(2, start());
  }

  @Test
  void whatIsNoCountOfThisNodeIsRefused() throws IOException {
    Path file = directory.resolve("boot");
    for (String damaged :
        new String[] {
          "", "node 2 boot 1", "node 2 boot -1\n", "node 2 boot 1\n\n", "\0".repeat(99)
        }) {
      Files.writeString(file, damaged);
      refused("damaged");
    }
    Files.writeString(file, "node 1 boot 7\n");
    refused("of node 1");
    Files.writeString(file, "node 2 boot 2147483647\n");
    refused("used up");
    Files.writeString(file, "node 2 boot 2147483646\n");
    assertEquals(Integer.MAX_VALUE, start());
  }

  @Test
  void aDirectoryIsOfOneProcess() throws IOException {
    try (BootCounter counter = BootCounter.next(directory, 2)) {
      assertEquals(1, counter.boot());
      refused("another process");
    }
    assertEquals(2, start());
  }
}
