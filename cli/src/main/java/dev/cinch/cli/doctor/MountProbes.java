package dev.cinch.cli.doctor;

import dev.cinch.bag.fs.Mount;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.bag.model.StoreSettings.Confirm;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;

/** Judges what is mounted where a directory stands. */
final class MountProbes {
  /** Besides NFS and FUSE. */
  private static final Set<String> SHARED =
      Set.of(
          "9p",
          "afs",
          "beegfs",
          "ceph",
          "cifs",
          "gfs2",
          "glusterfs",
          "gpfs",
          "lustre",
          "ocfs2",
          "orangefs",
          "smb3",
          "vboxsf");

  /** Besides those that the store itself takes for filesystems of one kernel. */
  private static final Set<String> OF_ONE_MACHINE =
      Set.of("bcachefs", "exfat", "f2fs", "jfs", "nilfs2", "overlay", "ramfs", "reiserfs", "vfat");

  private final StoreSettings settings;
  private final Diagnosis diagnosis;
  private boolean oneMachine;

  /**
   * @param settings the store's, or those that it would get
   */
  MountProbes(StoreSettings settings, Diagnosis diagnosis) {
    this.settings = settings;
    this.diagnosis = diagnosis;
  }

  /** Judges the mount that a directory lies on; whatever can't be had is one line. */
  void run(Path directory, StoreFs fs) throws IOException {
    diagnosis.look(
        "mount of " + directory,
        "how it is mounted was not judged; look yourself",
        () -> judge(Mount.of(directory), fs.isLocal(directory)));
  }

  /** Whether it is known that no other machine can see the directory; false before it was run. */
  boolean ofOneMachine() {
    return oneMachine;
  }

  /**
   * Judges one mount.
   *
   * @param local whether the store takes it for a filesystem of one kernel
   */
  void judge(Mount mount, boolean local) throws IOException {
    oneMachine = local || OF_ONE_MACHINE.contains(mount.type());
    sharing(mount);
    confirmation(mount);
    new MountOptions(mount, diagnosis).judge();
  }

  private void sharing(Mount mount) throws IOException {
    String what = "mount " + mount;
    if (mount.type().equals("fuse.sshfs")) {
      diagnosis.fail(
          what,
          "sshfs answers from caches of its own for 20 s: what others wrote is missed; use NFS");
    } else if (mount.isFuse()) {
      diagnosis.warn(
          what,
          "mount it with an attribute-timeout (attr_timeout) of at most 1 s on every machine; the table of mounts does not show it");
    } else if (mount.isNfs() || SHARED.contains(mount.type())) {
      diagnosis.ok(what, "machines can share it");
    } else if (oneMachine) {
      diagnosis.warn(what, "only processes of this machine share it");
    } else {
      diagnosis.warn(
          what, "a filesystem that Cinch does not know: ask whether machines can share it");
    }
  }

  /** Section 5: {@code confirm: late} goes by change times that the server assigned. */
  private void confirmation(Mount mount) throws IOException {
    if (settings.confirm() != Confirm.LATE || oneMachine || mount.isNfs()) {
      return;
    }
    String what = "confirm: late on " + mount.type();
    if (mount.type().startsWith("fuse") || List.of("ceph", "glusterfs").contains(mount.type())) {
      diagnosis.fail(
          what,
          "change times may be the client's: a late append is told COMMITTED and lost; make a store with --confirm always");
    } else {
      diagnosis.warn(
          what, "safe only if the server alone assigns change times; else --confirm always");
    }
  }
}
