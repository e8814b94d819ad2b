package dev.cinch.cli.doctor;

import dev.cinch.bag.Log;
import dev.cinch.bag.Store;
import dev.cinch.bag.layout.StoreLayout;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.storage.ForeignEntryException;
import dev.cinch.bag.storage.posix.PosixStore;
import dev.cinch.bag.store.RemovedLogs;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Whether this user may do in an existing store what its writers and closers do (rule C6). */
final class StoreProbes {
  private static final int SETGID = 02000;
  private static final int GROUP_WRITE = 0020;
  private static final String CHGRP = "; give the store's group access (chgrp, chmod g+rwx)";

  private final Store store;
  private final StoreLayout layout;
  private final Diagnosis diagnosis;
  private final StoreAccess access = new StoreAccess();

  StoreProbes(Store store, Diagnosis diagnosis) {
    this.store = store;
    this.layout = store.context().layout();
    this.diagnosis = diagnosis;
  }

  void run() throws IOException {
    String unusable = "the store can't be used by this user";
    for (Path directory : layout.directories()) {
      enter(directory);
    }
    diagnosis.look("devices", unusable, this::devices);
    diagnosis.look("directories", unusable, this::special);
    diagnosis.look("logs", "no log can be used by this user", this::logs);
    foreign();
    diagnosis.look("directories", unusable, this::directories);
    diagnosis.look("group of new entries", unusable, this::groups);
    files();
  }

  private void enter(Path directory) {
    try {
      List<String> unused = PosixStore.of(store.context()).fs().list(directory);
    } catch (ForeignEntryException e) {
      access.foreign(e);
    } catch (IOException e) {
      return; // told by what needs it
    }
  }

  /** The filesystem is judged by the root, and its clock read in one directory, for all of it. */
  private void devices() throws IOException {
    long device = MountTable.number(layout.root());
    var elsewhere = new ArrayList<Path>();
    for (Path directory : layout.directories()) {
      if (Files.exists(directory) && MountTable.number(directory) != device) {
        elsewhere.add(directory);
      }
    }
    if (!elsewhere.isEmpty()) {
      diagnosis.fail(
          "on another filesystem than the store: " + StoreAccess.named(elsewhere),
          "other machines may see another one there, with another clock; move it into the store's");
    }
  }

  /** What neither writers nor all closers need. */
  private void special() throws IOException {
    access.needs(layout.clock());
    access.needs(layout.logs());
    List<Path> service =
        List.of(layout.keys(), layout.instances(), layout.ceilings()).stream()
            .filter(d -> !Files.isWritable(d))
            .toList();
    if (!service.isEmpty()) {
      diagnosis.warn(
          "not writable: " + StoreAccess.named(service),
          "this user can't run the lease server for this store; nothing else needs it");
    }
  }

  /** Each by itself: what is wrong with one of them says nothing about the others. */
  private void logs() throws IOException {
    for (LogName name : store.logs()) {
      diagnosis.look(
          "log " + name,
          "it can't be appended to or closed by this user; what it has may be whole: see verify",
          () -> log(name));
    }
    if (!access.halfMade.isEmpty()) {
      diagnosis.warn(
          "no identity yet: " + StoreAccess.named(access.halfMade),
          "who made it stopped before its end, it holds nothing; the next append makes it whole");
    }
  }

  private void log(LogName name) throws IOException {
    List<Log> whole = store.whole(List.of(name));
    if (whole.isEmpty() && new RemovedLogs(store.context()).find(name).isPresent()) {
      return;
    }
    if (whole.isEmpty()) {
      access.halfMade(layout.log(name).root());
      return;
    }
    for (Log log : whole) {
      new LogProbes(log, access).run();
    }
  }

  private void foreign() throws IOException {
    for (String what : access.foreign) {
      diagnosis.fail(what, "no reader and no closer goes by it, and one that must have it stops");
    }
  }

  private void directories() throws IOException {
    if (access.unwritable.isEmpty()) {
      diagnosis.ok(
          access.directories.size() + " directories writable", "this user can append and close");
    } else {
      diagnosis.fail(
          "not writable: " + StoreAccess.named(access.unwritable),
          "this user can't append or close" + CHGRP);
    }
  }

  private void groups() throws IOException {
    int mode = PosixStore.of(store.context()).directoryMode();
    if ((mode & GROUP_WRITE) == 0) {
      diagnosis.warn(
          "directory mode %o".formatted(mode), "only the user who made the store can write to it");
      return;
    }
    var without = new ArrayList<Path>();
    for (Path directory : access.directories) {
      if ((PosixStore.of(store.context()).fs().status(directory).mode() & SETGID) == 0) {
        without.add(directory);
      }
    }
    if (without.isEmpty() || store.settings().group().isPresent()) {
      diagnosis.ok("group of new entries", "what one user creates others of the group can close");
    } else {
      diagnosis.warn(
          "no setgid bit: " + StoreAccess.named(without),
          "entries get their creator's own group, so that other users may be unable to close them");
    }
  }

  /** Data files and prelocks of what is not settled. */
  private void files() throws IOException {
    if (!access.inaccessible.isEmpty()) {
      diagnosis.fail(
          "no access to " + StoreAccess.named(access.inaccessible),
          "this user can't close these buckets; chgrp and chmod g+rw, or close as their owner");
    } else if (access.unwritable.isEmpty()) {
      diagnosis.ok(
          access.files + " files not settled yet",
          access.cutShort
              ? "this user can close over them; only the first %d buckets of a log were looked at"
                  .formatted(LogProbes.MOST_BUCKETS)
              : "this user can close over all of them");
    }
  }
}
