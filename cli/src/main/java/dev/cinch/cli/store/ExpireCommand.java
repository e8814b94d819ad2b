package dev.cinch.cli.store;

import dev.cinch.bag.Log;
import dev.cinch.bag.Store;
import dev.cinch.bag.model.LogName;
import dev.cinch.cli.base.ExitCode;
import dev.cinch.cli.base.Io;
import dev.cinch.cli.base.Output;
import dev.cinch.cli.base.StoreOptions;
import dev.cinch.cli.read.Deletions;
import dev.cinch.cli.read.OldMessages;
import java.io.IOException;
import java.time.Duration;
import java.util.OptionalLong;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Deletes old messages (rule R4). */
@Command(
    name = "expire",
    description = {
      "Delete a log's oldest messages for good, whole segments of them.",
      "Only segments whose buckets cinch gc has deleted go: see cinch view build and cinch gc. The newest messages of a"
          + " segment decide when it goes. The last one goes once something was settled behind it,"
          + " if only idle time. Reads that begin before what is kept say so."
    },
    footer = {"", "Example:", "  cinch expire --log jobs --keep 90d --dry-run"})
@SuppressWarnings("NullAway.Init") // picocli sets the fields
public final class ExpireCommand implements Callable<Integer> {
  private final Io io;

  @Mixin StoreOptions store;

  @Option(names = "--log", required = true, paramLabel = "NAME", description = "The log.")
  LogName log;

  @Option(
      names = "--keep",
      required = true,
      paramLabel = "DURATION",
      description = "Keep messages at least so long, like 90d.")
  Duration keep;

  @Mixin Deletions deletions;

  ExpireCommand(Io io) {
    this.io = io;
  }

  @Override
  public Integer call() throws IOException {
    OldMessages.check(keep);
    Store opened = store.open();
    long unused = opened.context().checkedNow();
    Log target = opened.log(log);
    try (Output out = io.output()) {
      OptionalLong blocked = OldMessages.expire(target, keep, deletions, out);
      if (blocked.isPresent()) {
        OldMessages.tellBlocked(target, blocked.getAsLong(), io, "cinch expire");
      } else if (io.terminal() && out.isUnused()) {
        io.say("cinch expire", "nothing to delete: no segment of " + log + " ended so long ago");
      }
    }
    return ExitCode.GOOD;
  }
}
