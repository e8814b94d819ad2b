package dev.cinch.cli.read;

import dev.cinch.bag.Log;
import dev.cinch.bag.LogSurvey;
import dev.cinch.cli.base.Converters.Moment;
import dev.cinch.cli.base.Io;
import dev.cinch.cli.base.TimeRange;
import java.io.IOException;
import java.util.List;

/**
 * Why there was no message: where some wait to be settled in any case, since a script can't know
 * that it read too early, else at a terminal.
 */
final class NothingThere {
  private NothingThere() {}

  /**
   * Says so, in one line.
   *
   * @param live whether what is not settled was asked for, too
   */
  static void tell(Io io, String command, Log log, TimeRange range, boolean live)
      throws IOException {
    LogSurvey.Edge edge = new LogSurvey(log.context()).edge();
    boolean unsettled = edge.newestOpen() != Long.MIN_VALUE;
    String through = through(log, edge);
    if (!live
        && range.end() > edge.settledThrough()
        && edge.newestOpen() >= range.start()
        && unsettled) {
      io.say(
          command,
          "nothing to print yet: %s, its newest message is of %s; run cinch close once that is over, or cinch close --wait, or read with --live"
              .formatted(through, Moment.text(edge.newestOpen())));
    } else if (io.terminal()) {
      boolean whole = range.from == null && range.to == null;
      io.say(
          command,
          whole && !unsettled
              ? "\"" + log.name() + "\" has no messages"
              : "no message is in that range; " + through);
    }
  }

  /**
   * The same of several logs as one.
   *
   * @param last the one that is settled less far than the others
   */
  static void tell(Io io, String command, List<Log> logs, Log last, TimeRange range)
      throws IOException {
    LogSurvey.Edge edge = new LogSurvey(last.context()).edge();
    boolean wait = false;
    for (Log log : logs) {
      LogSurvey.Edge other = new LogSurvey(log.context()).edge();
      boolean open = other.newestOpen() != Long.MIN_VALUE && other.newestOpen() >= range.start();
      wait |= open || other.settledThrough() > edge.settledThrough();
    }
    if (wait && range.end() > edge.settledThrough()) {
      io.say(
          command,
          "nothing to print yet: %s, and several logs are read as far as all of them are; run cinch close --wait --now"
              .formatted(through(last, edge)));
    } else if (io.terminal()) {
      io.say(command, "no message is in that range; " + through(last, edge));
    }
  }

  /** What a follower waits for. */
  static String waits(Log log) throws IOException {
    LogSurvey.Edge edge = new LogSurvey(log.context()).edge();
    return edge.newestOpen() == Long.MIN_VALUE
        ? "waiting: %s, and nothing was written since".formatted(through(log, edge))
        : "waiting: %s, its newest message is of %s; a closer has to run: cinch close --every 1s"
            .formatted(through(log, edge), Moment.text(edge.newestOpen()));
  }

  private static String through(Log log, LogSurvey.Edge edge) {
    return edge.settledThrough() == Long.MIN_VALUE
        ? "nothing of \"" + log.name() + "\" is settled yet"
        : "\"" + log.name() + "\" is settled through " + Moment.text(edge.settledThrough());
  }
}
