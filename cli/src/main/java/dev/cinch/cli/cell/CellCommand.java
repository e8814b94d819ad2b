package dev.cinch.cli.cell;

import picocli.CommandLine.Command;

/** Cells of lease servers, of which a majority grants (docs/cell.md). */
@Command(
    name = "cell",
    subcommands = {CellInitCommand.class, CellStatusCommand.class},
    description = "Make and look at cells: lease servers of which a majority grants leases.",
    footer = {"", "Example:", "  cinch cell status cell.json"})
public final class CellCommand {}
