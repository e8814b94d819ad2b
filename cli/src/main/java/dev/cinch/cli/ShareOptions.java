package dev.cinch.cli;

import dev.cinch.bag.Store;
import dev.cinch.bag.fs.PosixSlots;
import dev.cinch.bag.write.LocalShare;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** Where the processes of this machine find each other's data files. */
final class ShareOptions {
  private static final Path MEMORY = Path.of("/dev/shm");

  @Option(
      names = "--share",
      paramLabel = "DIR",
      description = {
        "Go on with the data file of an earlier process of this machine and user, which is noted",
        "in this directory on tmpfs; $XDG_RUNTIME_DIR/cinch, else /dev/shm/cinch-UID."
      })
  @Nullable Path directory;

  @Option(names = "--no-share", description = "Write a data file of its own.")
  boolean alone;

  /**
   * Adds what the options ask for.
   *
   * @throws IOException if a directory was named that can't be used; one of the usual places that
   *     can't be is passed over, since sharing saves files and nothing depends on it
   */
  Store.Environment apply(Store.Environment to, Function<String, @Nullable String> env)
      throws IOException {
    if (alone) {
      return to;
    }
    if (directory != null) {
      return to.sharing(new LocalShare(PosixSlots.open(directory)));
    }
    for (Path usual : usual(env)) {
      try {
        return to.sharing(new LocalShare(PosixSlots.open(usual)));
      } catch (IOException | UnsupportedOperationException e) {
        continue;
      }
    }
    return to;
  }

  private static List<Path> usual(Function<String, @Nullable String> env) {
    var places = new ArrayList<Path>();
    String runtime = env.apply("XDG_RUNTIME_DIR");
    if (runtime != null && runtime.startsWith("/")) {
      places.add(Path.of(runtime, "cinch"));
    }
    try {
      Object uid = Files.getAttribute(Path.of("/proc/self"), "unix:uid", LinkOption.NOFOLLOW_LINKS);
      places.add(MEMORY.resolve("cinch-" + uid));
    } catch (IOException | UnsupportedOperationException e) {
      return places; // no Linux
    }
    return places;
  }
}
