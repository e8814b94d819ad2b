package dev.cinch.cli;

import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Everything that a command has of the world around the process, so that tests can run it within
 * theirs.
 *
 * @param in standard input, unbuffered
 * @param out standard output, unbuffered; see {@link Output}
 * @param err standard error
 * @param env the environment's variables
 * @param terminal whether standard error is a terminal, so that progress may be shown
 * @param outTerminal whether standard output is one, which progress would garble
 * @param stop how the process is told to stop
 */
record Io(
    InputStream in,
    OutputStream out,
    PrintStream err,
    Function<String, @Nullable String> env,
    boolean terminal,
    boolean outTerminal,
    Stop stop) {

  /** The process's own. */
  static Io ofProcess() {
    return new Io(
        new FileInputStream(FileDescriptor.in),
        new FileOutputStream(FileDescriptor.out),
        new PrintStream(new FileOutputStream(FileDescriptor.err), true, StandardCharsets.UTF_8),
        System::getenv,
        isTerminal(2),
        isTerminal(1),
        Stop.ofProcess());
  }

  /** Java's own console is none as soon as standard input is a pipe, as it mostly is here. */
  private static boolean isTerminal(int descriptor) {
    try {
      String target = Files.readSymbolicLink(Path.of("/proc/self/fd", "" + descriptor)).toString();
      return target.startsWith("/dev/pts/")
          || target.startsWith("/dev/tty")
          || target.equals("/dev/console");
    } catch (IOException | UnsupportedOperationException e) {
      return System.console() != null; // no Linux
    }
  }

  /** A buffer in front of standard output. */
  Output output() {
    return new Output(out);
  }
}
