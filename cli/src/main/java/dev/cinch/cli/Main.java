package dev.cinch.cli;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;

/** Where {@code cinch} starts. */
public final class Main {
  private Main() {}

  public static void main(String[] args) {
    System.exit(run(args, Io.ofProcess()));
  }

  /** Runs one command and returns its exit code; never throws for what the user did. */
  static int run(String[] args, Io io) {
    if (args.length == 1 && args[0].equals("--version")) {
      return version(io); // before anything is loaded that could take time
    }
    return Commands.run(args, io);
  }

  private static int version(Io io) {
    try (Output out = io.output()) {
      out.ifClosed(ExitCode.GOOD);
      out.line(versionLine());
      return ExitCode.GOOD;
    } catch (IOException e) {
      return Failure.of(e).code();
    }
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
