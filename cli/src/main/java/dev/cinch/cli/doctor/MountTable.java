package dev.cinch.cli.doctor;

import java.io.IOException;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;

/**
 * The kernel's table of mounts. Paths in it are bytes, each of which is a character here (ISO
 * 8859-1): one mount point that is no UTF-8 must not hide the others.
 *
 * @param lines of {@code /proc/self/mountinfo}
 */
public record MountTable(List<String> lines) {
  /** That of this process. */
  static final Path FILE = Path.of("/proc/self/mountinfo");

  /** Empty where there is no such file, as on other systems than Linux. */
  static MountTable read(Path file) throws IOException {
    try {
      return new MountTable(Files.readAllLines(file, StandardCharsets.ISO_8859_1));
    } catch (NoSuchFileException e) {
      return new MountTable(List.of());
    }
  }

  /**
   * The mount that a file or directory lies on, which must be there.
   *
   * @throws IOException if it can't be looked at
   */
  public Optional<Mount> of(Path file) throws IOException {
    Path real = file.toRealPath();
    return of(bytes(real), device(number(real)));
  }

  /**
   * The last one of the longest mount point among those of the device: others there are hidden
   * below it, or above it where the path was entered before they were mounted. Where none has the
   * device (the table has no subvolume of btrfs) the path alone decides.
   *
   * @param path real, spelled as the table spells them
   * @param device like {@code 8:1}
   */
  public Optional<Mount> of(String path, String device) {
    Optional<Mount> mount = deepest(path, m -> m.device().equals(device));
    return mount.isPresent() ? mount : deepest(path, m -> true);
  }

  /** The one that a path lies on which need not be there. */
  Optional<Mount> at(String path) {
    return deepest(path, m -> true);
  }

  private Optional<Mount> deepest(String path, Predicate<Mount> wanted) {
    Optional<Mount> best = Optional.empty();
    for (String line : lines) {
      Optional<Mount> mount = Mount.parse(line).filter(m -> m.holds(path)).filter(wanted);
      int length = best.map(b -> b.point().length()).orElse(-1);
      if (mount.isPresent() && mount.get().point().length() >= length) {
        best = mount;
      }
    }
    return best;
  }

  /** Through the URI: it has the bytes of a name, which a string may have lost. */
  private static String bytes(Path path) {
    String escaped = path.toUri().getRawPath().replace("+", "%2B"); // or it became a space
    String text = URLDecoder.decode(escaped, StandardCharsets.ISO_8859_1);
    return text.length() > 1 && text.endsWith("/") ? text.substring(0, text.length() - 1) : text;
  }

  /** The number of the device that a file stands on; links are followed. */
  static long number(Path file) throws IOException {
    return ((Number) Files.getAttribute(file, "unix:dev")).longValue();
  }

  /** As the table has it; packed by the C library like gnu_dev_makedev(3). */
  private static String device(long number) {
    long major = ((number >>> 8) & 0xfff) | ((number >>> 32) & 0xffff_f000L);
    long minor = (number & 0xff) | ((number >>> 12) & 0xffff_ff00L);
    return major + ":" + minor;
  }
}
