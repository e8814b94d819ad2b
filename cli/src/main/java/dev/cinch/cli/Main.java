package dev.cinch.cli;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;

import dev.cinch.cli.base.ExitCode;
import dev.cinch.cli.base.Failure;
import dev.cinch.cli.base.Io;
import dev.cinch.cli.base.Output;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.util.List;

/** Where {@code cinch} starts. */
public final class Main {
  private Main() {}

  /** What Java makes of bytes of an argument that it can't read. */
  private static final char NO_TEXT = '\uFFFD';

  /** What Java can still say when it can't make a text any more. */
  private static final byte[] NO_WORDS =
      "cinch: Java failed, and can't say how; give it more memory with CINCH_JAVA_OPTS=-Xmx...\n"
          .getBytes(US_ASCII);

  public static void main(String[] args) {
    boolean debug = List.of(args).contains("--debug");
    try {
      install(debug, args);
      Io io = Io.ofProcess();
      for (String arg : args) {
        if (arg.indexOf(NO_TEXT) >= 0) { // two such names would be taken for one
          io.say("cinch", "\"" + arg + "\" has bytes that are no text in this locale");
          System.exit(ended(ExitCode.USAGE, io));
        }
      }
      System.exit(ended(run(args, io), io));
    } catch (Throwable e) {
      uncaught(e, true, debug);
    }
  }

  /** Also says the exit code, where that is asked for: who ignores SIGCHLD can't learn it. */
  private static int ended(int code, Io io) {
    if (io.env().apply("CINCH_TELL_EXIT") != null) {
      io.say("cinch", "exit code " + code);
    }
    return code;
  }

  /** To be called first: what the whole process is set to. */
  static void install(boolean debug, String... args) {
    // An error of Java's own would end the process with 1, which means damage, or only a thread.
    Thread.setDefaultUncaughtExceptionHandler((t, e) -> uncaught(e, e instanceof Error, debug));
    Logging.install(args);
  }

  private static void uncaught(Throwable e, boolean ends, boolean debug) {
    var err = new PrintStream(new FileOutputStream(FileDescriptor.err), true, UTF_8);
    try {
      err.println("cinch: " + Failure.of(e).line());
      if (debug) {
        e.printStackTrace(err);
      }
    } catch (Throwable another) { // most likely of the same kind
      err.write(NO_WORDS, 0, NO_WORDS.length);
    }
    if (ends) {
      Runtime.getRuntime().halt(ExitCode.UNAVAILABLE); // without hooks, which may fail or hang too
    }
  }

  /** Runs one command and returns its exit code; never throws for what the user did. */
  public static int run(String[] args, Io io) {
    if (args.length == 1 && args[0].equals("--version")) {
      return show(versionLine() + "\n", io); // before anything is loaded that could take time
    }
    return Commands.run(args, io);
  }

  /** Prints what was asked for about the program itself. */
  static int show(String text, Io io) {
    try (Output out = io.output()) {
      out.ifClosed(ExitCode.GOOD);
      out.text(text);
    } catch (IOException e) {
      Failure failure = Failure.of(e);
      if (!failure.line().isEmpty()) {
        io.say("cinch", failure.line());
      }
      return failure.code();
    }
    return ExitCode.GOOD;
  }

  static String versionLine() {
    try (InputStream in = Main.class.getResourceAsStream("version")) {
      if (in == null) {
        throw new IllegalStateException("the version is missing from the build");
      }
      return "cinch " + new String(in.readAllBytes(), UTF_8).strip();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
