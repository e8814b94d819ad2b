package dev.cinch.cli;

import dev.cinch.bag.Log;
import dev.cinch.bag.Store;
import dev.cinch.bag.layout.Bucket;
import dev.cinch.bag.layout.LogName;
import dev.cinch.bag.read.LogReader;
import dev.cinch.bag.read.Message;
import dev.cinch.bag.read.MessageSink;
import java.io.IOException;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Prints messages in order. */
@Command(
    name = "cat",
    mixinStandardHelpOptions = true,
    description = {
      "Print a log's settled messages in order: the same for everyone, and for ever.",
      "With --live also those that are not settled yet.",
      "Exit code 1 if there are messages and all were left out because of their leases."
    },
    footer = {
      "",
      "Examples:",
      "  cinch cat --log jobs --from -1h",
      "  cinch cat --log jobs --follow --json"
    })
@SuppressWarnings("NullAway.Init") // picocli sets the fields
final class CatCommand implements Callable<Integer> {
  private static final long LONGEST_PAUSE_NANOS = 1_000_000_000;
  private static final long SHORTEST_PAUSE_NANOS = 50_000_000;

  private final Io io;

  @Spec CommandSpec spec;
  @Mixin StoreOptions store;

  @Option(names = "--log", required = true, paramLabel = "NAME", description = "The log.")
  LogName log;

  @Option(names = "--live", description = "Also what is not settled yet.")
  boolean live;

  @Mixin TimeRange range;

  @Option(
      names = "--follow",
      description = "Go on with what becomes settled, until interrupted or --to is settled.")
  boolean follow;

  @Mixin PrintOptions printing;

  CatCommand(Io io) {
    this.io = io;
  }

  @Override
  public Integer call() throws IOException, InterruptedException {
    if (live && follow) {
      throw new ParameterException(
          spec.commandLine(), "--follow waits for what is settled; it does not go with --live");
    }
    range.check();
    Store opened = store.open();
    Log target = opened.log(log);
    LogReader reader = target.reader();
    long start = range.start();
    long end = range.end();
    var ignored = new IgnoredMessages(io, "cinch cat");
    var progress = new Progress(io);
    try (Output out = io.output()) {
      out.ifClosed(ExitCode.GOOD);
      MessageSink sink =
          ignored.watched(watched(progress, sink(out, target.context().bucketWidth())));
      if (live) {
        reader.live(start, end, sink, ignored);
      } else if (follow) {
        follow(opened, reader, start, end, sink, ignored, out);
      } else {
        reader.settled(start, end, sink, ignored);
      }
    }
    progress.end();
    return ignored.end();
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

  /** The next record is waited for by listing, never by asking for its name (rule N3). */
  private void follow(
      Store opened,
      LogReader reader,
      long start,
      long end,
      MessageSink sink,
      LogReader.Objection ignored,
      Output out)
      throws IOException, InterruptedException {
    long width = opened.settings().bucketWidthNanos();
    long pause = Math.max(SHORTEST_PAUSE_NANOS, Math.min(LONGEST_PAUSE_NANOS, width));
    long next = start;
    while (true) {
      long settled = reader.settled(next, end, sink, ignored);
      out.flush();
      next = Math.max(next, settled);
      if (next >= end) {
        return;
      }
      opened.context().time().sleepNanos(pause);
    }
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
