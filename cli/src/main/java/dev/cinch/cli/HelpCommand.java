package dev.cinch.cli;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;
import picocli.CommandLine.UnmatchedArgumentException;

/** The same as {@code --help} of a command. */
@Command(
    name = "help",
    mixinStandardHelpOptions = true,
    description = "Print the help of a command.",
    footer = {"", "Examples:", "  cinch help append", "  cinch help lease acquire"})
@SuppressWarnings("NullAway.Init") // picocli sets the fields
final class HelpCommand implements Callable<Integer> {
  private final Io io;

  @Spec CommandSpec spec;

  @Parameters(arity = "0..*", paramLabel = "COMMAND", description = "Of cinch itself if left out.")
  List<String> path = new ArrayList<>();

  HelpCommand(Io io) {
    this.io = io;
  }

  @Override
  public Integer call() {
    CommandLine line = spec.root().commandLine();
    for (String name : path) {
      CommandLine sub = line.getSubcommands().get(name);
      if (sub == null) {
        throw new UnmatchedArgumentException(line, List.of(name));
      }
      line = sub;
    }
    return Main.show(line.getUsageMessage(), io);
  }
}
