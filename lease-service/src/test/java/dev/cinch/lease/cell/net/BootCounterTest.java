package dev.cinch.lease.cell.net;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Rule P4. */
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
  void p4_eachStartHasAHigherNumber() throws IOException {
    assertEquals(1, start());
    assertEquals(2, start());
    assertEquals(List.of("node-2-boot-0000000002"), counts());
    assertEquals(3, start());
  }

  private List<String> counts() throws IOException {
    try (Stream<Path> files = Files.list(directory)) {
      return files
          .map(file -> file.getFileName().toString())
          .filter(name -> name.startsWith("node-"))
          .sorted()
          .toList();
    }
  }

  /**
   * A start that ended before it removed them leaves lower numbers, or its own without having it.
   */
  @Test
  void p4_theHighestNumberCounts() throws IOException {
    for (int boot : new int[] {3, 9, 10}) {
      Files.createFile(directory.resolve("node-2-boot-%010d".formatted(boot)));
    }
    assertEquals(11, start());
    assertEquals(List.of("node-2-boot-0000000011"), counts());
  }

  /** A node that is upgraded in place goes on above the count of the version before. */
  @Test
  void p4_goesOnAboveTheCountOfVersionsBefore() throws IOException {
    Files.writeString(directory.resolve("boot"), "node 2 boot 17\n");
    Files.writeString(directory.resolve("boot.new"), "node 2 bo");
    assertEquals(18, start());
    assertEquals(19, start());
  }

  /** Where locks do nothing. Of two that saw the same number one makes the file. */
  @Test
  void p4_ofTwoThatStartAtOnceOneLoses() throws IOException {
    BootCounter.claim(directory, 2, 1);
    overtaken(1);
    assertEquals(2, BootCounter.take(directory, 2));
  }

  /** One that was paused finds its number free again, since later starts have removed it. */
  @Test
  void p4_aNumberThatWasRemovedIsNotUsedAgain() throws IOException {
    assertEquals(1, start());
    assertEquals(2, start());
    assertEquals(3, start());
    overtaken(2);
    assertEquals(4, start());
    assertEquals(List.of("node-2-boot-0000000004"), counts());
  }

  private void overtaken(int boot) {
    String message =
        String.valueOf(
            assertThrows(IOException.class, () -> BootCounter.claim(directory, 2, boot))
                .getMessage());
    assertTrue(message.contains("at the same time"), message);
  }

  @Test
  void aNewDirectoryIsMadeWithWhatIsAboveIt() throws IOException {
    try (BootCounter counter = BootCounter.next(directory.resolve("a/b"), 2)) {
      assertEquals(1, counter.boot());
    }
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
    refused("used up");
  }

  @Test
  void theCountOfAnotherNodeIsRefused() throws IOException {
    Files.createFile(directory.resolve("node-1-boot-0000000007"));
    refused("of node 1");
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
