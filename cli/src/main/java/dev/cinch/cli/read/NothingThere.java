package dev.cinch.cli.read;

import dev.cinch.bag.Log;
import dev.cinch.bag.status.LogSurvey;
import dev.cinch.cli.base.Converters.Moment;
import dev.cinch.cli.base.TimeRange;
import java.io.IOException;

/** Why a log gave no message, for who waits for one at a terminal. */
final class NothingThere {
  private NothingThere() {}

  /**
   * One line.
   *
   * @param live whether what is not settled was asked for, too
   */
  static String why(Log log, TimeRange range, boolean live) throws IOException {
    LogSurvey.Edge edge = new LogSurvey(log.context()).edge();
    String through =
        edge.settledThrough() == Long.MIN_VALUE
            ? "nothing of \"" + log.name() + "\" is settled yet"
            : "\"" + log.name() + "\" is settled through " + Moment.text(edge.settledThrough());
    boolean unsettled = edge.newestOpen() != Long.MIN_VALUE;
    if (!live && unsettled && edge.newestOpen() >= range.start()) {
      return "nothing to print yet: "
          + through
          + ", its newest message is of "
          + Moment.text(edge.newestOpen())
          + "; run cinch close once that is over, or read with --live";
    }
    boolean whole = range.from == null && range.to == null;
    return whole && !unsettled
        ? "\"" + log.name() + "\" has no messages"
        : "no message is in that range; " + through;
  }
}
