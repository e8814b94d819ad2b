package dev.cinch.cli.read;

import dev.cinch.bag.Log;
import dev.cinch.bag.Store;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.read.LogReader;
import dev.cinch.bag.read.Message;
import dev.cinch.bag.read.MessageSink;
import dev.cinch.cli.base.CreateOption;
import dev.cinch.cli.base.ExitCode;
import dev.cinch.cli.base.Io;
import dev.cinch.cli.base.Misuse;
import dev.cinch.cli.base.Numbered;
import dev.cinch.cli.base.Output;
import dev.cinch.cli.base.Progress;
import dev.cinch.cli.base.StoreOptions;
import dev.cinch.cli.base.TimeRange;
import dev.cinch.lease.LeaseUnavailableException;
import java.io.IOException;
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
      "With --live also those that are not settled yet. Exit code 1 if there are messages and all"
          + " were left out because of their leases. Exit code 5 if some expired while they were"
          + " read: the output lacks them."
    },
    footer = {
      "",
      "Examples:",
      "  cinch cat --log jobs --from -1h",
      "  cinch cat --log jobs --tail 10 --follow --json",
      "  cinch cat --log jobs --lease jobs/42 --last-lease --live"
    })
@SuppressWarnings("NullAway.Init") // picocli sets the fields
public final class CatCommand implements Callable<Integer> {
  private final Io io;

  @Mixin StoreOptions store;

  @Option(names = "--log", required = true, paramLabel = "NAME", description = "The log.")
  LogName log;

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

  private LeaseChoice.Chosen chosen = LeaseChoice.Chosen.ALL;

  CatCommand(Io io) {
    this.io = io;
  }

  @Override
  public Integer call() throws IOException, InterruptedException, LeaseUnavailableException {
    range.check();
    if (tail != null && tail < 0) {
      throw new Misuse("--tail is not negative");
    }
    lease.check(tail != null);
    Store opened = store.open();
    Log target = CreateOption.existing(opened, log);
    chosen = lease.chosen(opened);
    var ignored = new IgnoredMessages(io, "cinch cat");
    var progress = new Progress(io);
    try (Output out = io.output()) {
      out.ifClosed(ExitCode.GOOD);
      ignored.alsoTo(out, printing);
      MessageSink sink =
          ignored.watched(watched(progress, chosen(sink(out, target.context().bucketWidth()))));
      if (follow) {
        OldMessages.tell(target.reader(), range, io, "cinch cat");
        follow(target, sink, ignored, out);
      } else {
        read(target, new Numbered(printing.asJson()), sink, ignored);
      }
    }
    progress.end();
    if (!follow) {
      OldMessages.tell(target.reader(), range, io, "cinch cat"); // also of what expired meanwhile
    }
    if (!follow && io.terminal() && ignored.none()) {
      io.say("cinch cat", NothingThere.why(target, range, live));
    }
    return ignored.end();
  }

  private void read(Log target, Numbered numbers, MessageSink sink, LogReader.Objection ignored)
      throws IOException {
    if (tail == null) {
      long unused = read(target, numbers, start(), sink, ignored);
    } else if (tail > 0) {
      long unused = readTail(target, numbers, tail, sink, m -> {}, ignored);
    }
  }

  private long read(
      Log target, Numbered numbers, long from, MessageSink sink, LogReader.Objection ignored)
      throws IOException {
    long start = numbers.begin(target, from);
    MessageSink counted = numbers.counting(sink);
    LogReader.Objection objection = numbers.counting(ignored);
    return live
        ? target.reader().live(start, range.end(), counted, objection)
        : target.reader().settled(start, range.end(), counted, objection);
  }

  /**
   * Prints the last messages.
   *
   * @param meeting told of all that were read, in order
   * @return where to go on
   */
  private long readTail(
      Log target,
      Numbered numbers,
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
            numbers,
            Math.max(start(), start),
            m -> {
              meeting.accept(m);
              return last.accept(m);
            },
            last.keeping(ignored));
    last.to(sink, ignored);
    return next;
  }

  /** From now on; from --from if that is given, and after the last ones with --tail. */
  private void follow(Log target, MessageSink sink, LogReader.Objection ignored, Output out)
      throws IOException, InterruptedException {
    LogReader reader = target.reader();
    int count = tail == null ? 0 : tail;
    boolean all = (range.from != null || lease.last) && tail == null;
    if (live) {
      var follower = new Follower(target, range.end(), sink, ignored, out);
      // What is there already, and not settled, is met here and is not new later. It is read again
      // and again, so nothing is counted.
      follower.live(
          all
              ? start()
              : readTail(
                  target, new Numbered(false), count, sink, follower::meet, follower.once(ignored)),
          !all);
      return;
    }
    var numbers = new Numbered(printing.asJson());
    long next;
    if (count > 0) {
      next = readTail(target, numbers, count, sink, m -> {}, ignored);
    } else {
      long from = all ? start() : Math.max(start(), reader.settledThrough());
      next = numbers.begin(target, from);
    }
    new Follower(target, range.end(), numbers.counting(sink), numbers.counting(ignored), out)
        .settled(next, !all);
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

  private MessageSink sink(Output out, long width) {
    MessageSink print = printing.sink(out);
    if (!follow) {
      return print;
    }
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
