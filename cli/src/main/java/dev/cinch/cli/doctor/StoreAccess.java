package dev.cinch.cli.doctor;

import dev.cinch.bag.storage.ForeignEntryException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** What this user may and may not do in a store; gathered from all of it. Not thread-safe. */
final class StoreAccess {
  private static final int MAX_NAMED = 5;

  final List<Path> directories = new ArrayList<>();
  final List<Path> unwritable = new ArrayList<>();
  final List<Path> inaccessible = new ArrayList<>();
  final List<Path> halfMade = new ArrayList<>();
  final List<String> foreign = new ArrayList<>();
  long files;
  boolean cutShort;

  /** A directory in which writers or closers make entries, and which is always there. */
  void needs(Path directory) {
    directories.add(directory);
    if (!Files.isWritable(directory)) {
      unwritable.add(directory);
    }
  }

  /** One in which they make entries unless it was retired since it was listed. */
  void needsUnlessRetired(Path directory) {
    if (!Files.isWritable(directory) && Files.exists(directory)) {
      unwritable.add(directory);
    }
  }

  /** Something that is neither file nor directory, or stands for the other. */
  void foreign(ForeignEntryException e) {
    foreign.add(e.getMessage());
  }

  /** Files of a bucket that a closer must read, and set its prelock. */
  void looked(int count) {
    files += count;
  }

  /** Those of them that this user may not. */
  void inaccessible(List<Path> some) {
    inaccessible.addAll(some);
  }

  /** A log without an identity, which its maker left so. */
  void halfMade(Path log) {
    halfMade.add(log);
  }

  /** There are more buckets than were looked at. */
  void cutShort() {
    cutShort = true;
  }

  /** The first few of them. */
  static String named(List<Path> paths) {
    String names = String.join(", ", paths.stream().limit(MAX_NAMED).map(Path::toString).toList());
    return paths.size() <= MAX_NAMED
        ? names
        : names + " and " + (paths.size() - MAX_NAMED) + " more";
  }
}
