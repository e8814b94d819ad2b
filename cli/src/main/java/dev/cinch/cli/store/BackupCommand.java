package dev.cinch.cli.store;

import dev.cinch.backup.Backup;
import dev.cinch.backup.Restoration;
import dev.cinch.backup.RestoredLog;
import dev.cinch.bag.Store;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Words;
import dev.cinch.bag.registry.StoreCeilings;
import dev.cinch.cli.base.Converters.Moment;
import dev.cinch.cli.base.ExitCode;
import dev.cinch.cli.base.Failure;
import dev.cinch.cli.base.Io;
import dev.cinch.cli.base.JsonOption;
import dev.cinch.cli.base.Misuse;
import dev.cinch.cli.base.Output;
import dev.cinch.cli.base.Progress;
import dev.cinch.cli.base.StoreOptions;
import dev.cinch.lease.time.SystemTime;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Copies a store while it is used, and makes such a copy a store again (rule H10). */
@Command(
    name = "backup",
    description = {
      "Copy a store while writers, closers, view build, gc and expire go on.",
      "The copy has all that was settled through the time that it says, of each log, and nothing"
          + " after that. It settles first what may be settled. The next run brings what is new. It"
          + " may be ended anywhere, and run again. The copy can be read like a store, and written"
          + " to once --restore was run on it. A log that is damaged or can't be read keeps no other"
          + " log from it."
    },
    footer = {
      "",
      "Examples:",
      "  cinch backup --store /mnt/shared/store /backup/store",
      "  cinch backup --restore /backup/store"
    })
@SuppressWarnings("NullAway.Init") // picocli sets the fields
public final class BackupCommand implements Callable<Integer> {
  private static final String COMMAND = "cinch backup";

  private final Io io;

  @Option(
      names = "--store",
      paramLabel = "DIR",
      description = "The store's directory (or set CINCH_STORE).")
  @Nullable Name store;

  @Option(
      names = "--restore",
      description =
          "Make the backup in DEST a store to write to, and say what it has. It gets no further"
              + " backups then.")
  boolean restore;

  @Mixin JsonOption json;

  @Parameters(paramLabel = "DEST", description = "The backup's directory: new, empty, or a backup.")
  Path directory;

  BackupCommand(Io io) {
    this.io = io;
  }

  @Override
  public Integer call() throws IOException, InterruptedException {
    Path root = directory.toAbsolutePath().normalize();
    try (Output out = io.output()) {
      return restore ? restore(root, out) : copy(root, out);
    }
  }

  private int copy(Path root, Output out) throws IOException, InterruptedException {
    if (store == null) {
      throw new Misuse("name the store with --store, or set CINCH_STORE");
    }
    if (!store.isDirectory()) {
      throw new Misuse("backup copies a directory; " + store + " is none");
    }
    Path source = store.path().toRealPath();
    Path real = real(root);
    if (real.startsWith(source) || source.startsWith(real)) {
      throw new Misuse("the backup and the store can't stand one in the other: " + real);
    }
    Store opened = Store.open(store, environment());
    long unused = opened.context().checkedNow();
    var progress = new Progress(io);
    Backup.Result result;
    try {
      result =
          new Backup(opened, environment().fs(), root, n -> progress.show(n, " files copied"))
              .run();
    } finally {
      progress.end();
    }
    int code = ExitCode.GOOD;
    for (Backup.Problem p : result.problems()) {
      code = ExitCode.worse(code, io.told(COMMAND + ": " + p.log(), p.why()));
    }
    OptionalLong instant = result.instant();
    for (Map.Entry<LogName, Long> log : result.through().entrySet()) {
      if (log.getValue() != instant.orElse(Long.MIN_VALUE)) {
        print(out, log.getKey(), log.getValue());
      }
    }
    json.print(
        out,
        "%s: %s; %d files copied (%s)"
            .formatted(
                root,
                instant.isEmpty()
                    ? "nothing was settled yet"
                    : "whole through " + Moment.text(instant.getAsLong()),
                result.files(),
                Words.bytes(result.bytes())),
        line -> {
          line.text("type", "backup").text("directory", root.toString());
          if (instant.isPresent()) {
            line.time("through", instant.getAsLong());
          }
          line.number("files", result.files()).number("bytes", result.bytes());
        });
    return code;
  }

  private void print(Output out, LogName log, long through) throws IOException {
    json.print(
        out,
        log
            + (through == Long.MIN_VALUE
                ? ": nothing was settled yet"
                : ": whole through " + Moment.text(through)),
        line -> {
          line.text("type", "log").text("log", log.toString());
          if (through > Long.MIN_VALUE) {
            line.time("through", through);
          }
        });
  }

  private static Store.Environment environment() {
    return new StoreOptions().environment(SystemTime.INSTANCE);
  }

  /** Where it is, or will be. */
  private static Path real(Path path) throws IOException {
    Path above = path.getParent();
    return Files.exists(path) || above == null
        ? path.toRealPath()
        : real(above).resolve(path.getFileName());
  }

  private int restore(Path root, Output out) throws IOException {
    if (!Files.isDirectory(root)) {
      throw new Failure.Refusal(root + " is no directory");
    }
    for (Map.Entry<LogName, RestoredLog.Mended> log :
        Restoration.restore(root, environment()).entrySet()) {
      print(out, log.getKey(), log.getValue().through());
    }
    Store opened = Store.open(root, environment());
    long longest = opened.settings().longestLeaseMs() * 1_000_000;
    OptionalLong known = StoreCeilings.of(opened.context()).highestOfAll();
    json.print(
        out,
        "%s can be written to. Never write to the original and to this one. %s"
            .formatted(
                root,
                known.isEmpty()
                    ? "It knows of no leases."
                    : ("A lease server waits for leases through %s. It knows of none that was granted"
                            + " later: start one %s or more after the original's server ended.")
                        .formatted(Moment.text(known.getAsLong()), Words.span(longest))),
        line -> {
          line.text("type", "restored").text("directory", root.toString());
          if (known.isPresent()) {
            line.time("leasesThrough", known.getAsLong());
          }
        });
    return ExitCode.GOOD;
  }
}
