package dev.cinch.cli;

import dev.cinch.bag.Store;
import java.io.IOException;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Deletes old messages (rule R4). */
@Command(
    name = "expire",
    mixinStandardHelpOptions = true,
    description = {
      "Delete a log's oldest messages for good, whole segments of them.",
      "Only segments that gc covers go, and the last of these stays: see cinch view build and"
          + " cinch",
      "gc. The newest messages of a segment decide when it goes. Reads that begin before what is",
      "kept say so."
    },
    footer = {"", "Example:", "  cinch expire --log jobs --keep 90d --dry-run"})
@SuppressWarnings("NullAway.Init") // picocli sets the fields
final class ExpireCommand implements Callable<Integer> {
  private final Io io;

  @Spec CommandSpec spec;
  @Mixin StoreOptions store;
  @Mixin LogsOption logs;
  @Mixin KeepOption keep;
  @Mixin JsonOption json;

  @Option(names = "--dry-run", description = "Print what would be deleted, and delete nothing.")
  boolean dryRun;

  ExpireCommand(Io io) {
    this.io = io;
  }

  @Override
  public Integer call() throws IOException, InterruptedException {
    if (logs.log == null || keep.keep == null) {
      throw new ParameterException(
          spec.commandLine(), "name the log, and how long its messages are kept: --log, --keep");
    }
    keep.check();
    Store opened = store.open();
    long unused = opened.context().checkedNow();
    try (Output out = io.output()) {
      return logs.each(opened, io, out, log -> keep.apply(log, io, out, json, dryRun));
    }
  }
}
