package dev.cinch.cli.store;

import dev.cinch.bag.Store;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.OwnPaths;
import dev.cinch.bag.model.StoreLayout;
import dev.cinch.bag.registry.StoreCeilings;
import dev.cinch.bag.storage.Freshness;
import dev.cinch.bag.storage.object.ObjectStore;
import dev.cinch.cli.base.Confirmation;
import dev.cinch.cli.base.Converters.Moment;
import dev.cinch.cli.base.ExitCode;
import dev.cinch.cli.base.Failure;
import dev.cinch.cli.base.Io;
import dev.cinch.cli.base.JsonOption;
import dev.cinch.cli.base.Output;
import dev.cinch.cli.base.Progress;
import dev.cinch.cli.base.StoreOptions;
import dev.cinch.lease.time.SystemTime;
import java.io.IOException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Deletes a store. */
@Command(
    name = "destroy",
    description = {
      "Delete a store with all its logs, for good.",
      "It asks for the name of the directory twice; a script gives it with --yes. End writers,"
          + " closers and the lease server first. It refuses (exit code 3) while leases may be held,"
          + " which lasts as long as leases do. Other commands find no store as soon as it begins. One that was"
          + " interrupted goes on where it is run again. What is not the store's by its name and place"
          + " stays, with the directories above it, and it names the first."
    },
    footer = {"", "Example:", "  cinch destroy /mnt/shared/store"})
@SuppressWarnings("NullAway.Init") // picocli sets the fields
public final class DestroyCommand implements Callable<Integer> {
  private static final String COMMAND = "cinch destroy";

  /** Names of what stands in a log's directory of buckets. */
  private static final Pattern ERA = Pattern.compile("[0-9]{8}T[0-9]{6}[.][0-9]{3}Z");

  private final Io io;

  @Mixin JsonOption json;

  @Option(
      names = "--yes",
      paramLabel = "NAME",
      description = "The directory's name once more, in place of the two questions.")
  @Nullable String yes;

  @Parameters(
      paramLabel = "DIR",
      description = "The store's directory, or s3://BUCKET/PREFIX; CINCH_STORE does not name it.")
  Name directory;

  DestroyCommand(Io io) {
    this.io = io;
  }

  @Override
  public Integer call() throws IOException {
    if (directory.isObjects()) {
      return objects();
    }
    Path root = directory.path().toRealPath();
    var layout = new StoreLayout(root);
    Path settings = layout.settings().path();
    Path destroyed = layout.destroyed().path();
    boolean whole = Files.exists(settings);
    boolean begun = !whole && Files.exists(destroyed);
    boolean left = !whole && !begun && isLeftOfRm(layout.logs().path());
    Store store = begun || left ? null : StoreOptions.open(Name.of(root), SystemTime.INSTANCE);
    refuseUnderLeases(store);
    String name = String.valueOf(root.getFileName());
    Confirmation.ask(io, name, yes, "This deletes all logs of the store " + root + " for good.");
    if (store != null) {
      refuseUnderLeases(store); // a server may have started meanwhile
      Files.move(settings, destroyed, StandardCopyOption.ATOMIC_MOVE);
    }
    var sweep = new Sweep(root, new Progress(io));
    for (Path each : entries(root)) {
      if (!each.equals(destroyed)) { // the last to go
        Files.walkFileTree(each, sweep);
      }
    }
    sweep.progress.end();
    if (sweep.why != null) {
      throw new IOException(
          "%d files and directories can't be deleted, the first %s; run it again as the user that owns them"
              .formatted(sweep.failed, Failure.of(sweep.why).line()),
          sweep.why);
    }
    Files.deleteIfExists(destroyed);
    if (sweep.foreign.isEmpty()) {
      removed(root);
    } else {
      String first = sweep.foreign.get(0).toString();
      io.say(COMMAND, "left what is not Cinch's: " + first + more(sweep.foreign.size() - 1));
    }
    return told(root.toString(), sweep.deleted, "files and directories");
  }

  private int told(String root, long deleted, String what) throws IOException {
    try (Output out = io.output()) {
      json.print(
          out,
          "deleted the store " + root + ", " + deleted + " " + what,
          line -> line.text("directory", root).number("deleted", deleted));
    }
    return ExitCode.GOOD;
  }

