package dev.cinch.cli;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * One line of {@code /proc/self/mountinfo} (proc(5)).
 *
 * @param point where it is mounted
 * @param type of the filesystem, like {@code nfs4}
 * @param source what is mounted
 * @param options of the mount and of the filesystem
 */
record Mount(String point, String type, String source, List<String> options) {
  private static final int POINT = 4;
  private static final int OPTIONS = 5;
  private static final int OCTAL = 8;
  private static final Pattern ESCAPE = Pattern.compile("\\\\([0-3][0-7]{2})");

  /** The mount that a real path lies on: the last one of the longest mount point. */
  static Optional<Mount> of(String realPath, List<String> lines) {
    Optional<Mount> best = Optional.empty();
    for (String line : lines) {
      Optional<Mount> mount = parse(line);
      if (mount.isPresent() && holds(mount.get().point(), realPath)) {
        int length = best.map(b -> b.point().length()).orElse(-1);
        if (mount.get().point().length() >= length) {
          best = mount;
        }
      }
    }
    return best;
  }

  private static boolean holds(String point, String path) {
    return point.equals("/") || path.equals(point) || path.startsWith(point + "/");
  }

  private static Optional<Mount> parse(String line) {
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
            unescaped(fields.get(POINT)),
            fields.get(dash + 1),
            unescaped(fields.get(dash + 2)),
            List.copyOf(options)));
  }

  /** Spaces and the like stand as three octal digits. */
  private static String unescaped(String text) {
    return ESCAPE
        .matcher(text)
        .replaceAll(m -> Matcher.quoteReplacement("" + (char) Integer.parseInt(m.group(1), OCTAL)));
  }

  /** Whether other machines can see it. */
  boolean isShared() {
    return type.startsWith("nfs")
        || type.startsWith("fuse")
        || List.of("cifs", "smb3", "ceph", "lustre", "gfs2", "ocfs2", "glusterfs", "9p", "afs")
            .contains(type);
  }

  boolean has(String option) {
    return options.contains(option);
  }
}
