package dev.cinch.cli.doctor;

import dev.cinch.bag.NotAStoreException;
import dev.cinch.bag.Store;
import dev.cinch.bag.fs.Fresh;
import dev.cinch.bag.fs.PosixFs;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.cli.base.ExitCode;
import dev.cinch.cli.base.Failure;
import dev.cinch.cli.base.HangWatch;
import dev.cinch.cli.base.Io;
import dev.cinch.cli.base.JsonOption;
import dev.cinch.cli.base.Misuse;
import dev.cinch.cli.base.Output;
import dev.cinch.cli.base.StoreOptions;
import dev.cinch.cli.base.WatchedFs;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** Finds out whether Cinch can work here. */
@Command(
    name = "doctor",
    description = {
      "Try out, as this user, what Cinch asks of the store's filesystem.",
      "Leaves nothing behind. Prints ok, note, warn or FAIL a line, and what it means; exit code 1"
          + " if anything failed. Works on a plain directory too, before init."
    },
    footer = {"", "Example:", "  cinch doctor --store /mnt/shared/store"})
@SuppressWarnings("NullAway.Init") // picocli sets the fields
public final class DoctorCommand implements Callable<Integer> {
  private final Io io;

  @Mixin StoreOptions store;
  @Mixin JsonOption json;

  DoctorCommand(Io io) {
    this.io = io;
  }

  @Override
  public Integer call() throws IOException {
    if (!store.store.isDirectory()) {
      throw new Misuse("doctor looks at a directory; " + store.store + " is none");
    }
    Path root = store.store.path();
    // Files.isDirectory would answer no, too, where the way there is barred or the server forgot.
    if (!Files.readAttributes(root, BasicFileAttributes.class).isDirectory()) {
      throw new NotDirectoryException(root.toString());
    }
    try (Output out = io.output()) {
      var diagnosis = new Diagnosis(out, json);
      StoreSettings settings = StoreSettings.DEFAULT;
      Path place = root;
      try {
        Store opened = store.open();
        settings = opened.settings();
        place = opened.context().layout().clock().path();
        diagnosis.ok("store " + opened.context().identity().id(), "opened");
        new StoreProbes(opened, diagnosis).run();
      } catch (NotAStoreException e) {
        if (e.lost()) {
          diagnosis.fail("store.json is missing", Failure.of(e).line());
        } else {
          diagnosis.warn("no store yet", "judged by the default settings of init");
        }
      }
      var fs = new PosixFs(root, settings.group().orElse(null));
      var mounts = new MountProbes(settings, diagnosis);
      mounts.run(root, fs);
      var directReads =
          new DirectReads(DirectReads.Access.of(fs), mounts.ofOneMachine(), diagnosis);
      new FilesystemProbes(
              new WatchedFs(fs, HangWatch.ofProcess()),
              new Fresh(fs).temporary(place),
              settings,
              store.time(),
              directReads,
              diagnosis)
          .run();
      diagnosis.note(
          "a power cut was not tried",
          "what was forced is lost with an NFS export that is async, or a disk that lies; see to"
              + " both on the server");
      return diagnosis.failed() ? ExitCode.DAMAGE : ExitCode.GOOD;
    }
  }
}
