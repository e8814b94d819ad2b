package dev.cinch.cli.read;

import dev.cinch.bag.Following;
import dev.cinch.bag.Log;
import dev.cinch.bag.Store;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.Message;
import dev.cinch.bag.read.MessageSink;
import dev.cinch.cli.base.ExitCode;
import dev.cinch.cli.base.Io;
import dev.cinch.cli.base.JsonLines;
import dev.cinch.cli.base.LogChoice;
import dev.cinch.cli.base.LongWait;
import dev.cinch.cli.base.Misuse;
import dev.cinch.cli.base.Output;
import dev.cinch.cli.base.Progress;
import dev.cinch.cli.base.StoreOptions;
import dev.cinch.cli.base.TimeRange;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.time.TimeSource;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Prints messages in order. */
@Command(
    name = "cat",
    description = {
      "Print a log's settled messages in order: the same for everyone, and for ever.",
      "Several logs are printed as one, in the order of time, through the cut: the time through"
          + " which all of them are settled. So all is there that they hold before it.",
      "With --live also those that are not settled yet. Exit code 1 if there are messages and all"
          + " were left out because of their leases."
    },
    footer = {
      "",
      "Examples:",
      "  cinch cat --log jobs --from -1h",
      "  cinch cat --log jobs --tail 10 --follow --json",
      "  cinch cat --log jobs --lease jobs/42 --last-lease --live",
      "  cinch cat --log 'jobs-*' --log payments --format csv",
      "  cinch cat --cut 12"
    })
@SuppressWarnings("NullAway.Init") // picocli sets the fields
public final class CatCommand implements Callable<Integer> {
  private static final String NAME = "cinch cat";

  private final Io io;

  @Mixin StoreOptions store;

  @Mixin LogChoice logs;

  @Option(names = "--live", description = "Also what is not settled yet.")
  boolean live;

  @Mixin TimeRange range;

  @Option(
      names = "--follow",
      description =
          "Print what becomes settled from now on, or since --from, until interrupted or --to is"
              + " settled. With --live each message that is written, once, as soon as it is there."
              + " The order is not the one that it will have, and one that is rejected later may be"
              + " among them.")
  boolean follow;

  @Option(
      names = "--tail",
      paramLabel = "N",
      description = "Only the last so many messages; with --follow these first.")
  @Nullable Integer tail;

  @Option(names = "--cut", paramLabel = "N", description = CutReading.HELP)
  @Nullable String cut;

  @Mixin LeaseChoice lease;
  @Mixin PrintOptions printing;

  @Option(
      names = "--end-mark",
      description =
          "With --json: a last line, of type end, with the exit code. Output without it is cut.")
  boolean endMark;

  /** Nothing from this time on is printed. */
  private long end;

  private LeaseChoice.Chosen chosen = LeaseChoice.Chosen.ALL;

  CatCommand(Io io) {
    this.io = io;
  }

  @Override
  public Integer call() throws IOException, InterruptedException, LeaseUnavailableException {
    range.check();
    printing.check();
    if (tail != null && tail < 0) {
      throw new Misuse("--tail is not negative");
    }
    lease.check(tail != null);
    if (cut != null) {
      CutReading.check(range, live || follow || lease.last, ", --live, --follow and --last-lease");
    }
    logs.check(lease.name != null || cut != null);
    if (!logs.isOne() && (live || tail != null)) {
      throw new Misuse("--live and --tail are for one log, whose whole name --log has");
    }
    if (endMark && !printing.asJson()) {
      throw new Misuse("--end-mark is for --json");
    }
    Store opened = store.open();
    @Nullable CutReading of = cut == null ? null : CutReading.of(opened, cut);
    List<Log> all = of == null ? logs.open(opened) : of.open(logs, range.start());
    end = of == null ? range.end() : of.time();
    chosen = lease.chosen(opened);
    var ignored = new IgnoredMessages(io, NAME);
    if (follow || !logs.isOne()) {
      tellOfOld(all);
    }
    Log last = read(opened, all, ignored);
    if (of != null) {
      List<Log> unused = of.open(logs, range.start()); // or some of it expired meanwhile
      return ended(ignored.end(), expired(last));
    }
    if (!follow && logs.isOne()) {
      tellOfOld(all); // also of what expired meanwhile
    }
    if (!follow && ignored.none()) {
      if (logs.isOne()) {
        NothingThere.tell(io, NAME, last, range, live);
      } else {
        NothingThere.tell(io, NAME, all, last, range);
      }
    }
    return ended(ignored.end(), expired(last));
  }

