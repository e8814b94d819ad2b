package dev.cinch.bag.read;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.close.Locks;
import dev.cinch.bag.format.BucketLock;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.FileHeader;
import dev.cinch.bag.format.HorizonRecord.ClosedBucket;
import dev.cinch.bag.format.LockedFile;
import dev.cinch.bag.layout.LogLayout;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.DataFileName;
import dev.cinch.bag.storage.ForeignEntryException;
import dev.cinch.bag.storage.LogStorage.Bag;
import dev.cinch.bag.storage.LogStorage.Freshness;
import dev.cinch.bag.storage.Stored;
import dev.cinch.bag.store.LogContext;
import dev.cinch.lease.witness.WitnessVerifier;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * Opens the data files of one bucket for reading: what a lock covers of them, or in a bucket that
 * has none all that is there. The caller closes the cursors. Thread-safe.
 */
@CheckReturnValue
final class BucketCursors {
  private final LogContext log;
  private final Locks locks;

  BucketCursors(LogContext log) {
    this.log = log;
    this.locks = new Locks(log);
  }

  /** Of a bucket that a record lists. */
  List<DataFileCursor> settled(ClosedBucket listed, WitnessVerifier keys) throws IOException {
    return locked(locks.readListed(listed).lock(), Standing.SETTLED, keys);
  }

  /** All that a lock covers. */
  List<DataFileCursor> locked(BucketLock lock, Standing standing, WitnessVerifier keys)
      throws IOException {
    var opening = new Opening(lock.bucket(), keys, lock.files().size());
    for (LockedFile f : lock.files()) {
      if (f.validLength() > 0) {
        opening.add(f, standing);
      }
    }
    return opening.cursors;
  }

  /**
   * What there is of a bucket that is not settled.
   *
   * @param lock what exists in it, if it is closed (rule H4)
   * @param files all that there are, if it is not
   */
  record Found(Bucket bucket, Optional<BucketLock> lock, List<DataFileName> files) {}

  /** Looks what there is of a bucket that is not settled, and opens nothing yet. */
  Found find(Bucket bucket) throws IOException {
    List<DataFileName> files;
    Optional<BucketLock> lock = Optional.empty();
    try {
      Bag bag = log.storage().look(bucket, Freshness.PERMITTED);
      files = bag.files();
      if (bag.mayBeLocked()) {
        lock = lock(bucket);
      }
    } catch (NoSuchFileException e) {
      // Closed meanwhile, and what was made for the listing was swept before it had its mode.
      files = List.of();
      lock = lock(bucket);
      if (lock.isEmpty()) {
        throw e;
      }
    }
    return new Found(bucket, lock, lock.isPresent() ? List.of() : files);
  }

  private Optional<BucketLock> lock(Bucket bucket) throws IOException {
    return locks.read(bucket).map(Locks.Closed::lock);
  }

  /**
   * Of what was found in a bucket that is not settled.
   *
   * @param foreign told of what has the name of a data file and is none (rule N7)
   */
  List<DataFileCursor> live(
      Found found, WitnessVerifier keys, Consumer<ForeignEntryException> foreign)
      throws IOException {
    Optional<BucketLock> lock = found.lock();
    if (lock.isPresent()) {
      return locked(lock.get(), Standing.LOCKED, keys); // its record is still to come (rule H4)
    }
    var opening = new Opening(found.bucket(), keys, found.files().size());
    for (DataFileName name : found.files()) {
      opening.addGrowing(name, foreign);
    }
    return opening.cursors;
  }

  /** Files of one bucket, each opened when it is read; an error closes those before. */
  private final class Opening {
    final List<DataFileCursor> cursors = new ArrayList<>();
    private final Bucket bucket;
    private final WitnessVerifier keys;
    private final OpenFiles files;

    Opening(Bucket bucket, WitnessVerifier keys, int files) {
      this.files = new OpenFiles(files);
      this.bucket = bucket;
      this.keys = keys;
    }

    void add(LockedFile file, Standing standing) throws IOException {
      Path path = path(file.name());
      Stored in = files.file(() -> listed(() -> open(file.name(), Freshness.CACHED), path), null);
      cursors.add(cursor(path, in, file, standing));
    }

    /** Where a file stands, for people. */
    private Path path(DataFileName name) {
      return LogLayout.dataFile(log.layout().bucket(bucket), name);
    }

    private Stored open(DataFileName name, Freshness freshness) throws IOException {
      return log.storage().open(bucket, name, freshness);
    }

    private static Stored listed(OpenFiles.Opening opening, Path path) throws IOException {
      try {
        return opening.open();
      } catch (NoSuchFileException e) {
        throw new DamagedException(path, 0, "the data file that the lock lists", "no file");
      }
    }

    /** All of a file that others may be appending to. */
    void addGrowing(DataFileName name, Consumer<ForeignEntryException> foreign) throws IOException {
      Path path = path(name);
      try {
        Stored in = open(name, Freshness.PERMITTED);
        LockedFile whole = whole(name, in);
        Stored pooled = files.file(() -> open(name, Freshness.PERMITTED), in);
        cursors.add(cursor(path, pooled, whole, Standing.OPEN));
      } catch (ForeignEntryException e) {
        if (!path.equals(e.path())) {
          closeAll();
          throw e; // the bucket itself
        }
        foreign.accept(e);
      } catch (IOException | RuntimeException e) {
        closeAll();
        throw e;
      }
    }

    private static LockedFile whole(DataFileName name, Stored in) throws IOException {
      try {
        return new LockedFile(name, in.size(), 0, 0, 0, 0, new byte[0]);
      } catch (IOException | RuntimeException e) {
        in.close();
        throw e;
      }
    }

    private DataFileCursor cursor(Path path, Stored in, LockedFile file, Standing standing) {
      var header = new FileHeader(log.store().identity().id(), log.id(), bucket, file.name());
      return new DataFileCursor(
          path,
          header,
          in,
          () -> open(file.name(), Freshness.CERTAIN),
          file,
          standing,
          new LeaseTable(keys, log),
          files);
    }

    private void closeAll() throws IOException {
      for (DataFileCursor c : cursors) {
        c.close();
      }
    }
  }
}
