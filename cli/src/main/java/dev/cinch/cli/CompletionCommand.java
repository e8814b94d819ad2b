package dev.cinch.cli;

import java.io.IOException;
import java.util.concurrent.Callable;
import picocli.AutoComplete;
import picocli.CommandLine.Command;

/** Prints a completion script. */
@Command(
    name = "completion",
    mixinStandardHelpOptions = true,
    description = "Print a script that completes commands and options in bash and zsh.",
    footer = {"", "Example:", "  source <(cinch completion)"})
final class CompletionCommand implements Callable<Integer> {
  private final Io io;

  CompletionCommand(Io io) {
    this.io = io;
  }

  @Override
  public Integer call() throws IOException {
    try (Output out = io.output()) {
      out.text(AutoComplete.bash("cinch", Commands.all(io)));
    }
    return ExitCode.GOOD;
  }
}
