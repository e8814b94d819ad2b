package dev.cinch.cli;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/**
 * Runs the usual commands once on a store of its own, so that the launcher can archive the classes
 * that they load ({@code -XX:ArchiveClassesAtExit}); without the archive everything works, more
 * slowly.
 */
public final class Warmup {
  private Warmup() {}

  public static void main(String[] args) throws IOException {
    Path directory = Files.createTempDirectory("cinch-warmup-");
    int worst = 0;
    try {
      String store = directory.resolve("store").toString();
      String key = directory.resolve("key").toString();
      for (List<String> command :
          List.of(
              List.of("--version"),
              List.of("--help"),
              List.of("init", store),
              List.of("append", "--store", store, "--log", "log", "--json"),
              List.of("close", "--store", store),
              List.of("cat", "--store", store, "--log", "log", "--live", "--format", "json"),
              List.of("cat", "--store", store, "--log", "log"),
              List.of("keygen", "--store", store, "--key", key))) {
        worst = Math.max(worst, Main.run(command.toArray(String[]::new), quiet()));
      }
    } finally {
      remove(directory);
    }
    System.exit(worst);
  }

  private static Io quiet() {
    OutputStream nowhere = OutputStream.nullOutputStream();
    return new Io(
        new ByteArrayInputStream("one\ntwo\n".getBytes(StandardCharsets.UTF_8)),
        nowhere,
        new PrintStream(nowhere, true, StandardCharsets.UTF_8),
        name -> null,
        false,
        false,
        Stop.byHand());
  }

  private static void remove(Path directory) throws IOException {
    try (Stream<Path> all = Files.walk(directory)) {
      for (Path path : all.sorted(Comparator.reverseOrder()).toList()) {
        Path parent = path.getParent();
        if (parent != null && !Files.isWritable(parent)) {
          boolean unused = parent.toFile().setWritable(true); // a closed bucket
        }
        Files.delete(path);
      }
    }
  }
}
