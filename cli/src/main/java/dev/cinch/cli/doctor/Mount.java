package dev.cinch.cli.doctor;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * One line of {@code /proc/self/mountinfo} (proc(5)). Names are bytes there; each byte is a
 * character here (ISO 8859-1).
 *
 * @param device of the filesystem, like {@code 8:1}
 * @param point where it is mounted
 * @param type of the filesystem, like {@code nfs4}
 * @param source what is mounted
 * @param options of the mount and of the filesystem
 */
public record Mount(String device, String point, String type, String source, List<String> options) {
  private static final int DEVICE = 2;
  private static final int POINT = 4;
  private static final int OPTIONS = 5;
  private static final int OCTAL = 8;
  private static final Pattern ESCAPE = Pattern.compile("\\\\([0-3][0-7]{2})");

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
          "vboxsf",
          "virtiofs");

  /** Besides those that the store itself takes for filesystems of one kernel. */
  private static final Set<String> OF_ONE_MACHINE =
      Set.of("bcachefs", "exfat", "f2fs", "jfs", "nilfs2", "overlay", "ramfs", "reiserfs", "vfat");

  /** Empty for a line of another shape. */
  static Optional<Mount> parse(String line) {
    List<String> fields = List.of(line.split(" "));
    int dash = fields.indexOf("-"); // ends the optional fields
    if (dash <= OPTIONS || fields.size() < dash + 3) {
      return Optional.empty();
    }
    var options = new ArrayList<>(List.of(fields.get(OPTIONS).split(",")));
    if (fields.size() > dash + 3) {
      options.addAll(List.of(fields.get(dash + 3).split(",")));
    }
    return Optional.of(
        new Mount(
            fields.get(DEVICE),
            unescaped(fields.get(POINT)),
            fields.get(dash + 1),
            unescaped(fields.get(dash + 2)),
            options.stream().map(Mount::unescaped).toList()));
  }

  /** Spaces and the like stand as three octal digits. */
  private static String unescaped(String text) {
    return ESCAPE
        .matcher(text)
        .replaceAll(m -> Matcher.quoteReplacement("" + (char) Integer.parseInt(m.group(1), OCTAL)));
  }

  /** Whether a path, spelled as the table spells them, lies at or below the mount point. */
  boolean holds(String path) {
    return point.equals("/") || path.equals(point) || path.startsWith(point + "/");
  }

  /** Whether it is a filesystem that other machines can see. */
  boolean isShared() {
    return isNfs() || isFuse() || SHARED.contains(type);
  }

  /** Whether it is one that only this machine sees, as far as the type alone tells. */
  boolean isOfOneMachine() {
    return OF_ONE_MACHINE.contains(type);
  }

  boolean isNfs() {
    return type.equals("nfs") || type.equals("nfs4");
  }

  /** Whether the kernel's FUSE client is in between, which remembers attributes for a while. */
  boolean isFuse() {
    return type.startsWith("fuse") || type.equals("virtiofs");
  }

  boolean isSmb() {
    return type.equals("cifs") || type.equals("smb3");
  }

  boolean has(String option) {
    return options.contains(option);
  }

  /** What stands behind {@code name=}; empty if it is not among the options. */
  Optional<String> value(String name) {
    String start = name + "=";
    return options.stream()
        .filter(o -> o.startsWith(start))
        .map(o -> o.substring(start.length()))
        .findFirst();
  }

  /** For people: names are UTF-8, most of the time. */
  @Override
  public String toString() {
    String line = "%s: %s from %s (%s)".formatted(point, type, source, String.join(",", options));
    return new String(line.getBytes(StandardCharsets.ISO_8859_1), StandardCharsets.UTF_8);
  }
}
