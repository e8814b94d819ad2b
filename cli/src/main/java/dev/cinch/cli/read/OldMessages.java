package dev.cinch.cli.read;

import dev.cinch.bag.Log;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Words;
import dev.cinch.bag.read.LogReader;
import dev.cinch.cli.base.Converters.Moment;
import dev.cinch.cli.base.Io;
import dev.cinch.cli.base.Misuse;
import dev.cinch.cli.base.Output;
import dev.cinch.cli.base.TimeRange;
import dev.cinch.view.Expiry;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;

/** Messages that expire (rule R4): deletes them, and tells readers of it. */
public final class OldMessages {
  private OldMessages() {}

  /** Refuses what is no time to keep messages. */
  public static void check(Duration keep) {
    if (keep.isNegative()) {
      throw new Misuse("a time to keep is not negative");
    }
  }

  /**
   * Deletes what expired of a log, or says what would go.
   *
   * @return the time before which all is old enough but stays until gc covers a later segment,
   *     nanoseconds since the Unix epoch; empty if something went, or nothing is old enough
   */
  public static OptionalLong expire(Log log, Duration keep, Deletions deletions, Output out)
      throws IOException {
    var expiry = new Expiry(log, keep);
    List<Name> names = new ArrayList<>();
    Expiry.Plan plan =
        deletions.dryRun ? expiry.plan(names::add) : expiry.runThroughLast(path -> {});
    deletions.names(out, names);
    if (!plan.moves() && plan.segments() == 0) {
      return plan.blocked();
    }
    deletions.print(
        out,
        log.name(),
        "expired",
        "%s messages in %d segments (%d bytes); nothing before %s is kept"
            .formatted(
                Words.count(plan.messages()),
                plan.segments(),
                plan.bytes(),
                Moment.text(plan.before())),
        line ->
            line.number("messages", plan.messages())
                .number("segments", plan.segments())
                .number("bytes", plan.bytes())
                .time("before", plan.before()));
    return OptionalLong.empty();
  }

  /** Tells what stays though it is old enough. */
  public static void tellBlocked(Log log, long before, Io io, String command) {
    io.say(
        command,
        "%s: messages before %s are old enough, and stay until gc covers a later segment (cinch close, then cinch view build, then cinch gc --retention)"
            .formatted(log.name(), Moment.text(before)));
  }

  /**
   * Tells, in a line, of a range that asks for what expired.
   *
   * @param prefix of the line, where there are several logs
   */
  static void tell(LogReader reader, TimeRange range, Io io, String command, String prefix)
      throws IOException {
    if (range.from == null) {
      return;
    }
    long expired = reader.expired();
    if (range.start() < expired) {
      String text = "what was written before " + Moment.text(expired) + " expired, and is gone";
      io.say(command, prefix + text);
    }
  }
}
