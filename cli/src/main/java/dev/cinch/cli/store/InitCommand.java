package dev.cinch.cli.store;

import dev.cinch.bag.Store;
import dev.cinch.bag.model.MachineName;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.cli.base.ExitCode;
import dev.cinch.cli.base.HangWatch;
import dev.cinch.cli.base.Io;
import dev.cinch.cli.base.JsonOption;
import dev.cinch.cli.base.MachineNames;
import dev.cinch.cli.base.Misuse;
import dev.cinch.cli.base.Output;
import dev.cinch.cli.base.StoreOptions;
import dev.cinch.cli.serve.KeygenCommand;
import dev.cinch.lease.time.SystemTime;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Makes a store. */
@Command(
    name = "init",
    sortOptions = false,
    description = {
      "Make a store in a new or empty directory.",
      "Its settings never change, but for the longest lease: see cinch serve --longest-lease."
    },
    footer = {
      "",
      "With --key the store pins the key: no other can ever pass for its first one. Each later key"
          + " needs the signature of an earlier one (cinch keygen --signed-by).",
      "",
      "Example:",
      "  cinch init --key cinch.key --leases required --bucket-width 5s /mnt/shared/store"
    })
@SuppressWarnings("NullAway.Init") // picocli sets the fields
public final class InitCommand implements Callable<Integer> {
  private final Io io;

  @Spec CommandSpec spec;

  @Parameters(
      arity = "0..1",
      paramLabel = "DIR",
      description =
          "Where to make it, a directory or s3://BUCKET/PREFIX; the value of --store if it is left out.")
  @Nullable Name directory;

  @Option(names = "--store", paramLabel = "DIR", description = "The same (or set CINCH_STORE).")
  @Nullable Name store;

  @Option(
      names = "--endpoint",
      paramLabel = "URL",
      description = "The server of s3://BUCKET (or set AWS_ENDPOINT_URL).")
  @Nullable URI endpoint;

  @Option(names = "--machine", paramLabel = "NAME", hidden = true)
  @Nullable MachineName machine;

  @Option(
      names = "--bucket-width",
      paramLabel = "DURATION",
      description =
          "The time that one bucket holds, 100ms to 1h. Wide ones make fewer files, and are settled later. In an object store 10s unless set.",
      defaultValue = "1s")
  Duration bucketWidth;

  @Option(
      names = "--grace",
      paramLabel = "DURATION",
      description =
          "A bucket may be closed so long after its end: slow appends and wrong clocks get that time. In an object store 10s unless set.",
      defaultValue = "2s")
  Duration grace;

  @Option(
      names = "--clock-ahead",
      paramLabel = "DURATION",
      description =
          "A machine whose clock is further ahead of the storage's may not write or close. In an object store 2s unless set.",
      defaultValue = "500ms")
  Duration clockAhead;

  @Option(
      names = "--clock-behind",
      paramLabel = "DURATION",
      description = "The same for a clock that is behind.",
      defaultValue = "500ms")
  Duration clockBehind;

  @Option(
      names = "--timestamp-distance",
      paramLabel = "DURATION",
      description = "A timestamp may be so far ahead of its writer's clock.",
      defaultValue = "500ms")
  Duration timestampDistance;

  @Option(
      names = "--slow-append",
      paramLabel = "DURATION",
      description =
          "Appends slower than this count as slow. Raise it on slow storage. In an object store 5s unless set.",
      defaultValue = "500ms")
  Duration slowAppend;

  @Option(
      names = "--longest-lease",
      paramLabel = "DURATION",
      description = "The longest lease time, unless serve is told another.",
      defaultValue = "60s")
  Duration longestLease;

  @Option(
      names = "--lease-margin",
      paramLabel = "DURATION",
      description = "So long before a lease ends nothing is written under it any more.",
      defaultValue = "500ms")
  Duration leaseMargin;

  @Option(
      names = "--file-mode",
      paramLabel = "OCTAL",
      description = "Mode of new files; 0660 keeps messages from users outside of the group.",
      defaultValue = "0664")
  String fileMode;

  @Option(
      names = "--directory-mode",
      paramLabel = "OCTAL",
      description = "Mode of new directories; 02770 goes with 0660.",
      defaultValue = "02775")
  String directoryMode;

  @Option(
      names = "--group",
      paramLabel = "NAME",
      description = "Group of everything created; as the filesystem gives it unless set.")
  @Nullable String group;

  @Option(
      names = "--message-limit",
      paramLabel = "BYTES",
      description = "The longest message in bytes, 1 to 16777216.",
      defaultValue = "1048576")
  int messageLimit;

