package dev.cinch.cli.doctor;

import dev.cinch.bag.Log;
import dev.cinch.bag.close.HorizonChain;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.layout.LogLayout;
import dev.cinch.bag.layout.TimeName;
import dev.cinch.bag.model.Names;
import dev.cinch.bag.storage.ForeignEntryException;
import dev.cinch.bag.storage.posix.PosixStore;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.OptionalLong;

/** Whether this user may do in one log what its writers and closers do (rule C6). */
final class LogProbes {
  /** The oldest ones, which are closed first: a log that nobody closes may have millions. */
  static final int MOST_BUCKETS = 1_000;

  private final LogLayout layout;
  private final StoreFs fs;
  private final long width;
  private final HorizonChain chain;
  private final StoreAccess access;
  private final int most;
  private int buckets;

  LogProbes(Log log, StoreAccess access) {
    this(log, access, MOST_BUCKETS);
  }

  /**
   * @param access is told of all that is found
   * @param most buckets that are looked at, 1 or more
   */
  LogProbes(Log log, StoreAccess access, int most) {
    this.layout = log.context().layout();
    this.fs = PosixStore.of(log.context().store()).fs();
    this.width = log.context().bucketWidth();
    this.chain = new HorizonChain(log.context());
    this.access = access;
    this.most = most;
  }

  void run() throws IOException {
    access.needs(layout.buckets());
    access.needs(layout.records());
    access.needs(layout.intents());
    lastRecords();
    long settled = chain.knownTip().map(t -> t.record().to()).orElse(Long.MIN_VALUE);
    for (Path era : endingAfter(settled, layout.buckets(), LogLayout.eraWidth(width))) {
      access.needsUnlessRetired(era);
      for (Path group : endingAfter(settled, era, LogLayout.groupWidth(width))) {
        access.needsUnlessRetired(group);
        for (Path bucket : endingAfter(settled, group, width)) {
          if (++buckets > most) {
            access.cutShort();
            return;
          }
          bucket(bucket);
        }
      }
    }
  }

  /** Where the next record is linked. */
  private void lastRecords() throws IOException {
    OptionalLong last =
        list(layout.records()).stream()
            .map(LogLayout::recordGroupNumber)
            .flatMapToLong(OptionalLong::stream)
            .max();
    if (last.isPresent()) {
      access.needsUnlessRetired(layout.recordGroup(last.getAsLong()));
    }
  }

  /** Data files and prelock, which the next closer must read and set. */
  private void bucket(Path bucket) throws IOException {
    List<Path> entries;
    try {
      entries = entries(bucket);
    } catch (ForeignEntryException e) {
      access.foreign(e);
      return;
    }
    access.looked(entries.size());
    if (!entries.contains(LogLayout.lock(bucket))) {
      for (Path entry : entries) {
        foreign(entry);
      }
    }
    List<Path> without = entries.stream().filter(e -> !isAccessible(e, bucket)).toList();
    // Who closed it meanwhile took permissions away, or somebody retired it.
    if ((!without.isEmpty() || !Files.isWritable(bucket)) && !isClosed(bucket)) {
      access.inaccessible(without);
      access.needsUnlessRetired(bucket);
    }
  }

  /** What closing leaves out, or stops at (rule N7). */
  private void foreign(Path entry) throws IOException {
    try {
      fs.read(entry).close();
    } catch (ForeignEntryException e) {
      access.foreign(e);
    } catch (AccessDeniedException | NoSuchFileException e) {
      return; // told by what this user may not do, or retired meanwhile
    }
  }

  private static boolean isAccessible(Path entry, Path bucket) {
    boolean prelock = entry.equals(LogLayout.prelock(bucket));
    return Files.isReadable(entry) && (!prelock || Files.isWritable(entry));
  }

  private boolean isClosed(Path bucket) throws IOException {
    return !Files.exists(bucket) || entries(bucket).contains(LogLayout.lock(bucket));
  }

  private List<Path> entries(Path directory) throws IOException {
    return list(directory).stream()
        .filter(name -> !Names.isTemporary(name))
        .map(directory::resolve)
        .toList();
  }

  /** What is retired meanwhile holds nothing. */
  private List<String> list(Path directory) throws IOException {
    try {
      return fs.list(directory);
    } catch (NoSuchFileException e) {
      return List.of();
    }
  }

  /** Ascending. */
  private List<Path> endingAfter(long settled, Path directory, long span) throws IOException {
    List<String> names;
    try {
      names = list(directory);
    } catch (ForeignEntryException e) {
      access.foreign(e);
      return List.of();
    }
    return LogLayout.starts(directory, names, settled, Long.MAX_VALUE, span).stream()
        .map(start -> directory.resolve(TimeName.of(start)))
        .toList();
  }
}
