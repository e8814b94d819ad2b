package dev.cinch.cli;

import dev.cinch.bag.Store;
import dev.cinch.bag.audit.Finding;
import dev.cinch.bag.audit.StoreVerifier;
import dev.cinch.bag.audit.VerifyListener;
import dev.cinch.bag.audit.VerifySummary;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.layout.Bucket;
import dev.cinch.bag.layout.LogName;
import dev.cinch.bag.read.SegmentReader;
import dev.cinch.bag.read.SegmentVerifier;
import dev.cinch.bag.read.Segments;
import dev.cinch.bag.store.LogContext;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.OptionalLong;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Reads and checks every byte of a store. */
@Command(
    name = "verify",
    mixinStandardHelpOptions = true,
    description = {
      "Read every byte of a store and check it. Goes on after damage, and writes nothing.",
      "Prints a line a finding, then a summary; exit code 1 if an answer would be wrong."
    },
    footer = {"", "Example:", "  cinch verify --store /mnt/shared/store"})
@SuppressWarnings("NullAway.Init") // picocli sets the fields
final class VerifyCommand implements Callable<Integer> {
  private final Io io;

  @Mixin StoreOptions store;

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
      VerifySummary s = StoreVerifier.verify(store.store, store.environment(), printer);
      var segments = new SegmentsCheck();
      if (s.intact()) { // otherwise store or log may not open, and the exit code is known
        segments.run(store.open(), printer);
      }
      boolean intact = s.intact() && segments.damaged == 0;
      out.line(
          "%s: %d files (%d bytes), %d logs, %d records, %d buckets, %d messages, %d segments; %d damaged, %d covered by locks, %d notes"
              .formatted(
                  intact ? "intact" : "DAMAGED",
                  s.files(),
                  s.bytes(),
                  s.logs(),
                  s.records(),
                  s.buckets(),
                  s.messages(),
                  segments.read,
                  s.damage() + segments.damaged,
                  s.covered(),
                  s.notes()));
      return intact ? ExitCode.GOOD : ExitCode.DAMAGE;
    } catch (UncheckedIOException e) {
      throw e.getCause();
    }
  }

  /** Reads every segment of every log, and goes on after a damaged one. */
  private static final class SegmentsCheck {
    private long read;
    private long damaged;

    void run(Store opened, Printer printer) throws IOException {
      for (LogName name : opened.logs()) {
        LogContext log = opened.log(name).context();
        long last = new Segments(log).last(false).orElse(0);
        for (long n = 1; n <= last; n++) {
          try (SegmentReader segment = SegmentReader.open(log, n)) {
            new SegmentVerifier(segment).verify(bucket -> {});
            read++;
          } catch (DamagedException e) {
            damaged++;
            printer.print("damage " + e.getMessage());
          } catch (NoSuchFileException e) {
            damaged++;
            printer.print("damage " + e.getFile() + ": segments have a gap here");
          }
        }
      }
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
      if (notes || finding.severity() != Finding.Severity.NOTE) {
        print(finding.toString());
      }
    }

    private void print(String text) {
      try {
        out.line(Failure.oneLine(text));
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    /** A bucket may be gone once a segment has it (rule R1). */
    @Override
    public boolean retired(LogName name, long bucketStart) {
      try {
        LogContext log = store.open().log(name).context();
        var segments = new Segments(log);
        OptionalLong last = segments.last(false);
        return last.isPresent()
            && segments
                .bucket(new Bucket(bucketStart, log.bucketWidth()), last.getAsLong())
                .isPresent();
      } catch (IOException e) {
        return false; // nothing proves that it is kept, and damage is what to call that
      }
    }

    @Override
    public void progress(Path file, VerifySummary soFar) {
      progress.show(soFar.files(), " files, " + (soFar.bytes() >> 20) + " MiB verified");
    }
  }
}
