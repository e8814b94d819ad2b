package dev.cinch.bag.fs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class MountsTest {
  private static final Path TABLE = Path.of("/proc/self/mountinfo");

  /** In the table, of one device. */
  private static final String KERNEL = " /proc ";

  private static List<String> table() throws Exception {
    return Files.readAllLines(TABLE, StandardCharsets.ISO_8859_1);
  }

  @Test
  void theTypeIsThatOfTheMountedFilesystem(@TempDir Path directory) throws Exception {
    assertEquals("proc", Mounts.type(Path.of("/proc/self/status")));
    assertEquals(Files.getFileStore(directory).type(), Mounts.type(directory));
  }

  /** Java takes the first one at that directory. */
  @Test
  void whatIsMountedOverAnotherFilesystemCounts() throws Exception {
    var table = new ArrayList<String>(List.of("1 0 8:1 / /proc rw - ext4 /dev/sda1 rw"));
    for (String line : table()) {
      if (line.contains(KERNEL)) {
        table.add(line.replace(" - proc ", " master:7 - nfs4 "));
      }
    }
    assumeTrue(table.size() > 1, "/proc is in the table");
    assertEquals("nfs4", Mounts.type(Path.of("/proc/self/status"), table));
  }

  /** As for a subvolume of btrfs. */
  @Test
  void whereTheTableHasNoSuchDeviceJavaIsAsked(@TempDir Path directory) throws Exception {
    List<String> other = List.of("1 0 4095:1048575 / / rw - nfs4 server:/x rw", "", "- -");
    assertEquals(Files.getFileStore(directory).type(), Mounts.type(directory, other));
  }
}
