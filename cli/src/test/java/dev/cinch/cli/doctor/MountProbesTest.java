package dev.cinch.cli.doctor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.cinch.bag.fs.Mount;
import dev.cinch.bag.fs.PosixFs;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.bag.model.StoreSettings.Confirm;
import dev.cinch.lease.Altered;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class MountProbesTest {
  private static final StoreSettings LATE = late(StoreSettings.DEFAULT);

  private static StoreSettings late(StoreSettings s) {
    return Altered.with(s, "confirm", Confirm.LATE);
  }

  private static Diagnosed judged(
      String type, String options, boolean local, StoreSettings settings) throws Exception {
    var diagnosed = new Diagnosed();
    new MountProbes(settings, diagnosed.diagnosis)
        .judge(new Mount(type, "source", List.of(options.split(","))), local);
    return diagnosed;
  }

  private static Diagnosed judged(String type, String options, boolean local) throws Exception {
    return judged(type, options, local, StoreSettings.DEFAULT);
  }

  @ParameterizedTest
  @ValueSource(strings = {"nfs4", "ceph", "beegfs", "gpfs", "orangefs", "vboxsf", "cifs", "9p"})
  void machinesCanShareIt(String type) throws Exception {
    judged(type, "rw", false).has("ok   mount " + type, "machines can share it");
  }

  @Test
  void whatIsNotSharedOrNotKnownIsSaidToBeSo() throws Exception {
    judged("ext4", "rw", true).has("warn mount ", "only processes of this machine");
    judged("overlay", "rw", false).has("warn mount ", "only processes of this machine");
    judged("newfs", "rw", false).has("warn mount ", "does not know");
  }

  @ParameterizedTest
  @ValueSource(strings = {"fuse", "fuse.glusterfs", "fuse.juicefs", "virtiofs"})
  void fuseRemembersAttributesForNobodyKnowsHowLong(String type) throws Exception {
    Diagnosed judged = judged(type, "rw", false);
    judged.has("warn mount ", "attribute-timeout (attr_timeout) of at most 1 s");
    judged.hasNone("ok ");
  }

  @Test
  void sshfsHasCachesOfItsOwn() throws Exception {
    judged("fuse.sshfs", "rw", false).has("FAIL mount ", "20 s");
  }

  @ParameterizedTest
  @ValueSource(strings = {"fuse.glusterfs", "fuse.anything", "ceph", "glusterfs"})
  void confirmLateFailsWhereChangeTimesMayBeTheClients(String type) throws Exception {
    judged(type, "rw", false, LATE).has("FAIL confirm: late on " + type, "--confirm always");
    judged(type, "rw", false).hasNone("FAIL");
  }

  @Test
  void confirmLateElsewhere() throws Exception {
    judged("lustre", "rw", false, LATE).has("warn confirm: late on lustre", "server alone");
    judged("newfs", "rw", false, LATE).has("warn confirm: late on newfs", "server alone");
    for (String type : List.of("nfs", "nfs4", "overlay")) {
      assertFalse(judged(type, "rw", false, LATE).lines().toString().contains("confirm"));
    }
    assertFalse(judged("ext4", "rw", true, LATE).lines().toString().contains("confirm"));
  }

  @ParameterizedTest
  @CsvSource({
    "cifs,cache=loose",
    "smb3,cache=singleclient",
    "9p,cache=loose",
    "9p,cache=f",
    "nfs4,softreval",
    "nfs4,nocto",
    "overlay,volatile",
    "ext4,nobarrier",
    "ext4,barrier=0",
    "xfs,nobarrier",
    "f2fs,fsync_mode=nobarrier",
    "nfs4,ro"
  })
  void optionsThatLoseMessagesFail(String type, String option) throws Exception {
    Diagnosed judged = judged(type, "rw," + option, false);
    judged.has("FAIL mounted", option.equals("ro") ? "read-only" : option);
    assertTrue(judged.diagnosis.failed());
  }

  @ParameterizedTest
  @CsvSource({
    "nfs4,noac",
    "nfs4,lookupcache=none",
    "nfs,nolock",
    "nfs4,nosharecache",
    "nfs4,acregmax=60",
    "nfs4,cache=loose",
    "cifs,cache=strict",
    "cifs,cache=none",
    "9p,cache=none",
    "9p,cache=0",
    "ext4,barrier=1",
    "ext4,volatile",
    "ext4,fsync_mode=nobarrier"
  })
  void otherOptionsAreNotJudged(String type, String option) throws Exception {
    judged(type, "rw," + option, false).lines().stream()
        .skip(1) // the mount itself
        .forEach(line -> assertFalse(line.contains("mounted"), line));
  }

  @ParameterizedTest
  @ValueSource(strings = {"acregmax", "acdirmax", "actimeo", "acdirmin"})
  void cachesThatLiveLongerThanCinchWaits(String name) throws Exception {
    judged("nfs4", "rw,%s=61".formatted(name), false).has("warn mounted " + name, "61 s");
  }

  @Test
  void whatIsInMemoryEndsWithTheMachine() throws Exception {
    judged("tmpfs", "rw", true).has("warn tmpfs", "reboot");
    judged("ramfs", "rw", false).has("warn ramfs", "reboot");
    Path memory = Path.of("/dev/shm");
    assumeTrue(Files.isDirectory(memory) && Mount.of(memory).type().equals("tmpfs"));
    for (Path upper : List.of(memory, Path.of("/proc"))) {
      var overlay = new Mount("overlay", "o", List.of("rw", "upperdir=" + upper));
      var diagnosed = new Diagnosed();
      new MountOptions(overlay, diagnosed.diagnosis).judge();
      assertEquals(upper.equals(memory) ? 1 : 0, diagnosed.lines().size());
    }
  }

  @Test
  void whatIsNotThereIsOneLine(@TempDir Path temp) throws Exception {
    Path none = temp.resolve("none");
    var diagnosed = new Diagnosed();
    new MountProbes(StoreSettings.DEFAULT, diagnosed.diagnosis).run(none, new PosixFs(null, null));
    diagnosed.has("FAIL mount of " + none + ": ", "look yourself");
  }
}
