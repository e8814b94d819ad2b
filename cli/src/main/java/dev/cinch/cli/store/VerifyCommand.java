package dev.cinch.cli.store;

import dev.cinch.bag.audit.Finding;
import dev.cinch.bag.audit.StoreVerifier;
import dev.cinch.bag.audit.VerifyListener;
import dev.cinch.bag.audit.VerifySummary;
import dev.cinch.bag.model.Name;
import dev.cinch.cli.base.ExitCode;
import dev.cinch.cli.base.Failure;
import dev.cinch.cli.base.Io;
import dev.cinch.cli.base.JsonOption;
import dev.cinch.cli.base.Output;
import dev.cinch.cli.base.Progress;
import dev.cinch.cli.base.StoreOptions;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Reads and checks every byte of a store. */
@Command(
    name = "verify",
    description = {
      "Read every byte of a store and check it.",
      "Goes on after damage, and changes nothing. Prints a line a finding, then a summary; exit"
          + " code 1 if an answer would be wrong."
    },
    footer = {"", "Example:", "  cinch verify --store /mnt/shared/store"})
@SuppressWarnings("NullAway.Init") // picocli sets the fields
public final class VerifyCommand implements Callable<Integer> {
  private final Io io;

  @Mixin StoreOptions store;
  @Mixin JsonOption json;

  @Option(
      names = "--notes",
      description = "Also print what no answer depends on: foreign files, torn tails.")
  boolean notes;

  VerifyCommand(Io io) {
    this.io = io;
  }

  @Override
  public Integer call() throws IOException {
    try (Output out = io.output()) {
      var printer = new Printer(out);
      VerifySummary s = StoreVerifier.verify(store.name(), store.environment(), printer);
      printer.progress.end();
      json.print(
          out,
          "%s: %d files (%d bytes), %d logs, %d records, %d buckets, %d messages; %d damaged, %d notes"
              .formatted(
                  s.intact() ? "intact" : "DAMAGED",
                  s.files(),
                  s.bytes(),
                  s.logs(),
                  s.records(),
                  s.buckets(),
                  s.messages(),
                  s.damage(),
                  s.notes()),
          line ->
              line.text("type", "summary")
                  .flag("intact", s.intact())
                  .number("files", s.files())
                  .number("bytes", s.bytes())
                  .number("logs", s.logs())
                  .number("records", s.records())
                  .number("buckets", s.buckets())
                  .number("messages", s.messages())
                  .number("damage", s.damage())
                  .number("notes", s.notes()));
      return s.intact() ? ExitCode.GOOD : ExitCode.DAMAGE;
    } catch (UncheckedIOException e) {
      throw e.getCause();
    }
  }

  private final class Printer implements VerifyListener {
    private final Output out;
    private final Progress progress = new Progress(io);

    Printer(Output out) {
      this.out = out;
    }

    @Override
    public void found(Finding finding) {
      if (finding.severity() == Finding.Severity.DAMAGE) {
        out.ifClosed(ExitCode.DAMAGE);
      }
      if (notes || finding.severity() != Finding.Severity.NOTE) {
        print(finding, finding.severity() == Finding.Severity.DAMAGE);
      }
    }

    /** Damage is told at once: the whole may take hours. */
    private void print(Finding f, boolean atOnce) {
      try {
        json.print(
            out,
            Failure.oneLine(f.toString()),
            line ->
                line.text("type", "finding")
                    .text("severity", f.severity().name())
                    .text("path", f.path().toString())
                    .number("offset", f.offset())
                    .text("expected", f.expected())
                    .text("actual", f.actual()));
        if (atOnce) {
          out.flush();
        }
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    @Override
    public void progress(Name file, VerifySummary soFar) {
      progress.show(soFar.files(), " files, " + (soFar.bytes() >> 20) + " MiB verified");
    }
  }
}
