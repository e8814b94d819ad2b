package dev.cinch.cli.doctor;

import dev.cinch.bag.Store;
import dev.cinch.bag.format.ForeignEntryException;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.StoreLayout;
import dev.cinch.bag.storage.posix.PosixStore;
import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;

/**
 * Whether this user may do in an existing store what its writers and closers do (rule C6). What is
 * wrong with a log appends and closers tell, which go through all of it.
 */
final class StoreProbes {
  private static final int SETGID = 02000;
  private static final int GROUP_WRITE = 0020;
  private static final String CHGRP = "; give the store's group access (chgrp, chmod g+rwx)";

  private final Store store;
  private final PosixStore files;
  private final StoreLayout layout;
  private final Diagnosis diagnosis;

  StoreProbes(Store store, Diagnosis diagnosis) {
    this.store = store;
    this.files = PosixStore.of(store.context().storage());
    this.layout = store.context().layout();
    this.diagnosis = diagnosis;
  }

  void run() throws IOException {
    String unusable = "the store can't be used by this user";
    for (Name directory : layout.directories()) {
      enter(directory);
    }
    diagnosis.look("devices", unusable, this::devices);
    diagnosis.look("directories", unusable, this::directories);
    diagnosis.look("group of new entries", unusable, this::groups);
  }

  private void enter(Name directory) throws IOException {
    try {
      List<String> unused = files.fs().list(files.path(directory));
    } catch (ForeignEntryException e) {
      diagnosis.fail(
          e.getMessage(), "no reader and no closer goes by it, and one that must have it stops");
    } catch (IOException e) {
      return; // told by what needs it
    }
  }

  /** The filesystem is judged by the root, and its clock read in one directory, for all of it. */
  private void devices() throws IOException {
    Object device = device(layout.root());
    var elsewhere = new ArrayList<Name>();
    for (Name directory : layout.directories()) {
      if (Files.exists(files.path(directory)) && !device(directory).equals(device)) {
        elsewhere.add(directory);
      }
    }
    if (!elsewhere.isEmpty()) {
      diagnosis.fail(
          "on another filesystem than the store: " + named(elsewhere),
          "other machines may see another one there, with another clock; move it into the store's");
    }
  }

  private Object device(Name file) throws IOException {
    return Files.getAttribute(files.path(file), "unix:dev");
  }

  /** Those in which writers and closers make entries, and those that not all of them need. */
  private void directories() throws IOException {
    List<Name> service = unwritable(List.of(layout.keys(), layout.instances(), layout.ceilings()));
    if (!service.isEmpty()) {
      diagnosis.warn(
          "not writable: " + named(service),
          "this user can't run the lease server for this store; nothing else needs it");
    }
    List<Name> own = unwritable(needed());
    if (own.isEmpty()) {
      diagnosis.ok(needed().size() + " directories writable", "this user can make logs");
    } else {
      diagnosis.fail("not writable: " + named(own), "this user can't append or close" + CHGRP);
    }
  }

  private List<Name> needed() {
    return List.of(layout.clock(), layout.logs());
  }

  private List<Name> unwritable(List<Name> directories) {
    return directories.stream().filter(d -> !Files.isWritable(files.path(d))).toList();
  }

  private void groups() throws IOException {
    int mode = files.directoryMode();
    if ((mode & GROUP_WRITE) == 0) {
      diagnosis.warn(
          "directory mode %o".formatted(mode), "only the user who made the store can write to it");
      return;
    }
    var without = new ArrayList<Name>();
    for (Name directory : needed()) {
      if ((files.fs().status(files.path(directory)).mode() & SETGID) == 0) {
        without.add(directory);
      }
    }
    if (without.isEmpty() || store.settings().group().isPresent()) {
      diagnosis.ok("group of new entries", "what one user creates others of the group can close");
    } else {
      diagnosis.warn(
          "no setgid bit: " + named(without),
          "entries get their creator's own group, so that other users may be unable to close them");
    }
  }

  private static String named(List<Name> paths) {
    return String.join(", ", paths.stream().map(Name::toString).toList());
  }
}
