package dev.cinch.bag.fs;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Slots on a real memory filesystem. */
class PosixSlotsTest {
  private static final Path MEMORY = Path.of("/dev/shm");

  private Path directory = MEMORY;

  @BeforeEach
  void make() throws IOException {
    assumeTrue(Files.isWritable(MEMORY), "no /dev/shm");
    directory = Files.createTempDirectory(MEMORY, "slots");
  }

  @AfterEach
  void remove() throws IOException {
    if (!directory.equals(MEMORY)) {
      Files.deleteIfExists(directory.resolve("a"));
      Files.deleteIfExists(directory.resolve("link"));
      Files.delete(directory);
    }
  }

  @Test
  void aSlotHasOneHolderAndKeepsWhatWasLeft() throws Exception {
    PosixSlots slots = PosixSlots.open(directory);
    try (LocalSlots.Slot slot = slots.lock("a").orElseThrow()) {
      slot.write(new byte[9]);
      slot.write(new byte[] {1, 2});
      assertEquals(Optional.empty(), PosixSlots.open(directory).lock("a"));
    }
    try (LocalSlots.Slot slot = PosixSlots.open(directory).lock("a").orElseThrow()) {
      assertArrayEquals(new byte[] {1, 2}, slot.read());
      slot.write(new byte[0]);
      assertEquals(0, slot.read().length);
    }
  }

  @Test
  void anotherProcessFindsItLockedAlsoAfterThisOneTriedTwice() throws Exception {
    try (LocalSlots.Slot slot = PosixSlots.open(directory).lock("a").orElseThrow()) {
      slot.write(new byte[] {1});
      assertEquals(Optional.empty(), PosixSlots.open(directory).lock("a"));
      assertEquals("held", other());
    }
    assertEquals("free", other());
  }

  /** Whether another process finds the slot free. */
  private String other() throws Exception {
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-cp",
                System.getProperty("java.class.path"),
                Other.class.getName(),
                directory.toString())
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    String said = new String(process.getInputStream().readAllBytes(), "US-ASCII").strip();
    assertEquals(0, process.waitFor());
    return said;
  }

  /** That process. */
  static final class Other {
    private Other() {}

    @SuppressWarnings("SystemOut") // what its parent reads
    public static void main(String[] args) throws IOException {
      Optional<LocalSlots.Slot> slot = PosixSlots.open(Path.of(args[0])).lock("a");
      System.out.println(slot.isPresent() ? "free" : "held");
    }
  }

  @Test
  void aDirectoryThatOthersCanEnterIsRefused() throws Exception {
    Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwxr-x---"));
    var e = assertThrows(IOException.class, () -> PosixSlots.open(directory));
    assertTrue(e.toString().contains("alone (mode 0700)"), e::toString);
  }

  @Test
  void aLinkToADirectoryAndAnotherUsersDirectoryAreRefused() throws Exception {
    Path link = Files.createSymbolicLink(directory.resolve("link"), directory);
    assertThrows(IOException.class, () -> PosixSlots.open(link));
    assumeTrue("root".equals(System.getProperty("user.name")), "only root can give files away");
    Files.setAttribute(directory, "unix:uid", 65534);
    assertThrows(IOException.class, () -> PosixSlots.open(directory));
  }

  @Test
  void aDirectoryThatOutlivesTheKernelIsRefused(@TempDir Path disk) throws Exception {
    assumeFalse(Files.getFileStore(disk).type().equals("tmpfs"), "no disk here");
    Path mine = disk.resolve("slots");
    var e = assertThrows(IOException.class, () -> PosixSlots.open(mine));
    assertTrue(e.toString().contains("must be on tmpfs"), e::toString);
  }
}
