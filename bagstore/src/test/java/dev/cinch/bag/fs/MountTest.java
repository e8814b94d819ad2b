package dev.cinch.bag.fs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class MountTest {
  private static final Path TABLE = Path.of("/proc/self/mountinfo");
  private static final Path PROC = Path.of("/proc/self/status");

  /** In the table, of one device. */
  private static final String KERNEL = " /proc ";

  /** The table with other words for what is mounted at /proc. */
  private static List<String> table(String instead) throws Exception {
    var table = new ArrayList<String>(List.of("1 0 8:1 / /proc rw - ext4 /dev/sda1 rw"));
    for (String line : Files.readAllLines(TABLE, StandardCharsets.ISO_8859_1)) {
      if (line.contains(KERNEL)) {
        table.add(line.substring(0, line.indexOf(" - ")) + instead);
      }
    }
    assumeTrue(table.size() > 1, "/proc is in the table");
    return table;
  }

  @Test
  void theTypeIsThatOfTheMountedFilesystem(@TempDir Path directory) throws Exception {
    assertEquals("proc", Mount.of(PROC).type());
    assertEquals(Files.getFileStore(directory).type(), Mount.of(directory).type());
  }

  /** Java takes the first one at that directory. */
  @Test
  void whatIsMountedOverAnotherFilesystemCounts() throws Exception {
    Mount mount = Mount.of(PROC, table(" master:7 - nfs4 srv:/my\\040\\303\\244 rw,vers=4.2,soft"));
    assertEquals("nfs4 from srv:/my ä (rw,vers=4.2,soft)", mount.toString());
    assertTrue(mount.has("soft") && !mount.has("vers"));
    assertEquals(Optional.of("4.2"), mount.value("vers"));
    assertEquals(Optional.empty(), mount.value("ver"));
  }

  @Test
  void aLineMayEndWithTheType() throws Exception {
    Mount mount = Mount.of(PROC, table(" - newfs"));
    assertEquals("newfs from  ()", mount.toString());
    assertFalse(mount.has("rw"));
  }

  /** As for a subvolume of btrfs. */
  @Test
  void whereTheTableHasNoSuchDeviceJavaIsAsked(@TempDir Path directory) throws Exception {
    List<String> other = List.of("1 0 4095:1048575 / / rw - nfs4 server:/x rw", "", "- -");
    assertEquals(Files.getFileStore(directory).type(), Mount.of(directory, other).type());
  }
}
