package dev.cinch.view;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.format.ChainPlace;
import dev.cinch.bag.format.ForeignEntryException;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.BucketTree;
import dev.cinch.bag.model.DataFileName;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Numbered;
import dev.cinch.bag.model.SealName;
import dev.cinch.bag.storage.Freshness;
import dev.cinch.bag.storage.Storage;
import dev.cinch.bag.store.LogContext;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.util.List;
import java.util.OptionalLong;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Removes, counts or looks at what a checkpoint retires and what still stands: bucket directories
 * that end at or before it, records below it. That includes what late writers and closers made
 * again. One directory's names are held at a time. Used once, by one thread.
 */
@CheckReturnValue
final class RetiredTree {
  private static final Logger LOG = LoggerFactory.getLogger(RetiredTree.class);

  private final LogContext log;
  private final Storage storage;
  private final Consumer<Name> each;
  private final boolean really;
  private final Obstacles obstacles;
  private long buckets;
  private long records;

  /**
   * @param each told of every bucket directory and record that goes
   * @param really false: changes nothing
   */
  public RetiredTree(LogContext log, Consumer<Name> each, boolean really) {
    this.log = log;
    this.storage = log.storage();
    this.each = each;
    this.really = really;
    this.obstacles = new Obstacles(storage);
  }

  Obstacles obstacles() {
    return obstacles;
  }

  long buckets() {
    return buckets;
  }

  long records() {
    return records;
  }

  /**
   * @param line what stands before it goes
   */
  public void go(ChainPlace line) throws IOException {
    boolean unused =
        new BucketTree(log.layout(), log.bucketWidth())
            .walk(
                Long.MIN_VALUE,
                line.to(),
                (directory, end, width) -> names(directory),
                new BucketTree.Visitor() {
                  @Override
                  public boolean bucket(Bucket bucket) throws IOException {
                    if (bucket.end() <= line.to()) {
                      retire(log.layout().bucket(bucket));
                    }
                    return true;
                  }

                  @Override
                  public void parent(Name directory, long end) {
                    if (end <= line.to()) {
                      removeDirectory(directory);
                    }
                  }
                });
    retireRecords(line.number());
  }

  /**
   * Looks for what gc can't remove: buckets that one user keeps to himself, or in which something
   * stands that is not ours, and whatever has been behind an earlier checkpoint for long.
   *
   * @param line of the last checkpoint
   * @param earlier of one behind which nothing should stand any more; null: there is none
   * @param since what changed later may have been made again by a late writer
   */
  void look(ChainPlace line, @Nullable ChainPlace earlier, long since) throws IOException {
    boolean unused =
        new BucketTree(log.layout(), log.bucketWidth())
            .walk(
                Long.MIN_VALUE,
                line.to(),
                (directory, end, width) -> names(directory),
                bucket -> {
                  if (bucket.end() <= line.to()) {
                    boolean old = earlier != null && bucket.end() <= earlier.to();
                    look(log.layout().bucket(bucket), old, since);
                  }
                  return true;
                });
  }

  private void look(Name directory, boolean old, long since) throws IOException {
    try {
      if (storage.isKept(directory)) {
        obstacles.addPlace(new AccessDeniedException(directory.toString()), directory);
        return;
      }
      for (String name : names(directory)) {
        if (!LogLayout.MARKS.contains(name) && !isOurs(name)) {
          Name file = directory.resolve(name);
          obstacles.add(ForeignEntryException.notOurs(file), file);
          return;
        }
      }
      if (old && storage.changedAt(directory) < since) {
        obstacles.addPlace(new IOException("it was to go a day ago; see what gc says"), directory);
      }
    } catch (NoSuchFileException e) {
      LOG.debug("{}: somebody has retired it", directory);
    }
  }

  /** Another gc may have removed a directory since its parent was listed. */
  private List<String> names(Name directory) throws IOException {
    try {
      return storage.list(directory, Freshness.CACHED);
    } catch (NoSuchFileException e) {
      return List.of();
    } catch (ForeignEntryException e) {
      foreign(e); // what stands in its place is not entered (rule N7)
    } catch (IOException e) {
      obstacles.addPlace(e, directory);
    }
    return List.of();
  }

