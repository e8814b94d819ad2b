package dev.cinch.cli.doctor;

import dev.cinch.bag.fs.Mount;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** Judges how a filesystem is mounted. */
final class MountOptions {
  /** Of NFS; in seconds. */
  private static final List<String> CACHE_TIMES =
      List.of("acregmin", "acregmax", "acdirmin", "acdirmax", "actimeo");

  /** Where Cinch waits for every cache to expire it waits a second longer than this. */
  private static final long LONGEST_CACHE_SECONDS = 60;

  private static final Set<String> SMB = Set.of("cifs", "smb3");

  /** Others let this client believe what the server does not say any more. */
  private static final Set<String> SMB_CACHES = Set.of("strict", "none");

  /** A number in newer kernels. */
  private static final Set<String> NO_CACHE = Set.of("none", "0", "0x0");

  private static final Set<String> MEMORY = Set.of("tmpfs", "ramfs");

  private final Mount mount;
  private final Diagnosis diagnosis;

  MountOptions(Mount mount, Diagnosis diagnosis) {
    this.mount = mount;
    this.diagnosis = diagnosis;
  }

  void judge() throws IOException {
    if (mount.has("ro")) {
      diagnosis.fail("mounted read-only", "nothing can be appended or closed from here");
    }
    nfs();
    caches();
    power();
  }

  private void nfs() throws IOException {
    if (mount.has("soft") || mount.has("softerr")) {
      diagnosis.warn(
          "mounted soft",
          "a slow server shows as I/O errors, each of which costs a closed bucket; mount it hard");
    }
    if (mount.has("nocto")) {
      diagnosis.fail(
          "mounted nocto", "opening a file no longer shows what others wrote before: mount it cto");
    }
    if (mount.has("softreval")) {
      diagnosis.fail(
          "mounted softreval",
          "while the server is away old attributes are taken for new: mount it nosoftreval");
    }
    if (mount.isNfs() && mount.has("vers=3")) {
      diagnosis.warn(
          "NFS version 3", "its creates are exclusive only if client and server get it right");
    }
  }

  private void caches() throws IOException {
    if (mount.isNfs()) {
      for (String name : CACHE_TIMES) {
        Optional<String> value = mount.value(name);
        if (value.isPresent() && seconds(value.get()) > LONGEST_CACHE_SECONDS) {
          diagnosis.warn(
              "mounted %s=%s".formatted(name, value.get()),
              "Cinch waits 61 s for caches to expire, then calls damage what it still misses; mount it with 60 or less");
        }
      }
    }
    Optional<String> cache = mount.value("cache");
    if (cache.isEmpty()) {
      return;
    }
    if (SMB.contains(mount.type()) && !SMB_CACHES.contains(cache.get())) {
      diagnosis.fail(
          "mounted cache=" + cache.get(),
          "reads come from this machine's cache though others wrote: mount it cache=strict");
    }
    if (mount.type().equals("9p") && !NO_CACHE.contains(cache.get())) {
      diagnosis.fail(
          "mounted cache=" + cache.get(),
          "reads come from this machine's cache though others wrote: mount it cache=none");
    }
  }

  private static long seconds(String text) {
    try {
      return Long.parseLong(text);
    } catch (NumberFormatException e) {
      return 0; // of no kernel that we know
    }
  }

  /** What was forced, and is gone when the power comes back. */
  private void power() throws IOException {
    if (mount.has("nobarrier") || mount.has("barrier=0")) {
      unforced(mount.has("nobarrier") ? "nobarrier" : "barrier=0", "barriers");
    }
    if (mount.type().equals("f2fs") && mount.has("fsync_mode=nobarrier")) {
      unforced("fsync_mode=nobarrier", "fsync_mode=posix");
    }
    if (mount.type().equals("overlay")) {
      if (mount.has("volatile") || mount.has("fsync=volatile")) {
        unforced("volatile", "that option left out");
      }
      Optional<Path> upper = mount.value("upperdir").flatMap(MountOptions::here);
      if (upper.isPresent() && MEMORY.contains(Mount.of(upper.get()).type())) {
        memory("overlay in memory");
      }
    }
    if (MEMORY.contains(mount.type())) {
      memory(mount.type());
    }
  }

  private void unforced(String option, String instead) throws IOException {
    diagnosis.fail(
        "mounted " + option,
        "nothing that is forced survives a power cut: mount it with " + instead);
  }

  private void memory(String what) throws IOException {
    diagnosis.warn(what, "a reboot loses everything, whatever was forced");
  }

  /** What an overlay writes to, if that directory is seen here (not in a container). */
  private static Optional<Path> here(String directory) {
    try {
      return Optional.of(Path.of(directory)).filter(Files::isDirectory);
    } catch (InvalidPathException e) {
      return Optional.empty(); // this process's locale has no such names
    }
  }
}
