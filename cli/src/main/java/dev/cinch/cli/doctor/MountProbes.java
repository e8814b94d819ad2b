package dev.cinch.cli.doctor;

import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.bag.model.StoreSettings.Confirm;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;

/** What the mount table says about a directory. */
final class MountProbes {
  /**
   * The longest that a FUSE client may remember attributes, in seconds: who looks again because of
   * them waits for so long (rule N6).
   */
  private static final double LONGEST_ATTRIBUTE_TIMEOUT = 1;

  private final Path table;
  private final CommandLines processes;
  private final StoreSettings settings;
  private final Diagnosis diagnosis;
  private boolean oneMachine;

  /** The command lines of running processes, which say how FUSE filesystems were mounted. */
  @FunctionalInterface
  interface CommandLines {
    List<List<String>> all() throws IOException;
  }

  /**
   * @param table the kernel's
   * @param settings the store's, or those that it would get
   */
  MountProbes(Path table, CommandLines processes, StoreSettings settings, Diagnosis diagnosis) {
    this.table = table;
    this.processes = processes;
    this.settings = settings;
    this.diagnosis = diagnosis;
  }

  /** Judges the mount that a directory lies on; whatever can't be had is one line. */
  void run(Path directory, StoreFs fs) throws IOException {
    diagnosis.look(
        "mount of " + directory,
        "how it is mounted was not judged; look yourself",
        () -> look(directory, fs));
  }

  private void look(Path directory, StoreFs fs) throws IOException {
    oneMachine = fs.isLocal(directory);
    MountTable mounts = MountTable.read(table);
    Optional<Mount> found = mounts.of(directory);
    if (found.isPresent()) {
      judge(found.get(), mounts, oneMachine);
    } else {
      diagnosis.warn(
          "mount of " + directory + " unknown",
          "it is not in " + table + "; look yourself how it is mounted");
    }
  }

  /** Whether it is known that no other machine can see the directory; false before it was run. */
  boolean ofOneMachine() {
    return oneMachine;
  }

  /**
   * Judges one mount.
   *
   * @param mounts where it stands, among the others
   * @param local whether the store takes it for a filesystem of one kernel
   */
  void judge(Mount mount, MountTable mounts, boolean local) throws IOException {
    oneMachine = local || mount.isOfOneMachine();
    sharing(mount);
    confirmation(mount);
    new MountOptions(mounts, mount, diagnosis).judge();
  }

  private void sharing(Mount mount) throws IOException {
    String what = "mount " + mount;
    if (mount.type().equals("fuse.sshfs")) {
      diagnosis.fail(
          what,
          "sshfs answers from caches of its own for 20 s: what others wrote is missed; use NFS");
    } else if (mount.isFuse()) {
      fuse(mount, what);
    } else if (mount.isShared()) {
      diagnosis.ok(what, "machines can share it");
    } else if (oneMachine) {
      diagnosis.warn(what, "only processes of this machine share it");
    } else {
      diagnosis.warn(
          what, "a filesystem that Cinch does not know: ask whether machines can share it");
    }
  }

  private void fuse(Mount mount, String what) throws IOException {
    OptionalDouble seconds =
        mount.type().equals("fuse.glusterfs")
            ? GlusterClient.attributeTimeout(mount.point(), processes.all())
            : OptionalDouble.empty();
    if (seconds.isEmpty()) {
      diagnosis.warn(
          what,
          "mount it with an attribute-timeout (attr_timeout) of at most 1 s on every machine; the table of mounts does not show it");
    } else if (seconds.getAsDouble() > LONGEST_ATTRIBUTE_TIMEOUT) {
      diagnosis.fail(
          what,
          "attribute-timeout is %s s, so that a closed bucket looks open for as long: mount it with 1 s or less"
              .formatted(seconds.getAsDouble()));
    } else {
      diagnosis.ok(
          what,
          "machines can share it; attribute-timeout is %s s".formatted(seconds.getAsDouble()));
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
