package dev.cinch.cli;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/** What the mount table says about a directory. */
final class MountProbes {
  private static final Path TABLE = Path.of("/proc/self/mountinfo");

  private final Path directory;
  private final Diagnosis diagnosis;

  MountProbes(Path directory, Diagnosis diagnosis) {
    this.directory = directory;
    this.diagnosis = diagnosis;
  }

  void run() throws IOException {
    if (!Files.isReadable(TABLE)) {
      diagnosis.warn("mount unknown", "this system has no " + TABLE);
      return;
    }
    Optional<Mount> found = Mount.of(directory.toRealPath().toString(), Files.readAllLines(TABLE));
    if (found.isEmpty()) {
      diagnosis.warn("mount unknown", "it is not in " + TABLE);
      return;
    }
    judge(found.get());
  }

  private void judge(Mount mount) throws IOException {
    String what =
        "mount %s: %s from %s (%s)"
            .formatted(
                mount.point(), mount.type(), mount.source(), String.join(",", mount.options()));
    if (mount.isShared()) {
      diagnosis.ok(what, "machines can share it");
    } else {
      diagnosis.warn(what, "only processes of this machine share it");
    }
    if (mount.has("ro")) {
      diagnosis.fail("mounted read-only", "nothing can be appended or closed from here");
    }
    if (mount.has("soft") || mount.has("softerr")) {
      diagnosis.warn(
          "mounted soft",
          "a slow server shows as I/O errors, each of which costs a closed bucket; mount it hard");
    }
    if (mount.has("nocto")) {
      diagnosis.fail(
          "mounted nocto", "opening a file no longer shows what others wrote before: mount it cto");
    }
    if (mount.type().equals("nfs") && mount.has("vers=3")) {
      diagnosis.warn(
          "NFS version 3", "its creates are exclusive only if client and server get it right");
    }
    if (mount.type().equals("tmpfs")) {
      diagnosis.warn("tmpfs", "a reboot loses everything, whatever was forced");
    }
  }
}
