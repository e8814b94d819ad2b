package dev.cinch.cli.doctor;

import dev.cinch.bag.NotAStoreException;
import dev.cinch.bag.Store;
import dev.cinch.bag.fs.Fresh;
import dev.cinch.bag.fs.PosixFs;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.bag.storage.object.ObjectAddress;
import dev.cinch.bag.storage.object.ObjectProbe;
import dev.cinch.bag.storage.object.s3.BucketSettings;
import dev.cinch.bag.storage.object.s3.S3Objects;
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
import java.security.SecureRandom;
import java.util.Optional;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** Finds out whether Cinch can work here. */
@Command(
    name = "doctor",
    description = {
      "Try out, as this user, what Cinch asks of the store's filesystem or object store.",
      "Leaves nothing behind. Prints ok, note, warn or FAIL a line, and what it means; exit code 1"
          + " if anything failed. Works before init too, on a plain directory or a bucket."
    },
    footer = {
      "",
      "Example:",
      "  cinch doctor --store /mnt/shared/store",
      "  cinch doctor --store s3://bucket/store"
    })
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
    if (store.store.isObjects()) {
      return ofObjects(ObjectAddress.parse(store.name().text()));
    }
    if (!store.store.isDirectory()) {
      throw new Misuse(
          "doctor looks at a directory or s3://BUCKET/PREFIX; " + store.store + " is neither");
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
      Optional<Store> opened = opened(diagnosis);
      if (opened.isPresent()) {
        settings = opened.get().settings();
        place = opened.get().context().layout().clock().path();
        new StoreProbes(opened.get(), diagnosis).run();
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

  /** The store, if there is one. */
  private Optional<Store> opened(Diagnosis diagnosis) throws IOException {
    try {
      Store opened = store.open();
      diagnosis.ok("store " + opened.context().identity().id(), "opened");
      return Optional.of(opened);
    } catch (NotAStoreException e) {
      if (e.lost()) {
        diagnosis.fail("store.json is missing", Failure.of(e).line());
      } else {
        diagnosis.warn("no store yet", "judged by the default settings of init");
      }
      return Optional.empty();
    }
  }

  private int ofObjects(ObjectAddress address) throws IOException {
    try (Output out = io.output()) {
      var diagnosis = new Diagnosis(out, json);
      StoreSettings settings =
          opened(diagnosis).map(Store::settings).orElse(StoreSettings.OF_OBJECTS);
      S3Objects objects = S3Objects.at(address, store.time());
      try (var probe =
          new ObjectProbe(
              objects, address.root(), address.prefix(), store.time(), new SecureRandom())) {
        new ServerProbes(probe, settings, store.time(), diagnosis).run();
      }
      new BucketProbes(new BucketSettings(objects), address.prefix(), diagnosis).run();
      diagnosis.note(
          "the server: " + objects.server().orElse("it does not say its name"),
          "one that drops the condition without a quorum, or keeps it within each gateway, looks"
              + " good here, and loses messages: docs/storage-object.md");
      return diagnosis.failed() ? ExitCode.DAMAGE : ExitCode.GOOD;
    }
  }
}
