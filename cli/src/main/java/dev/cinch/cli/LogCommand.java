package dev.cinch.cli;

import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Makes logs. */
@Command(
    name = "log",
    mixinStandardHelpOptions = true,
    synopsisSubcommandLabel = "COMMAND",
    description = "Make and manage logs.",
    footer = {"", "Example:", "  cinch log create --store /mnt/shared/store jobs"})
@SuppressWarnings("NullAway.Init") // picocli sets the fields
final class LogCommand implements Callable<Integer>, Commands.Group {
  private final Io io;

  @Spec CommandSpec spec;

  LogCommand(Io io) {
    this.io = io;
  }

  @Override
  public CommandLine line() {
    return new CommandLine(this)
        .addSubcommand("create", new LogCreateCommand(io))
        .addSubcommand("rm", new LogRmCommand(io));
  }

  @Override
  public Integer call() {
    throw new ParameterException(spec.commandLine(), "name what to do: create, rm");
  }
}
