package dev.cinch.cli.doctor;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalDouble;

/**
 * The process behind a mounted GlusterFS volume, whose command line has what the table of mounts
 * has not. Arguments are spelled as {@link Mount} spells paths.
 */
final class GlusterClient {
  private static final Path PROCESSES = Path.of("/proc");
  private static final int LONGEST = 1 << 16;
  private static final String OPTION = "--attribute-timeout";

  /** What glusterfs(8) takes unless told otherwise, in seconds. */
  private static final double DEFAULT = 1;

  private GlusterClient() {}

  /**
   * How long the kernel remembers attributes there, in seconds; the longest, if several processes
   * name that mount point.
   *
   * @param point where it is mounted
   * @param commandLines of running processes
   * @return empty if no process is found, as in another container, or its option is no number
   */
  static OptionalDouble attributeTimeout(String point, List<List<String>> commandLines) {
    OptionalDouble longest = OptionalDouble.empty();
    for (List<String> arguments : commandLines) {
      if (serves(arguments, point)) {
        double seconds = attributeTimeout(arguments);
        if (Double.isNaN(seconds)) {
          return OptionalDouble.empty();
        }
        longest = OptionalDouble.of(Math.max(seconds, longest.orElse(0)));
      }
    }
    return longest;
  }

  private static boolean serves(List<String> arguments, String point) {
    if (arguments.size() < 2) {
      return false;
    }
    String program = arguments.get(0);
    String last = arguments.get(arguments.size() - 1);
    return program.substring(program.lastIndexOf('/') + 1).equals("glusterfs")
        && (last.equals(point) || last.equals(point + "/"));
  }

  private static double attributeTimeout(List<String> arguments) {
    double seconds = DEFAULT;
    for (int i = 1; i < arguments.size(); i++) {
      String argument = arguments.get(i);
      if (argument.startsWith(OPTION + "=")) {
        seconds = number(argument.substring(OPTION.length() + 1));
      } else if (argument.equals(OPTION) && i + 1 < arguments.size()) {
        seconds = number(arguments.get(i + 1));
      }
    }
    return seconds;
  }

  private static double number(String text) {
    try {
      return Double.parseDouble(text);
    } catch (NumberFormatException e) {
      return Double.NaN;
    }
  }

  /** The command lines of all processes that this user may look at; none on other systems. */
  static List<List<String>> commandLines() throws IOException {
    var all = new ArrayList<List<String>>();
    if (!Files.isDirectory(PROCESSES)) {
      return all;
    }
    try (DirectoryStream<Path> processes = Files.newDirectoryStream(PROCESSES, "[0-9]*")) {
      for (Path process : processes) {
        try (var in = Files.newInputStream(process.resolve("cmdline"))) {
          String line = new String(in.readNBytes(LONGEST), StandardCharsets.ISO_8859_1);
          all.add(List.of(line.split("\0")));
        } catch (IOException e) {
          // It ended, or is somebody else's.
        }
      }
    }
    return all;
  }
}
