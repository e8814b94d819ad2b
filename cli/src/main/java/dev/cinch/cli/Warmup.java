package dev.cinch.cli;

import dev.cinch.cli.base.ExitCode;
import dev.cinch.cli.base.Io;
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
    Main.install(false);
    Path directory = Files.createTempDirectory("cinch-warmup-");
    int worst = 0;
    try {
      String store = directory.resolve("store").toString();
      for (String command :
          List.of(
              "--help",
              "init " + store,
              "append --log log --json --store " + store,
              "close --store " + store,
              "cat --log log --live --format json --store " + store,
              "cat --log log --store " + store,
              "keygen --key " + directory.resolve("key"))) {
        worst = Math.max(worst, run(command, OutputStream.nullOutputStream()));
      }
      worst = Math.max(worst, underLease(store, directory.resolve("key")));
    } finally {
      remove(directory);
    }
    System.exit(worst);
  }

  /** An append under a lease of a service that goes on until this process ends. */
  private static int underLease(String store, Path key) throws InterruptedException {
    var said = new ByteArrayOutputStream();
    String serve = "serve --port 0 --store " + store + " --key " + key;
    var service = new Thread(() -> run(serve, said), "cinch-serve");
    service.setDaemon(true);
    service.start();
    while (said.size() == 0 && service.isAlive()) {
      service.join(10);
    }
    Matcher server = ADDRESS.matcher(said.toString(StandardCharsets.UTF_8));
    return server.find()
        ? run(
            "append --log log --json --lease lease --store "
                + store
                + " --server "
                + server.group(),
            OutputStream.nullOutputStream())
        : ExitCode.UNAVAILABLE;
  }

  private static int run(String command, OutputStream out) {
    Io process = Io.ofProcess(); // what it is made of is archived, too
    var io =
        new Io(
            new ByteArrayInputStream("one\ntwo\n".getBytes(StandardCharsets.UTF_8)),
            out,
            new PrintStream(OutputStream.nullOutputStream(), true, StandardCharsets.UTF_8),
            name -> name.startsWith("CINCH_") ? null : process.env().apply(name),
            false,
            false,
            process.stop());
    return Main.run(command.split(" "), io);
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
