package dev.cinch.bag.read;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.close.Locks;
import dev.cinch.bag.file.DataFiles;
import dev.cinch.bag.file.SegmentReader;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.DataFileName;
import dev.cinch.bag.storage.ForeignEntryException;
import dev.cinch.bag.storage.LogStorage.Bag;
import dev.cinch.bag.storage.LogStorage.Freshness;
import dev.cinch.bag.store.LogContext;
import dev.cinch.lease.witness.WitnessVerifier;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.util.List;
import java.util.function.Consumer;

/** Reads buckets that no record lists: the lock of one that is closed, else its data files. */
@CheckReturnValue
final class OpenBuckets {
  private final LogContext log;
  private final Locks locks;

  OpenBuckets(LogContext log) {
    this.log = log;
    this.locks = new Locks(log);
  }

  /**
   * What there is of a bucket that is not settled.
   *
   * @param locked whether it is closed (rule H4)
   * @param files all that there are, if it is not
   */
  record Found(Bucket bucket, boolean locked, List<DataFileName> files) {}

  /** Looks what there is of a bucket that is not settled, and opens no data file yet. */
  Found find(Bucket bucket) throws IOException {
    List<DataFileName> files;
    boolean locked = false;
    try {
      Bag bag = log.storage().look(bucket, Freshness.PERMITTED);
      files = bag.files();
      if (bag.mayBeLocked()) {
        locked = locks.read(bucket).isPresent();
      }
    } catch (NoSuchFileException e) {
      // Closed meanwhile, and what was made for the listing was swept before it had its mode.
      files = List.of();
      locked = locks.read(bucket).isPresent();
      if (!locked) {
        throw e;
      }
    }
    return new Found(bucket, locked, locked ? List.of() : files);
  }

  /**
   * Delivers what was found; false if the sink wants no more.
   *
   * @param foreign told of what has the name of a data file and is none (rule N7)
   */
  boolean deliver(
      Found found, WitnessVerifier keys, Delivery delivery, Consumer<ForeignEntryException> foreign)
      throws IOException {
    Bucket bucket = found.bucket();
    if (found.locked()) { // its record is still to come
      try (SegmentReader lock = SegmentReader.ofBucket(log, bucket, Freshness.CACHED)) {
        return delivery.acceptAll(lock.messages(bucket.start(), bucket.end(), keys, false));
      }
    }
    try (var files = new DataFiles(log, bucket, keys, found.files().size())) {
      for (DataFileName name : found.files()) {
        files.addGrowing(name, foreign);
      }
      return delivery.acceptAll(files);
    }
  }
}
