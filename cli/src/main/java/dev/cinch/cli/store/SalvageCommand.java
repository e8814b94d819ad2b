package dev.cinch.cli.store;

import dev.cinch.bag.Store;
import dev.cinch.bag.audit.Salvage;
import dev.cinch.bag.audit.SalvageSink;
import dev.cinch.bag.audit.Salvaged;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.Name;
import dev.cinch.cli.base.ExitCode;
import dev.cinch.cli.base.Io;
import dev.cinch.cli.base.JsonLines;
import dev.cinch.cli.base.MessageJson;
import dev.cinch.cli.base.Output;
import dev.cinch.cli.base.Progress;
import dev.cinch.cli.base.StoreOptions;
import dev.cinch.cli.read.PrintOptions;
import dev.cinch.lease.time.SystemTime;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.NoSuchFileException;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Gets what is whole out of a damaged store. */
@Command(
    name = "salvage",
    description = {
      "Print every undamaged message of a log of a damaged store, in order, and say on standard"
          + " error what was left.",
      "Writes nothing to the store, and needs neither its store.json nor whole locks and records."
          + " Where these are lost, nobody can tell whether a message was committed: such messages"
          + " are marked UNPROVEN in JSON, and --proven leaves them out. Exit code 1 if anything"
          + " was damaged. Whether leases permitted a message is not judged."
    },
    footer = {"", "Example:", "  cinch salvage --store /mnt/shared/store --log jobs > jobs.txt"})
@SuppressWarnings("NullAway.Init") // picocli sets the fields
public final class SalvageCommand implements Callable<Integer> {
  private final Io io;

  @Option(
      names = "--store",
      required = true,
      paramLabel = "DIR",
      description = "The store's directory, or s3://BUCKET/PREFIX (or set CINCH_STORE).")
  Name store;

  @Option(names = "--log", required = true, paramLabel = "NAME", description = "The log.")
  LogName log;

  @Mixin PrintOptions printing;

  @Option(names = "--proven", description = "Only messages that are proven to be settled.")
  boolean proven;

  SalvageCommand(Io io) {
    this.io = io;
  }

  @Override
  public Integer call() throws IOException {
    try (Output out = io.output()) {
      var printer = new Printer(out);
      try {
        var left = Store.remains(store, StoreOptions.ofHost(SystemTime.INSTANCE));
        Salvage.run(left.storage(), left.layout().log(log), printer);
      } catch (NoSuchFileException e) {
        throw new IOException("there is no log \"" + log + "\" in " + store, e);
      }
      out.flush();
      printer.progress.end();
      printer.summary();
      return printer.damaged > 0 ? ExitCode.DAMAGE : ExitCode.GOOD;
    } catch (UncheckedIOException e) {
      throw e.getCause();
    }
  }

  private final class Printer implements SalvageSink {
    private final Output out;
    private final JsonLines json;
    private final long[] byState = new long[Salvaged.State.values().length];
    private final Progress progress = new Progress(io);
    private long damaged;

    Printer(Output out) {
      this.out = out;
      this.json = new JsonLines(out);
    }

    @Override
    public void message(Salvaged m) throws IOException {
      byState[m.state().ordinal()]++;
      progress.show(byState[0] + byState[1] + byState[2], " messages");
      if (proven && m.state() != Salvaged.State.SETTLED) {
        return;
      }
      if (!printing.asJson()) {
        out.write(m.payload());
        out.write('\n');
        return;
      }
      MessageJson.place(
              json.object().text("type", "message"), m.timestamp(), m.file(), m.position())
          .text("state", m.state().name())
          .payload(m.payload())
          .end();
    }

    @Override
    public void left(Kind kind, Name path, long offset, long length, String why) {
      if (kind == Kind.DAMAGE) {
        damaged++;
        out.ifClosed(ExitCode.DAMAGE);
      }
      if (printing.asJson()) {
        try {
          json.object()
              .text("type", "left")
              .text("kind", kind.name())
              .text("path", path.toString())
              .number("offset", offset)
              .number("length", length)
              .text("why", why)
              .end();
        } catch (IOException e) {
          throw new UncheckedIOException(e);
        }
      }
      io.say(
          "cinch salvage",
          "%s: %s at byte %d%s: %s"
              .formatted(
                  kind.name().toLowerCase(Locale.ROOT),
                  path,
                  offset,
                  length > 0 ? ", " + length + " bytes" : "",
                  why));
    }

    void summary() throws IOException {
      if (printing.asJson()) {
        json.object()
            .text("type", "summary")
            .number("settled", byState[0])
            .number("unsettled", byState[1])
            .number("unproven", byState[2])
            .number("damaged", damaged)
            .end();
        out.flush();
      }
      io.say(
          "cinch salvage",
          "%d settled, %d not settled yet, %d unproven messages; %d places damaged"
              .formatted(byState[0], byState[1], byState[2], damaged));
    }
  }
}
