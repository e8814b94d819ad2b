package dev.cinch.cli.doctor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class MountTableTest {
  private static final MountTable TABLE =
      new MountTable(
          List.of(
              "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw",
              "40 22 0:35 / /mnt/share rw - nfs4 srv:/x rw,vers=4.2",
              "41 40 0:36 / /mnt/share/deep rw - tmpfs tmpfs rw",
              "42 22 0:37 / /mnt/mine rw - xfs /dev/sdb rw",
              "43 22 0:38 / /mnt/mine ro - nfs srv:/y ro,vers=3",
              "not a mount"));

  private static String type(String path, String device) {
    return TABLE.of(path, device).orElseThrow().type();
  }

  @Test
  void theLongestMountPointWinsAndTheLastOfThose() {
    assertEquals("ext4", TABLE.at("/mnt/minefield").orElseThrow().type());
    assertEquals("nfs4", TABLE.at("/mnt/share/a/b").orElseThrow().type());
    assertEquals("tmpfs", TABLE.at("/mnt/share/deep/b").orElseThrow().type());
    assertEquals("nfs", TABLE.at("/mnt/mine/a").orElseThrow().type());
    assertTrue(new MountTable(List.of()).at("/a").isEmpty());
  }

  /** What was entered before another one was mounted over it is still what it was. */
  @Test
  void theDeviceDecidesBetweenThem() {
    assertEquals("xfs", type("/mnt/mine/a", "0:37"));
    assertEquals("nfs", type("/mnt/mine/a", "0:38"));
    assertEquals("nfs4", type("/mnt/share/deep/b", "0:35"));
    assertEquals("nfs", type("/mnt/mine/a", "0:99")); // as a subvolume of btrfs
  }

  @Test
  void thatOfTheKernelHasThisDirectory(@TempDir Path temp) throws Exception {
    MountTable table = MountTable.read(MountTable.FILE);
    if (!table.lines().isEmpty()) {
      assertEquals("proc", table.of(Path.of("/proc/self")).orElseThrow().type());
      assertTrue(table.of(temp).isPresent());
    }
    assertTrue(MountTable.read(temp.resolve("none")).lines().isEmpty());
  }

  @Test
  void aMountPointThatIsNoUtf8IsOneLikeAnother(@TempDir Path temp) throws Exception {
    Path directory = Files.createDirectory(temp.resolve("a+b ä"));
    String real =
        new String(directory.toRealPath().toString().getBytes(), StandardCharsets.ISO_8859_1);
    Path file = temp.resolve("table");
    Files.writeString(
        file,
        "22 1 9:9 / /mnt/\u00e9 rw - ext4 x rw\n23 1 9:9 / %s rw - nfs4 srv:/x rw\n"
            .formatted(real.replace(" ", "\\040")),
        StandardCharsets.ISO_8859_1);
    assertEquals("nfs4", MountTable.read(file).of(directory).orElseThrow().type());
  }
}
