package dev.cinch.cli;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;

/** Where {@code cinch} starts. */
public final class Main {
  private Main() {}

  public static void main(String[] args) {
    QuietLogging.install();
    System.exit(run(args, Io.ofProcess()));
  }

  /** Runs one command and returns its exit code; never throws for what the user did. */
  static int run(String[] args, Io io) {
    if (args.length == 1 && args[0].equals("--version")) {
      return show(versionLine() + "\n", io); // before anything is loaded that could take time
    }
    AppendCommand append = UsualAppend.read(args, io);
    if (append == null) {
      return Commands.run(args, io);
    }
    try {
      return append.call();
    } catch (Exception e) {
      return Commands.failed(AppendCommand.COMMAND, io, e);
    }
  }

  /** Prints what was asked for about the program itself. */
  static int show(String text, Io io) {
    try (Output out = io.output()) {
      out.ifClosed(ExitCode.GOOD);
      out.text(text);
    } catch (IOException e) {
      Failure failure = Failure.of(e);
      if (!failure.line().isEmpty()) {
        Commands.say(io, "cinch", failure.line());
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
      return "cinch " + new String(in.readAllBytes(), StandardCharsets.UTF_8).strip();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