  /** Here a note stands for the store while it is deleted: an object can't be renamed. */
  private int objects() throws IOException {
    Store.Remains remains = Store.remains(directory, StoreOptions.ofHost(SystemTime.INSTANCE));
    StoreLayout layout = remains.layout();
    ObjectStore objects = (ObjectStore) remains.storage();
    boolean begun = objects.isThere(layout.destroyed(), Freshness.CERTAIN);
    Store store = begun ? null : StoreOptions.open(directory, SystemTime.INSTANCE);
    refuseUnderLeases(store);
    Name root = layout.root();
    Confirmation.ask(
        io, root.last(), yes, "This deletes all logs of the store " + root + " for good.");
    if (store != null) {
      refuseUnderLeases(store); // a server may have started meanwhile
    }
    objects.beginDestroying();
    var progress = new Progress(io);
    long deleted = 1;
    var foreign = new ArrayList<Name>();
    for (Name each : objects.all()) {
      if (!objects.isOwn(each)) {
        foreign.add(each);
      } else if (!each.equals(layout.destroyed())) { // the last to go
        objects.removeObject(each);
        progress.show(++deleted, " objects deleted");
      }
    }
    progress.end();
    objects.remove(layout.destroyed());
    if (!foreign.isEmpty()) {
      io.say(COMMAND, "left what is not Cinch's: " + foreign.get(0) + more(foreign.size() - 1));
    }
    return told(root.toString(), deleted, "objects");
  }

  private static void refuseUnderLeases(@Nullable Store store) throws IOException {
    if (store == null) {
      return; // what is left of one can't be asked
    }
    OptionalLong ceiling = StoreCeilings.of(store.context()).highestOfAll();
    if (ceiling.isPresent() && ceiling.getAsLong() > store.context().checkedNow()) {
      throw new Failure.Refusal(
          "leases may be held until %s: end the lease server, and wait until then"
              .formatted(Moment.text(ceiling.getAsLong())));
    }
  }

  /** Whether there are logs and nothing else, as rm -rf leaves what is another user's. */
  private static boolean isLeftOfRm(Path logs) throws IOException {
    if (!Files.isDirectory(logs, LinkOption.NOFOLLOW_LINKS)) {
      return false;
    }
    List<Path> all = entries(logs);
    for (Path log : all) {
      Path buckets = log.resolve("buckets");
      if (!Files.isDirectory(buckets, LinkOption.NOFOLLOW_LINKS)
          || !entries(buckets).stream().allMatch(e -> ERA.matcher("" + e.getFileName()).matches())
          || entries(buckets).isEmpty()) {
        return false;
      }
    }
    return !all.isEmpty();
  }

  private static List<Path> entries(Path root) throws IOException {
    try (Stream<Path> entries = Files.list(root)) {
      return entries.sorted().toList();
    }
  }

  private void removed(Path root) {
    try {
      Files.delete(root);
    } catch (IOException e) { // a mount, or above it nobody may write
      io.say(COMMAND, root + " is empty, and stays: " + Failure.of(e).line());
    }
  }

  private static String more(int others) {
    return others == 0 ? "" : " and " + others + " more";
  }

  /**
   * Deletes what is the store's by name and place, follows no link, and opens directories that an
   * earlier version closed.
   */
  private static final class Sweep extends SimpleFileVisitor<Path> {
    private static final Set<PosixFilePermission> MINE =
        Set.of(
            PosixFilePermission.OWNER_READ,
            PosixFilePermission.OWNER_WRITE,
            PosixFilePermission.OWNER_EXECUTE);

    private final Path root;
    private final Progress progress;
    private final List<Path> foreign = new ArrayList<>();
    private long deleted;
    private long failed;
    private @Nullable IOException why;

    Sweep(Path root, Progress progress) {
      this.root = root;
      this.progress = progress;
    }

    @Override
    public FileVisitResult preVisitDirectory(Path directory, BasicFileAttributes attributes) {
      if (!OwnPaths.has(root.relativize(directory).toString(), true)) {
        foreign.add(directory);
        return FileVisitResult.SKIP_SUBTREE;
      }
      if (!Files.isWritable(directory)) {
        try {
          Files.setPosixFilePermissions(directory, MINE);
        } catch (IOException e) {
          note(e);
          return FileVisitResult.SKIP_SUBTREE;
        }
      }
      return FileVisitResult.CONTINUE;
    }

    @Override
    public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
      if (attributes.isRegularFile() && OwnPaths.has(root.relativize(file).toString(), false)) {
        delete(file);
      } else {
        foreign.add(file);
      }
      return FileVisitResult.CONTINUE;
    }

    @Override
    public FileVisitResult visitFileFailed(Path file, IOException e) {
      note(e);
      return FileVisitResult.CONTINUE;
    }

    @Override
    public FileVisitResult postVisitDirectory(Path directory, @Nullable IOException e) {
      delete(directory);
      return FileVisitResult.CONTINUE;
    }

    private void delete(Path path) {
      try {
        if (Files.deleteIfExists(path)) {
          progress.show(++deleted, " files and directories deleted");
        }
      } catch (DirectoryNotEmptyException e) {
        if (why == null && foreign.stream().noneMatch(left -> left.startsWith(path))) {
          note(e);
        }
      } catch (IOException e) {
        note(e);
      }
    }

    private void note(IOException e) {
      if (!(e instanceof NoSuchFileException)) {
        failed++;
        why = why == null ? e : why;
      }
    }
  }
}