  @Option(
      names = "--confirm",
      paramLabel = "WHEN",
      description =
          "always: each append looks whether its bucket is being closed. late: only slow ones look,"
              + " which is safe where a server alone gives change times (docs/operating.md).",
      defaultValue = "always")
  StoreSettings.Confirm confirm;

  @Option(
      names = "--leases",
      paramLabel = "HOW",
      description =
          "optional: anybody may append. required: messages without a valid lease do not exist.",
      defaultValue = "optional")
  StoreSettings.Leases leases;

  @Option(
      names = "--key",
      paramLabel = "FILE",
      description =
          "Signing key of the lease service, made with mode 0600 if there is none. The store pins"
              + " its public part.")
  @Nullable Path key;

  @Option(
      names = "--owner",
      paramLabel = "USER",
      description =
          "Who runs the lease server: keys, service and the store's own directory are theirs alone"
              + " to write, and the group's to read. Only root gives them to another user.")
  @Nullable String owner;

  @Mixin JsonOption json;

  InitCommand(Io io) {
    this.io = io;
  }

  @Override
  public Integer call() throws IOException {
    Name root = directory != null ? directory : store;
    if (root == null) {
      throw new Misuse("name the directory: cinch init DIR");
    }
    boolean named = spec.commandLine().getParseResult().hasMatchedOption("--store");
    if (named && !root.equals(store)) {
      throw new Misuse("two directories: " + root + ", and --store " + store);
    }
    if (owner != null && !root.isDirectory()) {
      throw new Misuse("--owner is of a directory; " + root + " is none");
    }
    StoreSettings usual = root.isObjects() ? StoreSettings.OF_OBJECTS : StoreSettings.DEFAULT;
    var settings =
        new StoreSettings(
            millis("--bucket-width", bucketWidth, usual.bucketWidthMs()),
            millis("--grace", grace, usual.graceMs()),
            millis("--clock-ahead", clockAhead, usual.clockAheadMs()),
            millis("--clock-behind", clockBehind, usual.clockBehindMs()),
            millis("--timestamp-distance", timestampDistance, usual.timestampDistanceMs()),
            millis("--slow-append", slowAppend, usual.slowAppendMs()),
            millis("--longest-lease", longestLease, usual.longestLeaseMs()),
            millis("--lease-margin", leaseMargin, usual.leaseMarginMs()),
            octal("--file-mode", fileMode),
            octal("--directory-mode", directoryMode),
            Optional.ofNullable(group),
            messageLimit,
            confirm,
            leases);
    List<String> problems = root.isObjects() ? settings.problemsOfObjects() : settings.problems();
    if (!problems.isEmpty()) {
      throw new Misuse(String.join("; ", problems));
    }
    MachineName name = machine != null ? machine : MachineNames.ofHost();
    ServiceOwner theirs = owner == null ? null : ServiceOwner.of(owner);
    Path file = key;
    boolean keyIsNew = file != null && Files.notExists(file);
    Store.KeySource first = file == null ? null : () -> KeygenCommand.load(file, io, "cinch init");
    Store made =
        Store.init(
            StoreOptions.at(root, endpoint),
            settings,
            HangWatch.watched(Store.Environment.of(name, SystemTime.INSTANCE)),
            first);
    if (group != null && ((settings.fileMode() | settings.directoryMode()) & 07) != 0) {
      io.say(
          "cinch init",
          "users outside of the group may read all messages; --file-mode 0660 --directory-mode 02770"
              + " keep them out, and modes never change");
    }
    if (keyIsNew) {
      io.say("cinch init", "made the key " + file + ": lease servers of this store sign with it");
    }
    if (theirs != null) {
      theirs.own(made.context());
    }
    try (Output out = io.output()) {
      json.print(
          out,
          "made store " + made.context().identity().id() + " in " + root,
          line ->
              line.text("store", made.context().identity().id().toString())
                  .text("directory", root.toString()));
    }
    return ExitCode.GOOD;
  }

  /**
   * The store keeps milliseconds; what was asked for is not cut off without a word.
   *
   * @param usual what counts where the option was not given
   */
  private long millis(String option, Duration duration, long usual) {
    if (!spec.commandLine().getParseResult().hasMatchedOption(option)) {
      return usual;
    }
    if (duration.getNano() % 1_000_000 != 0) {
      throw new Misuse(option + " is in whole milliseconds");
    }
    return duration.toMillis();
  }

  private int octal(String option, String text) {
    if (!text.matches("[0-7]{1,5}")) {
      throw new Misuse(option + " wants octal digits, like 0664");
    }
    return Integer.parseInt(text, 8);
  }
}
