package dev.cinch.bag.close;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.close.Locks.Closed;
import dev.cinch.bag.file.DataFileExtent;
import dev.cinch.bag.file.DataFiles;
import dev.cinch.bag.format.ForeignEntryException;
import dev.cinch.bag.format.SegmentBucket;
import dev.cinch.bag.format.SegmentEncoder;
import dev.cinch.bag.format.SegmentHeader;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.DataFileName;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.storage.Buckets.Settled;
import dev.cinch.bag.storage.Freshness;
import dev.cinch.bag.storage.Storage;
import dev.cinch.bag.storage.Storage.Draft;
import dev.cinch.bag.store.LogContext;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Closes one bucket (section 3). Any process may, any number at once; one that stops anywhere
 * leaves nothing that another can't finish.
 *
 * <p>Only ever called by {@link HorizonAdvance}, under an intent that reaches the bucket.
 * Thread-safe.
 */
@CheckReturnValue
public final class BucketCloser {
  private static final Logger LOG = LoggerFactory.getLogger(BucketCloser.class);
  private static final long RETRY_NANOS = 1_000_000_000L;

  /** By then others' caches have expired, and modes are set. */
  private static final long PATIENCE_NANOS = 61_000_000_000L;

  private static final Comparator<DataFileName> BY_NAME =
      Comparator.comparing(DataFileName::toString);

  private final Consumer<ForeignEntryException> leftOut;
  private final LogContext log;
  private final Storage storage;
  private final Locks locks;

  public BucketCloser(LogContext log) {
    this(log, e -> LOG.warn("{}", e.getMessage()));
  }

  /**
   * @param leftOut told of every entry of a bucket that closing leaves out, or as it is, since it
   *     is not a file, or one with other names (rule N7)
   */
  BucketCloser(LogContext log, Consumer<ForeignEntryException> leftOut) {
    this.leftOut = leftOut;
    this.log = log;
    this.storage = log.storage();
    this.locks = new Locks(log);
  }

  /**
   * Closes a bucket that exists, or finds it closed.
   *
   * @param settled asked when the bucket can't be closed
   * @return empty if it was settled meanwhile: retired too, there may be nothing left of it
   * @throws CloseBlockedException if a file's permissions stop this user
   */
  public Optional<Closed> close(Bucket bucket, Settled settled)
      throws IOException, InterruptedException {
    long deadline = log.store().time().monotonicNanos() + PATIENCE_NANOS;
    while (true) {
      boolean expired = log.store().time().monotonicNanos() - deadline >= 0;
      try {
        Optional<Closed> before = locks.readIfListed(bucket); // else closed once more, to one end
        if (before.isPresent()) {
          storage.show(lock(bucket));
          return before;
        }
        return Optional.of(attempt(bucket));
      } catch (IOException e) {
        // Most likely somebody else finished before us; our caches may not know it yet (close, step
        // 5). Who finishes first removes the temporary files of the others, which may show as any
        // error.
        Optional<Closed> now = byOthers(bucket);
        if (now.isPresent()) {
          return now;
        }
        if (settled.through(bucket.end())) {
          return Optional.empty();
        }
        boolean refused = e instanceof AccessDeniedException;
        if (!refused && !(e instanceof NoSuchFileException)) {
          throw e;
        }
        if (expired) { // before this attempt: a pause in it or since proves nothing
          String file = ((FileSystemException) e).getFile();
          throw new CloseBlockedException(
              file == null ? "" + log.layout().bucket(bucket) : file,
              "cannot close the bucket: " + (refused ? "permission denied" : "it vanished"),
              e);
        }
        LOG.debug("{}: {}; trying again until caches have expired", bucket, e.toString());
        log.store().time().sleepNanos(RETRY_NANOS);
      }
    }
  }

  /** What somebody else's lock says; durable then. */
  private Optional<Closed> byOthers(Bucket bucket) {
    try {
      Optional<Closed> now = locks.read(bucket, Freshness.CERTAIN);
      if (now.isPresent()) {
        storage.show(lock(bucket));
      }
      return now;
    } catch (IOException e) {
      // Missing with all around it, or stale: retired meanwhile. If not, the next try says it.
      LOG.debug("{}: {}", bucket, e.toString());
      return Optional.empty();
    }
  }

  private Closed attempt(Bucket bucket) throws IOException {
    Name place = log.layout().bucket(bucket);
    storage.seal(place); // step 1
    List<String> names = storage.list(place, Freshness.CERTAIN); // step 2
    List<DataFileExtent> files = measure(bucket, names); // step 3
    try (Draft lock = storage.draft(lock(bucket))) {
      write(bucket, files, lock);
      lock.finish();
      log.requireSame();
      boolean unused = lock.publish(lock(bucket)); // step 4: the truth is what the name holds
      storage.secure(place);
    }
    Closed truth =
        locks
            .read(bucket, Freshness.CERTAIN)
            .orElseThrow(() -> new NoSuchFileException(bucket.toString()));
    names.stream() // step 5
        .filter(Name::isTemporary)
        .forEach(name -> storage.removeQuietly(place.resolve(name)));
    storage.show(lock(bucket));
    return truth;
  }

  private Name lock(Bucket bucket) {
    return LogLayout.lock(log.layout().bucket(bucket));
  }

  private List<DataFileExtent> measure(Bucket bucket, List<String> names) throws IOException {
    List<DataFileName> dataFiles =
        names.stream().map(DataFileName::parse).flatMap(Optional::stream).sorted(BY_NAME).toList();
    var measured = new ArrayList<DataFileExtent>();
    for (DataFileName name : dataFiles) {
      try (var files = new DataFiles(log, bucket, 1)) {
        measured.add(files.measure(name));
      } catch (ForeignEntryException e) {
        if (!LogLayout.dataFile(log.layout().bucket(bucket), name).equals(e.path())) {
          throw e; // the bucket itself
        }
        leftOut.accept(e); // no file, so that no writer can have made it (rule N7)
      }
    }
    return measured;
  }

  private void write(Bucket bucket, List<DataFileExtent> measured, Draft lock) throws IOException {
    var header = SegmentHeader.ofBucket(log.store().identity().id(), log.id(), bucket);
    var out = new SegmentEncoder(header, lock::write);
    out.bucket(
        SegmentBucket.closed(
            bucket.start(),
            measured.stream().map(DataFileExtent::listed).toList(),
            measured.stream().flatMap(f -> f.holes().stream()).toList()));
    try (var files = new DataFiles(log, bucket, measured.size())) {
      for (int i = 0; i < measured.size(); i++) {
        if (measured.get(i).messages() > 0) {
          files.add(measured.get(i), i);
        }
      }
      files.feed(out, measured.size());
    }
    out.end();
  }
}
