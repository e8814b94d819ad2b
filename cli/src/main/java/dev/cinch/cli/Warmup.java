package dev.cinch.cli;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Runs the usual commands once on a store of its own, so that the launcher can archive the classes
 * that they load ({@code -XX:ArchiveClassesAtExit}); without the archive everything works, more
 * slowly.
 */
public final class Warmup {
  private static final Pattern ADDRESS = Pattern.compile("http://\\S+");

  private Warmup() {}

  public static void main(String[] args) throws IOException, InterruptedException {
    QuietLogging.install();
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
      worst = Math.max(worst, underLease(store, key));
    } finally {
      remove(directory);
    }
    System.exit(worst);
  }

  /** An append under a lease of a service that goes on until this process ends. */
  private static int underLease(String store, String key) throws InterruptedException {
    var said = new ByteArrayOutputStream();
    String[] serve = {"serve", "--store", store, "--key", key, "--port", "0"};
    var service = new Thread(() -> Main.run(serve, io(said)), "cinch-serve");
    service.setDaemon(true);
    service.start();
    while (said.size() == 0 && service.isAlive()) {
      service.join(10);
    }
    Matcher server = ADDRESS.matcher(said.toString(StandardCharsets.UTF_8));
    if (!server.find()) {
      return ExitCode.UNAVAILABLE;
    }
    String[] append = {
      "append",
      "--store",
      store,
      "--log",
      "log",
      "--json",
      "--lease",
      "lease",
      "--server",
      server.group()
    };
    return Main.run(append, quiet());
  }

  private static Io quiet() {
    return io(OutputStream.nullOutputStream());
  }

  private static Io io(OutputStream out) {
    OutputStream nowhere = OutputStream.nullOutputStream();
    Io process = Io.ofProcess(); // what it is made of is archived, too
    return new Io(
        new ByteArrayInputStream("one\ntwo\n".getBytes(StandardCharsets.UTF_8)),
        out,
        new PrintStream(nowhere, true, StandardCharsets.UTF_8),
        name -> name.startsWith("CINCH_") ? null : process.env().apply(name),
        false,
        false,
        process.stop());
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
