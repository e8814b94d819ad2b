package dev.cinch.cli;

import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Cells of lease servers, of which a majority grants (docs/cell.md). */
@Command(
    name = "cell",
    mixinStandardHelpOptions = true,
    synopsisSubcommandLabel = "COMMAND",
    description = "Make and look at cells: lease servers of which a majority grants leases.",
    footer = {"", "Example:", "  cinch cell status cell.json"})
@SuppressWarnings("NullAway.Init") // picocli sets the fields
final class CellCommand implements Callable<Integer>, Commands.Group {
  private final Io io;

  @Spec CommandSpec spec;

  CellCommand(Io io) {
    this.io = io;
  }

  @Override
  public CommandLine line() {
    return new CommandLine(this)
        .addSubcommand("init", new CellInitCommand(io))
        .addSubcommand("status", new CellStatusCommand(io));
  }

  @Override
  public Integer call() {
    throw new ParameterException(spec.commandLine(), "name one of init, status");
  }
}