  private void retireRecords(long number) throws IOException {
    long stays = LogLayout.groupOfRecord(number);
    List<Long> groups =
        names(log.layout().records()).stream()
            .map(LogLayout::recordGroupNumber)
            .flatMapToLong(OptionalLong::stream)
            .filter(group -> group <= stays)
            .sorted()
            .boxed()
            .toList();
    for (long group : groups) {
      Name directory = log.layout().recordGroup(group);
      List<String> names = names(directory);
      for (String name : names) {
        // Before any record goes: one that outlived it would say that the record is missing.
        if (really && SealName.parse(name).filter(seal -> seal.number() < number).isPresent()) {
          boolean unused = removeRecord(directory.resolve(name));
        }
      }
      for (String name : names) {
        OptionalLong parsed = Numbered.parse(name);
        boolean retired =
            parsed.isPresent()
                ? parsed.getAsLong() < number
                : group < stays && (Name.isTemporary(name) || LogLayout.isHeldOpen(name));
        if (retired && removeRecord(directory.resolve(name))) {
          records++;
          each.accept(directory.resolve(name));
        }
      }
      if (group < stays) {
        removeDirectory(directory);
      }
    }
  }

  /** Whether it is gone, or would be. */
  private boolean removeRecord(Name file) throws IOException {
    try {
      return !really || remove(file);
    } catch (ForeignEntryException e) {
      foreign(e);
    } catch (IOException e) {
      obstacles.add(e, file);
    }
    return false;
  }

  private void foreign(ForeignEntryException e) throws IOException {
    if (really) {
      obstacles.add(e, e.path());
    } else {
      LOG.warn("{}", e.getMessage());
    }
  }

  /**
   * Rule R3: data files first, then the prelock, the lock last. A late writer may come back at any
   * time; what it makes again goes in the next run.
   */
  private void retire(Name directory) throws IOException {
    try {
      List<String> names;
      try {
        names = storage.list(directory, Freshness.CACHED);
      } catch (AccessDeniedException e) {
        obstacles.addPlace(e, directory);
        return;
      }
      if (!really) {
        buckets++;
        each.accept(directory);
        return;
      }
      boolean stays = false;
      for (String name : names) {
        Name file = directory.resolve(name);
        if (!LogLayout.MARKS.contains(name)) {
          stays |= !removeOurs(file, name);
        }
      }
      stays |= !removeOurs(LogLayout.prelock(directory), "");
      stays |= !removeOurs(LogLayout.lock(directory), "");
      if (stays) {
        return;
      }
      storage.removePlace(directory);
      buckets++;
      each.accept(directory);
    } catch (NoSuchFileException e) {
      LOG.debug("{}: somebody else retired it", directory);
    } catch (DirectoryNotEmptyException e) {
      LOG.info(
          "{}: a late writer came back, or has a file open; the next run retires it", directory);
    } catch (ForeignEntryException e) {
      foreign(e);
    } catch (IOException e) {
      obstacles.add(e, LogLayout.lock(directory));
    }
  }

  /**
   * Whether nothing of it is left, but what a process has open; what is not ours stays, and is
   * told.
   *
   * @param name as listed; empty: of a prelock or a lock
   */
  private boolean removeOurs(Name file, String name) throws IOException {
    try {
      if (!name.isEmpty() && !isOurs(name)) {
        throw ForeignEntryException.notOurs(file);
      }
      remove(file);
      return true;
    } catch (ForeignEntryException e) {
      if (!file.equals(e.path())) {
        throw e; // the bucket itself
      }
      foreign(e);
      return false;
    }
  }

  private static boolean isOurs(String name) {
    return DataFileName.parse(name).isPresent()
        || Name.isTemporary(name)
        || LogLayout.isHeldOpen(name);
  }

  /** Whether it is gone; a file that was removed and is still open here stays until it is not. */
  @CanIgnoreReturnValue
  private boolean remove(Name file) throws IOException {
    try {
      storage.remove(file); // or another run, or an earlier one, was here
      return true;
    } catch (FileSystemException e) {
      if (!LogLayout.isHeldOpen(file.last())) {
        throw e;
      }
      LOG.debug("{}: a process of this machine has it open: {}", file, e.toString());
      return false;
    }
  }

  /** A directory all of whose range is retired, and that is empty unless somebody is late. */
  private void removeDirectory(Name directory) {
    if (really) {
      try {
        storage.removePlace(directory);
      } catch (IOException e) {
        LOG.debug("{}: stays: {}", directory, e.toString());
      }
    }
  }
}
