package dev.cinch.bag.fs;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A mounted filesystem, as {@code /proc/self/mountinfo} has it (proc(5)). Names are bytes there;
 * each byte is a character here (ISO 8859-1).
 *
 * <p>Found by device, and not by {@link FileStore#type}, which goes by the directory and gives the
 * first mount there: where NFS is mounted over a local filesystem, that of the latter.
 *
 * @param type like {@code nfs4}
 * @param source what is mounted
 * @param options of the filesystem; those of one of its mount points are not among them
 */
public record Mount(String type, String source, List<String> options) {
  private static final Path TABLE = Path.of("/proc/self/mountinfo");
  private static final int DEVICE = 2;
  private static final int OCTAL = 8;

  /**
   * The one that a file or directory stands on.
   *
   * @throws IOException if it is not there, or can't be looked at
   */
  public static Mount of(Path file) throws IOException {
    return of(file, table());
  }

  /**
   * How many bytes this user may still write to the filesystem of a file or directory.
   *
   * @throws IOException if it is not there, or can't be looked at
   * @throws UnsupportedOperationException where the filesystem does not say
   */
  public static long free(Path file) throws IOException {
    return Files.getFileStore(file).getUsableSpace();
  }

  /**
   * @param table lines of {@code /proc/self/mountinfo}
   */
  static Mount of(Path file, List<String> table) throws IOException {
    String device = device(((Number) Files.getAttribute(file, "unix:dev")).longValue());
    for (String line : table) {
      List<String> fields = List.of(line.split(" "));
      int type = fields.indexOf("-") + 1; // it ends the optional fields
      if (type > DEVICE && type < fields.size() && fields.get(DEVICE).equals(device)) {
        List<String> rest = fields.subList(type + 1, fields.size());
        return new Mount(
            fields.get(type),
            rest.isEmpty() ? "" : unescaped(rest.get(0)),
            rest.size() < 2
                ? List.of()
                : List.of(rest.get(1).split(",")).stream().map(Mount::unescaped).toList());
      }
    }
    FileStore store = Files.getFileStore(file); // the table has no device of a btrfs subvolume
    return new Mount(store.type(), store.name(), List.of());
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

  /** Spaces and the like stand as three octal digits. */
  private static String unescaped(String text) {
    return text.indexOf('\\') < 0 // as nearly always: an append need not load patterns
        ? text
        : Pattern.compile("\\\\([0-3][0-7]{2})")
            .matcher(text)
            .replaceAll(
                m -> Matcher.quoteReplacement("" + (char) Integer.parseInt(m.group(1), OCTAL)));
  }

  public boolean isNfs() {
    return type.equals("nfs") || type.equals("nfs4");
  }

  /** Whether the kernel's FUSE client is in between, which remembers attributes for a while. */
  public boolean isFuse() {
    return type.startsWith("fuse") || type.equals("virtiofs");
  }

  public boolean has(String option) {
    return options.contains(option);
  }

  /** What stands behind {@code name=}; empty if it is not among the options. */
  public Optional<String> value(String name) {
    String start = name + "=";
    return options.stream()
        .filter(o -> o.startsWith(start))
        .map(o -> o.substring(start.length()))
        .findFirst();
  }

  /** For people: names are UTF-8, most of the time. */
  @Override
  public String toString() {
    String line = "%s from %s (%s)".formatted(type, source, String.join(",", options));
    return new String(line.getBytes(StandardCharsets.ISO_8859_1), StandardCharsets.UTF_8);
  }
}
