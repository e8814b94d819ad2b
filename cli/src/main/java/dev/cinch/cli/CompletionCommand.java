package dev.cinch.cli;

import dev.cinch.cli.base.ExitCode;
import dev.cinch.cli.base.Io;
import dev.cinch.cli.base.Output;
import dev.cinch.cli.store.NamesCommand;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Objects;
import java.util.concurrent.Callable;
import picocli.AutoComplete;
import picocli.CommandLine;
import picocli.CommandLine.Command;

/**
 * Prints a completion script: what picocli makes, and {@code completion.bash}, which asks {@link
 * NamesCommand} for the values that change.
 */
@Command(
    name = "completion",
    description =
        "Print a script that completes commands, options, and the names of logs and leases in bash"
            + " and zsh.",
    footer = {"", "Example:", "  source <(cinch completion)"})
record CompletionCommand(Io io) implements Callable<Integer> {
  @Override
  public Integer call() throws IOException {
    try (Output out = io.output()) {
      out.ifClosed(ExitCode.GOOD);
      out.text(script(Commands.all(io)));
    }
    return ExitCode.GOOD;
  }

  /** What a release has in a file, too. */
  static String script(CommandLine all) throws IOException {
    try (InputStream names = Main.class.getResourceAsStream("completion.bash")) {
      return AutoComplete.bash("cinch", all)
          + new String(Objects.requireNonNull(names).readAllBytes(), StandardCharsets.UTF_8);
    }
  }
}
