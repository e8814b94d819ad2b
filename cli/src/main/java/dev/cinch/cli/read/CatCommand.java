package dev.cinch.cli.read;

import dev.cinch.bag.Log;
import dev.cinch.bag.Store;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.Message;
import dev.cinch.bag.read.LogReader;
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
import java.io.IOException;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.function.Consumer;
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
      "  cinch cat --log 'jobs-*' --log payments --format csv"
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

  @Mixin LeaseChoice lease;
  @Mixin PrintOptions printing;

  @Option(
      names = "--end-mark",
      description =
          "With --json: a last line, of type end, with the exit code. Output without it is cut.")
  boolean endMark;

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
    logs.check(lease.name != null);
    if (!logs.isOne() && (live || tail != null)) {
      throw new Misuse("--live and --tail are for one log, whose whole name --log has");
    }
    if (endMark && !printing.asJson()) {
      throw new Misuse("--end-mark is for --json");
    }
    Store opened = store.open();
    return logs.isOne() ? one(opened) : several(opened);
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

  private int several(Store opened)
      throws IOException, InterruptedException, LeaseUnavailableException {
    List<Log> all = logs.open(opened);
    chosen = lease.chosen(opened);
    var ignored = new IgnoredMessages(io, NAME);
    var progress = new Progress(io);
    for (Log log : all) {
      OldMessages.tell(log.reader(), range, io, NAME, log.name() + ": ");
    }
    try (Output out = io.output()) {
      out.ifClosed(ExitCode.GOOD);
      MessageSink sink = watched(progress, printing.sink(out, all.get(0).name()));
      var merge = new SeveralLogs(all, sink, ignored, out, chosen::has);
      if (follow) {
        merge.follow(
            start(), range.end(), range.from == null && !lease.last, waiting(opened, ignored));
      } else {
        Log last = merge.read(start(), range.end());
        if (ignored.none()) {
          NothingThere.tell(io, NAME, all, last, range);
        }
      }
    }
    progress.end();
    return ended(ignored.end(), Long.MIN_VALUE);
  }

  /** Says at a terminal what a log is waited for, unless there was a message. */
  private Follower.Waiting waiting(Store opened, IgnoredMessages messages) {
    var wait = new LongWait(io, NAME, opened.context().time()::monotonicNanos);
    return log -> {
      if (messages.none()) {
        wait.goesOn(() -> NothingThere.waits(log));
      }
    };
  }

  private int one(Store opened)
      throws IOException, InterruptedException, LeaseUnavailableException {
    Log target = opened.log(logs.one());
    chosen = lease.chosen(opened);
    var ignored = new IgnoredMessages(io, NAME);
    var progress = new Progress(io);
    try (Output out = io.output()) {
      out.ifClosed(ExitCode.GOOD);
      MessageSink sink = ignored.watched(watched(progress, chosen(sink(out, target))));
      if (follow) {
        OldMessages.tell(target.reader(), range, io, NAME, "");
        follow(target, sink, ignored, out, waiting(opened, ignored));
      } else {
        read(target, sink, ignored);
      }
    }
    progress.end();
    if (!follow) {
      OldMessages.tell(target.reader(), range, io, NAME, ""); // also of what expired meanwhile
    }
    if (!follow && ignored.none()) {
      NothingThere.tell(io, NAME, target, range, live);
    }
    long expired = endMark ? target.reader().expired() : Long.MIN_VALUE;
    return ended(ignored.end(), range.start() < expired ? expired : Long.MIN_VALUE);
  }

  private void read(Log target, MessageSink sink, LogReader.Objection ignored) throws IOException {
    if (tail == null) {
      long unused = read(target, start(), sink, ignored);
    } else if (tail > 0) {
      long unused = readTail(target, tail, sink, m -> {}, ignored);
    }
  }

  private long read(Log target, long from, MessageSink sink, LogReader.Objection ignored)
      throws IOException {
    return live
        ? target.reader().live(from, range.end(), sink, ignored)
        : target.reader().settled(from, range.end(), sink, ignored);
  }

  /**
   * Prints the last messages.
   *
   * @param meeting told of all that were read, in order
   * @return where to go on
   */
  private long readTail(
      Log target,
      int count,
      MessageSink sink,
      Consumer<Message> meeting,
      LogReader.Objection ignored)
      throws IOException {
    LogReader reader = target.reader();
    var last = new LastMessages(count);
    long start = count == 0 ? reader.settledThrough() : reader.startOfLast(count, range.end());
    long next =
        read(
            target,
            Math.max(start(), start),
            m -> {
              meeting.accept(m);
              return last.accept(m);
            },
            ignored);
    last.to(sink);
    return next;
  }

  /** From now on; from --from if that is given, and after the last ones with --tail. */
  private void follow(
      Log target,
      MessageSink sink,
      LogReader.Objection ignored,
      Output out,
      Follower.Waiting waiting)
      throws IOException, InterruptedException {
    LogReader reader = target.reader();
    int count = tail == null ? 0 : tail;
    boolean all = (range.from != null || lease.last) && tail == null;
    if (live) {
      var follower = new Follower(target, range.end(), sink, ignored, out);
      // What is there already, and not settled, is met here and is not new later.
      follower.live(
          all ? start() : readTail(target, count, sink, follower::meet, follower.once(ignored)),
          !all);
      return;
    }
    long next =
        count > 0
            ? readTail(target, count, sink, m -> {}, ignored)
            : all ? start() : Math.max(start(), reader.settledThrough());
    new Follower(target, range.end(), sink, ignored, out).settled(next, !all, waiting);
  }

  private long start() {
    return Math.max(range.start(), chosen.from());
  }

  private MessageSink chosen(MessageSink sink) {
    LeaseChoice.Chosen which = chosen;
    return message -> !which.has(message) || sink.accept(message);
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

  private MessageSink sink(Output out, Log target) throws IOException {
    MessageSink print = printing.sink(out, target.name());
    if (!follow) {
      return print;
    }
    long width = target.context().bucketWidth();
    return new MessageSink() {
      private long bucket = Long.MIN_VALUE;

      @Override
      public boolean accept(Message message) throws IOException {
        long start = Bucket.floor(message.timestamp(), width);
        if (start != bucket) {
          out.flush(); // whole buckets at a time
          bucket = start;
        }
        return print.accept(message);
      }
    };
  }
}
