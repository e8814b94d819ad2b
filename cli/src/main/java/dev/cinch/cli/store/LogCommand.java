package dev.cinch.cli.store;

import picocli.CommandLine.Command;

/** Makes logs. */
@Command(
    name = "log",
    subcommands = {LogCreateCommand.class, LogRmCommand.class},
    description = "Make and manage logs.",
    footer = {"", "Example:", "  cinch log create --store /mnt/shared/store jobs"})
public final class LogCommand {}
