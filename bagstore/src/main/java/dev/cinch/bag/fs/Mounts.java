package dev.cinch.bag.fs;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;

/**
 * The types of mounted filesystems.
 *
 * <p>By device, and not by {@link java.nio.file.FileStore#type}, which goes by the directory and
 * gives the first mount there: where NFS is mounted over a local filesystem, that of the latter.
 */
final class Mounts {
  private static final Path TABLE = Path.of("/proc/self/mountinfo");

  /** In a line of proc(5): its device, and the field before the type. */
  private static final int DEVICE = 2;

  private static final String TYPE_FOLLOWS = "-";

  private Mounts() {}

  /** The type of the filesystem that a file stands on, which must be there; like {@code nfs4}. */
  static String type(Path file) throws IOException {
    return type(file, table());
  }

  /**
   * @param table lines of {@code /proc/self/mountinfo}
   */
  static String type(Path file, List<String> table) throws IOException {
    long number = ((Number) Files.getAttribute(file, "unix:dev")).longValue();
    String device = device(number);
    for (String line : table) {
      List<String> fields = List.of(line.split(" "));
      int type = fields.indexOf(TYPE_FOLLOWS) + 1;
      if (type > DEVICE && type < fields.size() && fields.get(DEVICE).equals(device)) {
        return fields.get(type);
      }
    }
    return Files.getFileStore(file).type(); // the table has no device of a btrfs subvolume
  }

  private static List<String> table() throws IOException {
    try {
      return Files.readAllLines(TABLE, StandardCharsets.ISO_8859_1);
    } catch (NoSuchFileException e) {
      return List.of(); // no Linux
    }
  }

  /** As the table has it; packed by the C library like gnu_dev_makedev(3). */
  private static String device(long number) {
    long major = ((number >>> 8) & 0xfff) | ((number >>> 32) & 0xffff_f000L);
    long minor = (number & 0xff) | ((number >>> 12) & 0xffff_ff00L);
    return major + ":" + minor;
  }
}
