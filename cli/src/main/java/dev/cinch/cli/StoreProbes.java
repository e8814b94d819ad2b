package dev.cinch.cli;

import dev.cinch.bag.Log;
import dev.cinch.bag.Store;
import dev.cinch.bag.close.HorizonChain;
import dev.cinch.bag.layout.LogLayout;
import dev.cinch.bag.layout.LogName;
import dev.cinch.bag.layout.StoreLayout;
import dev.cinch.bag.layout.TimeName;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;

/** Whether this user may do in an existing store what its writers and closers do (rule C6). */
final class StoreProbes {
  private static final int SETGID = 02000;
  private static final int GROUP_WRITE = 0020;
  private static final int MAX_NAMED = 5;

  private final Store store;
  private final Diagnosis diagnosis;

  StoreProbes(Store store, Diagnosis diagnosis) {
    this.store = store;
    this.diagnosis = diagnosis;
  }

  void run() throws IOException {
    diagnosis.look("directories", "the store can't be used by this user", this::directories);
    diagnosis.look("logs", "some logs can't be used by this user", this::logs);
  }

  private void directories() throws IOException {
    StoreLayout layout = store.context().layout();
    var all = new ArrayList<Path>(layout.directories());
    for (LogName name : store.logs()) {
      LogLayout log = layout.log(name);
      all.addAll(List.of(log.buckets(), log.records(), log.intents()));
    }
    List<Path> closed = all.stream().filter(d -> !Files.isWritable(d)).toList();
    if (closed.isEmpty()) {
      diagnosis.ok(all.size() + " directories writable", "this user can append and close");
    } else {
      diagnosis.fail(
          "not writable: " + named(closed),
          "this user can't append or close; give the store's group access (chgrp, chmod g+rwx)");
    }
    int mode = store.context().directoryMode();
    if ((mode & GROUP_WRITE) == 0) {
      diagnosis.warn(
          "directory mode %o".formatted(mode), "only the user who made the store can write to it");
      return;
    }
    var without = new ArrayList<Path>();
    for (Path directory : all) {
      if ((store.context().fs().status(directory).mode() & SETGID) == 0) {
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

  /** Data files and prelocks of what is not settled, which the next closer must read and set. */
  private void logs() throws IOException {
    var unreadable = new ArrayList<Path>();
    long looked = 0;
    for (LogName name : store.logs()) {
      Log log = store.log(name);
      long settled =
          new HorizonChain(log.context())
              .knownTip()
              .map(t -> t.record().to())
              .orElse(Long.MIN_VALUE);
      for (Path directory : unsettled(log, settled)) {
        List<Path> entries = entries(directory);
        looked += entries.size();
        List<Path> without = entries.stream().filter(e -> !isAccessible(e, directory)).toList();
        // Who closed it meanwhile took permissions away, or somebody retired it.
        if (!without.isEmpty() && !isClosed(directory)) {
          unreadable.addAll(without);
        }
      }
    }
    if (unreadable.isEmpty()) {
      diagnosis.ok(looked + " files not settled yet", "this user can close over all of them");
    } else {
      diagnosis.fail(
          "no access to " + named(unreadable),
          "this user can't close these buckets; chgrp and chmod g+rw, or close as their owner");
    }
  }

  private List<Path> entries(Path directory) throws IOException {
    return list(directory).stream()
        .filter(name -> !LogLayout.isTemporary(name))
        .map(directory::resolve)
        .toList();
  }

  private static boolean isAccessible(Path entry, Path bucket) {
    boolean prelock = entry.equals(LogLayout.prelock(bucket));
    return Files.isReadable(entry) && (!prelock || Files.isWritable(entry));
  }

  private boolean isClosed(Path bucket) throws IOException {
    List<Path> entries = entries(bucket);
    return entries.isEmpty() || entries.contains(LogLayout.lock(bucket));
  }

  /** What is retired meanwhile holds nothing. */
  private List<String> list(Path directory) throws IOException {
    try {
      return store.context().fs().list(directory);
    } catch (NoSuchFileException e) {
      return List.of();
    }
  }

  private List<Path> unsettled(Log log, long settled) throws IOException {
    long width = log.context().bucketWidth();
    var buckets = new ArrayList<Path>();
    for (Path era :
        endingAfter(settled, log.context().layout().buckets(), LogLayout.eraWidth(width))) {
      for (Path group : endingAfter(settled, era, LogLayout.groupWidth(width))) {
        buckets.addAll(endingAfter(settled, group, width));
      }
    }
    return buckets;
  }

  private List<Path> endingAfter(long settled, Path directory, long width) throws IOException {
    var found = new ArrayList<Path>();
    for (String name : list(directory)) {
      OptionalLong start = TimeName.parse(name);
      if (start.isPresent() && start.getAsLong() + width > settled) {
        found.add(directory.resolve(name));
      }
    }
    return found;
  }

  private static String named(List<Path> paths) {
    String names = String.join(", ", paths.stream().limit(MAX_NAMED).map(Path::toString).toList());
    return paths.size() <= MAX_NAMED
        ? names
        : names + " and " + (paths.size() - MAX_NAMED) + " more";
  }
}
