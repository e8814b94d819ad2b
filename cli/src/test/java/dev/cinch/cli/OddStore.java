package dev.cinch.cli;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/** A store with one log {@code jobs}, whose files a test takes away and adds as it likes. */
public final class OddStore {
  private final Path root;
  private final Path temp;

  public OddStore(Path root, Path temp) {
    this.root = root;
    this.temp = temp;
  }

  public Path root() {
    return root;
  }

  /** A file or directory of the log. */
  public Path file(String name) {
    return root.resolve("logs/jobs").resolve(name);
  }

  /** Another store with the same bytes, which may all be changed. */
  public OddStore copy() throws IOException {
    Path to = Files.createTempDirectory(temp, "odd").resolve("store");
    for (Path from : all(root)) {
      Path copied = to.resolve(root.relativize(from));
      Files.copy(from, copied);
      String mode = Files.isDirectory(copied) ? "rwxrwxr-x" : "rw-rw-r--";
      Files.setPosixFilePermissions(copied, PosixFilePermissions.fromString(mode));
    }
    return new OddStore(to, temp);
  }

  private static List<Path> all(Path top) throws IOException {
    try (Stream<Path> all = Files.walk(top)) {
      return all.toList();
    }
  }

  public static void delete(Path top) throws IOException {
    for (Path path : all(top).stream().sorted(Comparator.reverseOrder()).toList()) {
      Files.delete(path);
    }
  }

  /** An empty file, and its directory if that is not there. */
  public void make(String name) throws IOException {
    Files.createDirectories(file(name).resolveSibling("."));
    Files.write(file(name), new byte[0]);
  }

  /** Exit code and output of {@code reader.py}, the texts of messages alone. */
  public String python(ReaderPy reader) throws IOException {
    String answer = reader.ask(root);
    return answer.startsWith("0 ")
        ? answer.replaceAll("(?m)^(0 )?[0-9]+ \\S+ [0-9]+ ", "$1")
        : answer;
  }
}
