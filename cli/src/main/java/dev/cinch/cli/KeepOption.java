package dev.cinch.cli;

import dev.cinch.bag.Log;
import dev.cinch.bag.read.LogReader;
import dev.cinch.cli.Converters.Moment;
import dev.cinch.view.Expiry;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** How long messages are kept (rule R4). */
@SuppressWarnings("NullAway.Init") // picocli sets the fields
final class KeepOption {
  @Spec(Spec.Target.MIXEE)
  CommandSpec command;

  @Option(
      names = "--keep",
      paramLabel = "DURATION",
      description = {
        "Delete messages for good once the segment that has them ended so long ago, like 90d."
      })
  @Nullable Duration keep;

  /** Refuses what is no time. */
  void check() {
    if (keep != null && keep.isNegative()) {
      throw new ParameterException(command.commandLine(), "a time to keep is not negative");
    }
  }

  /** Deletes what expired of a log, or says what would go; nothing if the option was not given. */
  void apply(Log log, Io io, Output out, JsonOption json, boolean dryRun) throws IOException {
    Duration time = keep;
    if (time == null) {
      return;
    }
    var expiry = new Expiry(log, time);
    Expiry.Plan plan;
    if (dryRun) {
      List<Path> paths = new ArrayList<>();
      plan = expiry.plan(paths::add);
      for (Path path : paths) {
        json.print(
            out,
            "would delete " + path,
            line -> line.text("type", "path").text("path", path.toString()));
      }
    } else {
      plan = expiry.run(path -> {});
    }
    if (plan.moves() || plan.segments() > 0) {
      json.print(
          out,
          "%s: %s %d segments (%d bytes); nothing before %s is kept"
              .formatted(
                  log.name(),
                  dryRun ? "would delete" : "deleted",
                  plan.segments(),
                  plan.bytes(),
                  Moment.text(plan.before())),
          line ->
              line.text("type", "expired")
                  .text("log", log.name().toString())
                  .flag("dryRun", dryRun)
                  .number("segments", plan.segments())
                  .number("bytes", plan.bytes())
                  .time("before", plan.before()));
    } else if (plan.blocked().isPresent()) {
      Commands.say(
          io,
          command.qualifiedName(),
          "%s: messages before %s are old enough, and stay until gc covers a later segment (cinch view build, cinch gc --retention)"
              .formatted(log.name(), Moment.text(plan.blocked().getAsLong())));
    }
  }

  /** Tells, in a line, of a range that asks for what expired. */
  static void tell(LogReader reader, TimeRange range, Io io, String command) throws IOException {
    if (range.from == null) {
      return;
    }
    long expired = reader.expired();
    if (range.start() < expired) {
      Commands.say(
          io, command, "what was written before " + Moment.text(expired) + " expired, and is gone");
    }
  }
}