  private long expired(Log log) throws IOException {
    long expired = endMark && logs.isOne() ? log.reader().expired() : Long.MIN_VALUE;
    return range.start() < expired ? expired : Long.MIN_VALUE;
  }

  private void tellOfOld(List<Log> all) throws IOException {
    for (Log log : all) {
      OldMessages.tell(log.reader(), range, io, NAME, logs.isOne() ? "" : log.name() + ": ");
    }
  }

  /**
   * Says in a last line that the output is whole, for readers that can't learn the exit code.
   *
   * @param expired the time before which messages of the range expired; {@link Long#MIN_VALUE}:
   *     none
   */
  private int ended(int code, long expired) throws IOException {
    if (endMark) {
      try (Output out = io.output()) {
        out.ifClosed(code);
        JsonLines line = new JsonLines(out).object().text("type", "end").number("exitCode", code);
        line.timeIfAny("from", range.start()).timeIfAny("expiredBefore", expired).end();
      }
    }
    return code;
  }

  /**
   * Prints them.
   *
   * @return the log that is settled less far than the others
   */
  private Log read(Store opened, List<Log> all, IgnoredMessages ignored)
      throws IOException, InterruptedException {
    var progress = new Progress(io);
    try (Output out = io.output();
        var messages = new Following(all, start(), end, live, ignored)) {
      out.ifClosed(ExitCode.GOOD);
      MessageSink sink = watched(progress, printing.sink(out, messages::log, !logs.isOne()));
      if (tail != null) {
        messages.tail(tail);
      } else if (follow && range.from == null && !lease.last) {
        messages.tail(0); // from now on
      }
      messages.look();
      boolean more = print(messages, ignored, sink, out);
      if (follow && more) {
        messages.join(known -> logs.beside(opened, known));
        follow(messages, opened.context().time(), ignored, sink, out);
      }
      messages.end();
      progress.end();
      return messages.last();
    }
  }

  /** Goes on with what comes; says at a terminal what is waited for. */
  private void follow(
      Following messages, TimeSource time, IgnoredMessages ignored, MessageSink sink, Output out)
      throws IOException, InterruptedException {
    var wait = new LongWait(io, NAME, time::monotonicNanos);
    boolean more = true;
    while (more) {
      out.flush();
      if (messages.isOver()) {
        return;
      }
      if (!live && ignored.none()) {
        wait.goesOn(() -> NothingThere.waits(messages.last()));
      }
      time.sleepNanos(messages.pauseNanos());
      messages.look();
      more = print(messages, ignored, sink, out);
    }
  }

  /** Prints a round; false if no more is wanted. A follower gets whole buckets at a time. */
  private boolean print(Following messages, IgnoredMessages ignored, MessageSink sink, Output out)
      throws IOException {
    long width = messages.last().context().bucketWidth();
    long bucket = Long.MIN_VALUE;
    for (Message m = messages.next(); m != null; m = messages.next()) {
      ignored.passed();
      long start = follow ? Bucket.floor(m.timestamp(), width) : bucket;
      if (start != bucket) {
        out.flush();
        bucket = start;
      }
      if (chosen.has(m) && !sink.accept(m)) {
        return false;
      }
    }
    return true;
  }

  private long start() {
    return Math.max(range.start(), chosen.from());
  }

  /** Shows on a terminal how many there were, unless the messages themselves go to it. */
  private MessageSink watched(Progress progress, MessageSink sink) {
    if (!io.terminal() || io.outTerminal()) {
      return sink;
    }
    return new MessageSink() {
      private long count;

      @Override
      public boolean accept(Message message) throws IOException {
        progress.show(++count, " messages");
        return sink.accept(message);
      }
    };
  }
}
