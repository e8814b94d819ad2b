package dev.cinch.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;

/** Lines of mountinfo as kernels write them. */
class MountTest {
  private static final List<String> LINES =
      List.of(
          "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro",
          "40 22 0:35 / /mnt/my\\040share rw,noatime shared:2 master:1 - nfs4 srv:/x rw,vers=4.2,soft",
          "41 40 0:36 / /mnt/my\\040share/deep rw - tmpfs tmpfs rw",
          "42 22 0:37 / /mnt/mine rw - xfs /dev/sdb rw",
          "43 22 0:38 / /mnt/mine ro - nfs srv:/y ro,vers=3",
          "not a mount");

  @Test
  void theLongestMountPointWinsAndTheLastOfThose() {
    assertEquals("ext4", Mount.of("/mnt/minefield", LINES).orElseThrow().type());
    assertEquals("nfs4", Mount.of("/mnt/my share", LINES).orElseThrow().type());
    assertEquals("nfs4", Mount.of("/mnt/my share/a/b", LINES).orElseThrow().type());
    assertEquals("tmpfs", Mount.of("/mnt/my share/deep/b", LINES).orElseThrow().type());
    Mount over = Mount.of("/mnt/mine/a", LINES).orElseThrow();
    assertEquals("nfs", over.type());
    assertTrue(over.has("ro") && over.has("vers=3") && over.isShared());
    assertEquals("srv:/y", over.source());
    assertFalse(Mount.of("/a", LINES).orElseThrow().isShared());
    assertTrue(Mount.of("/a", List.of()).isEmpty());
  }
}
