package dev.cinch.bag.close;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.close.Locks.Closed;
import dev.cinch.bag.format.BucketLock;
import dev.cinch.bag.format.Envelope;
import dev.cinch.bag.format.FileHeader;
import dev.cinch.bag.format.LockedFile;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.storage.Closing;
import dev.cinch.bag.storage.ForeignEntryException;
import dev.cinch.bag.storage.LogStorage;
import dev.cinch.bag.storage.LogStorage.Freshness;
import dev.cinch.bag.storage.LogStorage.Settled;
import dev.cinch.bag.store.LogContext;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.util.ArrayList;
import java.util.Arrays;
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

  /** Copies of the ends of files that one lock has where forcing the files does as well, bytes. */
  private static final int MAX_COPIES = 1 << 22;

  /** What a lock or a part of one has at most before the next part begins, bytes. */
  private static final int PART_BYTES = 1 << 22;

  private final Consumer<ForeignEntryException> leftOut;
  private final int partBytes;
  private final int maxCopies;
  private final LogContext log;
  private final LogStorage storage;
  private final Locks locks;

  public BucketCloser(LogContext log) {
    this(log, e -> LOG.warn("{}", e.getMessage()));
  }

  /**
   * @param leftOut told of every entry of a bucket that closing leaves out, or as it is, since it
   *     is not a file, or one with other names (rule N7)
   */
  BucketCloser(LogContext log, Consumer<ForeignEntryException> leftOut) {
    this(log, leftOut, PART_BYTES, MAX_COPIES);
  }

  /**
   * @param maxCopies bytes of copies in one lock, where the files can be forced instead
   */
  BucketCloser(
      LogContext log, Consumer<ForeignEntryException> leftOut, int partBytes, int maxCopies) {
    this.leftOut = leftOut;
    this.partBytes = partBytes;
    this.maxCopies = maxCopies;
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
    long deadline = log.store().time().monotonicNanos() + storage.staleNanos();
    while (true) {
      boolean expired = log.store().time().monotonicNanos() - deadline >= 0;
      try {
        Optional<Closed> before = locks.readIfListed(bucket); // else closed once more, to one end
        if (before.isPresent()) {
          storage.finish(bucket);
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
        storage.finish(bucket);
      }
      return now;
    } catch (IOException e) {
      // Missing with all around it, or stale: retired meanwhile. If not, the next try says it.
      LOG.debug("{}: {}", bucket, e.toString());
      return Optional.empty();
    }
  }

  private Closed attempt(Bucket bucket) throws IOException {
    try (Closing closing = storage.seal(bucket)) { // steps 1 and 2
      List<LockedFile> files = // step 3
          closing.measure(
              name -> new FileHeader(log.store().identity().id(), log.id(), bucket, name),
              maxCopies,
              leftOut);
      BucketLock mine = inParts(bucket, files, closing); // step 4
      byte[] encoded = mine.encode();
      byte[] winner = closing.publish(encoded);
      // Most often it is ours, and not decoded again then.
      Closed truth =
          Arrays.equals(winner, encoded)
              ? new Closed(mine, Envelope.sha256(winner))
              : locks.read(bucket).orElseThrow(() -> new NoSuchFileException(bucket.toString()));
      closing.finish(truth.lock().parts().stream().map(BucketLock.Part::sha256).toList()); // step 5
      return truth;
    }
  }

  /**
   * Publishes the parts of a lock, if it takes any.
   *
   * @return the lock as it is to be published, naming its parts
   * @throws IOException if it would be too long for readers all the same; nothing of it counts then
   */
  private BucketLock inParts(Bucket bucket, List<LockedFile> files, Closing closing)
      throws IOException {
    var lock = new BucketLock(log.store().identity().id(), log.id(), bucket, files);
    List<List<LockedFile>> groups = split(lock.files());
    if (groups.size() <= 1) {
      return lock;
    }
    var parts = new ArrayList<BucketLock.Part>();
    for (List<LockedFile> group : groups) {
      byte[] bytes = BucketLock.encodePart(group);
      var part = new BucketLock.Part(Envelope.sha256(bytes), group.size());
      closing.publishPart(part.sha256(), bytes);
      parts.add(part);
    }
    BucketLock whole = lock.withParts(parts);
    if (whole.encode().length > BucketLock.MAX_BYTES) {
      throw new IOException(
          "%s: a lock of %d data files in %d parts is longer than %d bytes, which is what readers"
                  .formatted(
                      locks.path(bucket), lock.files().size(), parts.size(), BucketLock.MAX_BYTES)
              + " take: the bucket can't be closed");
    }
    return whole;
  }

  private List<List<LockedFile>> split(List<LockedFile> files) {
    var groups = new ArrayList<List<LockedFile>>();
    long left = 0;
    for (LockedFile file : files) {
      if (groups.isEmpty() || file.encodedBytes() > left) {
        groups.add(new ArrayList<>());
        left = partBytes;
      }
      groups.get(groups.size() - 1).add(file);
      left -= file.encodedBytes();
    }
    return groups;
  }
}
