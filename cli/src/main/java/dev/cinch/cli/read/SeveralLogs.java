package dev.cinch.cli.read;

import dev.cinch.bag.Log;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.Message;
import dev.cinch.bag.read.MergedLogs;
import dev.cinch.bag.read.MessageSink;
import dev.cinch.bag.store.LogContext;
import dev.cinch.cli.base.Output;
import dev.cinch.lease.time.TimeSource;
import java.io.IOException;
import java.util.List;
import java.util.function.Predicate;

/** Prints several logs as one stream, through the cut. Not thread-safe. */
final class SeveralLogs {
  private final List<Log> logs;
  private final MessageSink sink;
  private final IgnoredMessages ignored;
  private final Output out;
  private final Predicate<Message> which;

  SeveralLogs(
      List<Log> logs,
      MessageSink sink,
      IgnoredMessages ignored,
      Output out,
      Predicate<Message> which) {
    this.logs = logs;
    this.sink = sink;
    this.ignored = ignored;
    this.out = out;
    this.which = which;
  }

  private MergedLogs merged(long from, long to, boolean goesOn) {
    List<LogContext> contexts = logs.stream().map(Log::context).toList();
    Predicate<Message> wanted =
        message -> {
          ignored.passed();
          return which.test(message);
        };
    return new MergedLogs(contexts, from, to, goesOn, wanted, ignored);
  }

  /**
   * Prints what is settled in all of them.
   *
   * @return the one that is settled less far than the others
   */
  Log read(long from, long to) throws IOException {
    MergedLogs merged = merged(from, to, false);
    merged.look();
    boolean unused = print(merged);
    return last(merged);
  }

  private Log last(MergedLogs merged) {
    LogName last = merged.last();
    return logs.stream().filter(log -> log.name().equals(last)).findFirst().orElseThrow();
  }

  /**
   * And goes on with what the cut passes, until the end of the range is settled in all.
   *
   * @param fromNow whether only that is wanted
   */
  void follow(long from, long to, boolean fromNow, Follower.Waiting waiting)
      throws IOException, InterruptedException {
    long start = fromNow ? Math.max(from, merged(from, from, false).look()) : from;
    MergedLogs merged = merged(start, to, fromNow);
    TimeSource time = logs.get(0).context().store().time();
    while (true) {
      long cut = merged.look();
      boolean more = print(merged);
      out.flush();
      if (!more || cut >= to) {
        return;
      }
      for (LogName over : merged.over()) {
        Follower.refuseRemoved(logs.get(0).context().store(), over);
      }
      waiting.goesOn(last(merged));
      time.sleepNanos(Follower.pause(logs.get(0)));
    }
  }

  private boolean print(MergedLogs merged) throws IOException {
    for (Message m = merged.next(); m != null; m = merged.next()) {
      if (!sink.accept(m)) {
        return false;
      }
    }
    return true;
  }
}
