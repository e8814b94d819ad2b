package dev.cinch.cli;

import java.util.concurrent.Callable;
import picocli.CommandLine.Command;

/** The same as {@code --version}. */
@Command(
    name = "version",
    mixinStandardHelpOptions = true,
    description = "Print the version.",
    footer = {"", "Example:", "  cinch version"})
final class VersionCommand implements Callable<Integer> {
  private final Io io;

  VersionCommand(Io io) {
    this.io = io;
  }

  @Override
  public Integer call() {
    return Main.show(Main.versionLine() + "\n", io);
  }
}
