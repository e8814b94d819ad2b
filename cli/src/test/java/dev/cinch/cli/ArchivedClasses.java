package dev.cinch.cli;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import java.util.spi.ToolProvider;
import java.util.stream.Stream;

/**
 * Starts Java with the classes of the tests from an archive of loaded ones, as the launcher does:
 * that takes three fifths of the processor time. One process makes the archive for what was built,
 * in {@code target}; nobody waits for it, and without it everything works, more slowly.
 */
public final class ArchivedClasses {
  private static final Path HOME = Path.of("target", "archived").toAbsolutePath();

  /** Without empty ones: those are the module's directory, where tests make and delete files. */
  private static final String[] ENTRIES =
      Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator, -1))
          .filter(entry -> !entry.isEmpty())
          .toArray(String[]::new);

  /** Of the launcher. */
  private static final List<Path> PARTS =
      List.of(
          Path.of("bin/cinch").toAbsolutePath(), Path.of("bin/lease-run.bash").toAbsolutePath());

  private static final Path BUILT = built();

  private ArchivedClasses() {}

  /** The path of Java and its options, to which the name of a main class is added. */
  public static List<String> command() {
    return command(BUILT);
  }

  private static List<String> command(Path built) {
    Path archive = built.resolve("classes.jsa");
    var command = new ArrayList<>(List.of(java(), "-Xmx128m"));
    command.addAll(List.of("-Xlog:disable", "-Xlog:all=error:stderr"));
    // As the launcher has it for what does not run for long.
    command.addAll(List.of("-XX:+UnlockDiagnosticVMOptions", "-XX:ArchiveRelocationMode=0"));
    command.addAll(List.of("-XX:CompileThresholdScaling=5", "-XX:-UsePerfData"));
    if (Files.exists(archive)) {
      command.add("-XX:SharedArchiveFile=" + archive);
    }
    command.addAll(common(built));
    return command;
  }

  /** A script that runs the command line, for shells. */
  public static Path script(Path directory) throws IOException {
    return script(
        directory.resolve("cinch"),
        "exec '" + String.join("' '", command()) + "' " + Main.class.getName() + " \"$@\"\n");
  }

  private static Path script(Path file, String text) throws IOException {
    Path script = Files.writeString(file, "#!/bin/sh\n" + text);
    if (!script.toFile().setExecutable(true)) {
      throw new IOException("not executable: " + script);
    }
    return script;
  }

  /**
   * The real launcher, for what it does itself. What it takes for Java is a script that puts these
   * classes in place of the jar.
   */
  public static Path launcher() {
    return BUILT.resolve("launcher/bin/cinch");
  }

  private static void launcher(Path built) throws IOException {
    Path home = built.resolve("launcher");
    Files.createDirectories(home.resolve("lib"));
    Files.writeString(home.resolve("lib/cinch.jar"), "none is needed");
    Path bin = Files.createDirectories(home.resolve("bin"));
    for (Path part : PARTS) {
      Files.copy(part, bin.resolve(part.getFileName()), StandardCopyOption.COPY_ATTRIBUTES);
    }
    String text = Files.readString(bin.resolve("cinch"));
    Files.writeString(
        bin.resolve("cinch"), text.replace("set -eu\n", "set -eu\nJAVA_HOME=" + home + "\n"));
    script(
        bin.resolve("java"),
        """
        for option; do
          case $option in
            -XX:ArchiveClassesAtExit=*) echo >"${option#*=}" && exit ;;
          esac
        done
        kept=
        [ ! -f %1$s ] || kept=-XX:SharedArchiveFile=%1$s
        while [ "$1" != %2$s ]; do
          case $1 in
            -Xrs | -Dcinch.* | -Xm*) kept="$kept $1" ;;
          esac
          shift
        done
        exec '%3$s' $kept "$@"
        """
            .formatted(
                built.resolve("classes.jsa"),
                Main.class.getName(),
                String.join("' '", command(built))));
  }

  private static List<String> common(Path built) {
    var path = new ArrayList<String>();
    for (int i = 0; i < ENTRIES.length; i++) {
      path.add(packed(i) ? built.resolve(i + ".jar").toString() : ENTRIES[i]);
    }
    String classPath = String.join(File.pathSeparator, path);
    return List.of("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", classPath);
  }

  /** Only what is in jars can be archived. */
  private static boolean packed(int i) {
    return Files.isDirectory(Path.of(ENTRIES[i]));
  }

  /** The directory with jars of what was built. */
  private static Path built() {
    try {
      Files.createDirectories(HOME);
      Path built = HOME.resolve(digest());
      try (FileChannel lock =
          FileChannel.open(
              HOME.resolve("lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
        var unused = lock.lock(); // tests run in several processes
        if (!Files.exists(built)) {
          // Others of today may be in use: by processes that began before a file was built anew.
          long yesterday = System.currentTimeMillis() - Duration.ofDays(1).toMillis();
          File[] old =
              HOME.toFile().listFiles(f -> f.isDirectory() && f.lastModified() < yesterday);
          Arrays.stream(Objects.requireNonNull(old)).forEach(ArchivedClasses::remove);
          Path making = HOME.resolve("making");
          remove(making.toFile());
          Files.createDirectories(making);
          for (int i = 0; i < ENTRIES.length; i++) {
            if (packed(i)) {
              jar("-c0f", making.resolve(i + ".jar").toString(), "-C", ENTRIES[i], ".");
            }
          }
          Files.move(making, built);
          launcher(built);
          archive(built);
        }
      }
      return built;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void remove(File old) {
    File[] inside = old.listFiles();
    if (inside != null) {
      Arrays.stream(inside).forEach(ArchivedClasses::remove);
    }
    boolean unused = old.delete();
  }

  private static void archive(Path built) throws IOException {
    Path made = built.resolve("making.jsa");
    var command = new ArrayList<>(List.of(java(), "-XX:ArchiveClassesAtExit=" + made));
    command.addAll(common(built));
    command.add(Warmup.class.getName());
    var unused =
        new ProcessBuilder(command)
            .redirectInput(new File("/dev/null"))
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .redirectError(ProcessBuilder.Redirect.DISCARD)
            .start()
            .onExit()
            .thenAccept(ended -> keep(ended.exitValue(), made, built.resolve("classes.jsa")));
  }

  private static void keep(int code, Path made, Path archive) {
    boolean unused = code == 0 && made.toFile().renameTo(archive.toFile());
  }

  private static String java() {
    return Path.of(System.getProperty("java.home"), "bin", "java").toString();
  }

  private static void jar(String... args) {
    int code = ToolProvider.findFirst("jar").orElseThrow().run(System.out, System.err, args);
    if (code != 0) {
      throw new IllegalStateException("jar ended with " + code + ": " + Arrays.toString(args));
    }
  }

  /** Of names, sizes and times of all files. */
  private static String digest() throws IOException {
    var all = new StringBuilder(java());
    for (Path entry :
        Stream.concat(Arrays.stream(ENTRIES).map(Path::of), PARTS.stream()).toList()) {
      if (Files.exists(entry)) {
        try (Stream<Path> files = Files.walk(entry).filter(Files::isRegularFile).sorted()) {
          for (Path file : files.toList()) {
            all.append('\n').append(file).append(' ').append(Files.size(file));
            all.append(' ').append(Files.getLastModifiedTime(file));
          }
        }
      }
    }
    try {
      byte[] text = all.toString().getBytes(StandardCharsets.UTF_8);
      byte[] digest = MessageDigest.getInstance("SHA-256").digest(text);
      return HexFormat.of().formatHex(digest, 0, 8);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e);
    }
  }
}
