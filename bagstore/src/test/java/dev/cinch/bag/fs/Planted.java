package dev.cinch.bag.fs;

import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

/** What somebody may put where a file or a directory of a store belongs. */
public enum Planted {
  /** To what the test says. */
  LINK("a symbolic link") {
    @Override
    void make(Path place, Path target) throws IOException {
      Files.createSymbolicLink(place, target.toAbsolutePath());
    }
  },
  DANGLING("a symbolic link") {
    @Override
    void make(Path place, Path target) throws IOException {
      Files.createSymbolicLink(place, target.resolveSibling("nothing-is-there").toAbsolutePath());
    }
  },
  HARD_LINK("a regular file") {
    @Override
    void make(Path place, Path target) throws IOException {
      if (Files.isDirectory(target)) {
        throw new UnsupportedOperationException("directories have no hard links");
      }
      Files.createLink(place, target);
    }
  },
  PIPE("a named pipe") {
    @Override
    void make(Path place, Path target) throws IOException {
      run("mkfifo", place.toString());
    }
  },
  DIRECTORY("a directory") {
    @Override
    void make(Path place, Path target) throws IOException {
      Files.createDirectory(place);
      Files.writeString(place.resolve("inside"), "of a directory");
    }
  },
  SOCKET("a socket") {
    @Override
    void make(Path place, Path target) throws IOException {
      // Its path may be longer than a socket's address.
      Path there = Files.createTempDirectory("cinch-socket-").resolve("s");
      try (var server = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
        server.bind(UnixDomainSocketAddress.of(there));
      }
      Files.move(there, place);
      Files.delete(there.getParent());
    }
  },
  /** {@code /dev/zero}, which never ends. */
  DEVICE("a device") {
    @Override
    void make(Path place, Path target) throws IOException {
      run("mknod", place.toString(), "c", "1", "5");
    }
  };

  private final String words;

  Planted(String words) {
    this.words = words;
  }

  /** What errors call it. */
  public String words() {
    return words;
  }

  abstract void make(Path place, Path target) throws IOException;

  /**
   * Puts it there; nothing may be there.
   *
   * @param target of links
   * @throws UnsupportedOperationException where this user or the target does not permit it
   */
  public void plant(Path place, Path target) throws IOException {
    make(place, target);
  }

  private static void run(String... command) throws IOException {
    try {
      Process p = new ProcessBuilder(command).redirectErrorStream(true).start();
      String said = new String(p.getInputStream().readAllBytes());
      if (!p.waitFor(10, TimeUnit.MINUTES) || p.exitValue() != 0) {
        throw new UnsupportedOperationException(said);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException(e);
    }
  }
}
