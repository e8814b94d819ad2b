package dev.cinch.cli.base;

import dev.cinch.bag.format.DamagedException;
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
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;

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
public record Io(
    InputStream in,
    OutputStream out,
    PrintStream err,
    Function<String, @Nullable String> env,
    boolean terminal,
    boolean outTerminal,
    Stop stop) {

  /** The process's own. */
  public static Io ofProcess() {
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
  public Output output() {
    return new Output(out);
  }

  /** Tells of a failure of a command in one line, with {@code --debug} also where. */
  public int told(CommandSpec command, Throwable e) {
    int code = told(command.qualifiedName(), e);
    OptionSpec debug = command.root().findOption("--debug");
    if (debug != null && Boolean.TRUE.equals(debug.getValue())) {
      e.printStackTrace(err);
    }
    return code;
  }

  /** Tells of a failure of a command in one line; gives its exit code. */
  public int told(String command, Throwable e) {
    if (e instanceof InterruptedException) {
      Thread.currentThread().interrupt();
    }
    Failure failure = Failure.of(e);
    if (!failure.line().isEmpty()) {
      String help = "";
      if (failure.code() == ExitCode.USAGE) {
        help = " (see " + command + " --help)";
      } else if (e instanceof DamagedException && command.endsWith(" cat")) {
        help = "; cinch verify lists all damage, and cinch salvage prints what is whole";
      }
      say(command, failure.line() + help);
    }
    return failure.code();
  }

  /** One line about a command on standard error. */
  public void say(String command, String text) {
    err.println(command + ": " + Failure.oneLine(text));
    err.flush();
  }
}
