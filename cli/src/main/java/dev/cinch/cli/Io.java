package dev.cinch.cli;

import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
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
 */
record Io(
    InputStream in,
    OutputStream out,
    PrintStream err,
    Function<String, @Nullable String> env,
    boolean terminal) {

  /** The process's own. */
  static Io ofProcess() {
    return new Io(
        new FileInputStream(FileDescriptor.in),
        new FileOutputStream(FileDescriptor.out),
        new PrintStream(new FileOutputStream(FileDescriptor.err), true, StandardCharsets.UTF_8),
        System::getenv,
        System.console() != null);
  }

  /** A buffer in front of standard output. */
  Output output() {
    return new Output(out);
  }
}
