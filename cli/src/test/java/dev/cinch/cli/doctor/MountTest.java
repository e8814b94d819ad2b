package dev.cinch.cli.doctor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Lines of mountinfo as kernels write them. */
class MountTest {
  private static Mount parsed(String line) {
    return Mount.parse(line).orElseThrow();
  }

  @Test
  void aLineIsTakenApart() {
    Mount mount =
        parsed(
            "40 22 0:35 / /mnt/my\\040share rw,noatime shared:2 master:1 - nfs4 srv:/x rw,vers=4.2,soft");
    assertEquals("0:35", mount.device());
    assertEquals("/mnt/my share", mount.point());
    assertEquals("srv:/x", mount.source());
    assertTrue(mount.has("noatime") && mount.has("soft") && !mount.has("vers"));
    assertEquals(Optional.of("4.2"), mount.value("vers"));
    assertEquals(Optional.empty(), mount.value("ver"));
    assertTrue(mount.holds("/mnt/my share") && mount.holds("/mnt/my share/a"));
    assertFalse(mount.holds("/mnt/my shared"));
    assertTrue(Mount.parse("not a mount").isEmpty());
  }

  @Test
  void whatMachinesShareIsKnownByItsType() {
    String line = "22 1 8:1 / / rw - %s source rw";
    for (String type :
        new String[] {"nfs", "nfs4", "fuse.glusterfs", "virtiofs", "beegfs", "gpfs", "orangefs"}) {
      assertTrue(parsed(line.formatted(type)).isShared(), type);
    }
    assertTrue(parsed(line.formatted("vboxsf")).isShared());
    assertFalse(parsed(line.formatted("ext4")).isShared());
    assertFalse(parsed(line.formatted("overlay")).isShared());
  }

  @Test
  void namesAreShownAsUtf8() {
    assertTrue(parsed("22 1 8:1 / /\\303\\244 rw - ext4 x rw").toString().startsWith("/ä: ext4"));
  }
}
