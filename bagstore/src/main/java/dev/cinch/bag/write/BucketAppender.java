package dev.cinch.bag.write;

import static java.util.Objects.requireNonNull;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.close.HorizonAdvance;
import dev.cinch.bag.format.FileHeader;
import dev.cinch.bag.fs.FileStatus;
import dev.cinch.bag.fs.InWords;
import dev.cinch.bag.fs.StoreFile;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.layout.LogLayout;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.DataFileName;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.bag.store.LogContext;
import dev.cinch.bag.store.StoreReplacedException;
import dev.cinch.lease.Id;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Appends batches to buckets: steps 2 to 4 of section 2. Confined to the committer of one {@link
 * LogWriter}.
 *
 * <p>Timestamps only grow, so it knows one bucket at a time.
 */
@CheckReturnValue
final class BucketAppender {
  private static final Logger LOG = LoggerFactory.getLogger(BucketAppender.class);

  /** How often, and how far apart, to look whether the creator of a prelock has set its mode. */
  private static final int MODE_LOOKS = 20;

  private static final long MODE_LOOK_NANOS = 2_000_000;

  /** How long the server's time of one write may be carried on by the monotonic clock. */
  private static final long SERVER_TIME_NANOS = 100_000_000;

  private final LogContext log;
  private final StoreFs fs;
  private final StoreSettings settings;
  private final Durability durability;
  private final HorizonAdvance horizon;
  private final ClockCheck clock;
  private final BatchEncoder encoder = new BatchEncoder();
  private Id incarnation;
  private @Nullable BucketFile current;

  /** The group directory whose own name this writer has forced. */
  private @Nullable Path forcedGroup;

  private volatile @Nullable StoreReplacedException replaced;

  private boolean serverTimeKnown;
  private long serverTime;
  private long serverTimeAt;
  private long writeBegan;

  /** What became of an attempt to append a batch. */
  sealed interface Attempt {
    /** Its fate is known. */
    record Known(PendingBatch.Outcome outcome) implements Attempt {}

    /** A write was attempted, and only the closed bucket can tell: step 5. */
    record Unknown(Bucket bucket, DataFileName file, long end, long firstPosition, String why)
        implements Attempt {}
  }

  BucketAppender(LogContext log, Durability durability, HorizonAdvance horizon) {
    this.log = log;
    this.fs = log.store().fs();
    this.settings = log.store().settings();
    this.durability = durability;
    this.horizon = horizon;
    this.clock = new ClockCheck(log.store());
    this.incarnation = Id.random(log.store().random());
  }

  Attempt append(PendingBatch batch) {
    long ahead = clock.aheadNanos(batch.last);
    if (ahead > settings.timestampDistanceNanos()) { // step 1 still: the clock was set meanwhile
      return rejected("its timestamp is now %.3f s ahead of the clock".formatted(ahead / 1e9));
    }
    BucketFile file = current;
    current = null; // until it is confirmed: whatever ends this early, nobody goes on with it
    if (file == null || !file.bucket.equals(batch.bucket)) {
      if (file != null) {
        file.leave();
      }
      try { // step 2; before the first byte, an error means REJECTED (rule A1)
        file = enter(batch.bucket);
        file.out = fs.create(file.path, settings.fileMode());
      } catch (StoreReplacedException e) {
        replaced = e;
        return rejected(message(e));
      } catch (AccessDeniedException e) {
        return rejected("the bucket is closed to this user: " + e.getMessage());
      } catch (IOException e) {
        incarnation =
            Id.random(log.store().random()); // the name may exist now; it is never used again
        return rejected(message(e));
      }
    }
    boolean ended = false;
    try {
      Attempt attempt = append(batch, file);
      ended = true;
      return attempt;
    } finally {
      if (!ended) {
        file.leave(); // a fault of ours or of Java: nobody comes back for it
      }
    }
  }

  private Attempt append(PendingBatch batch, BucketFile file) {
    encoder.encode(batch, file, header(file));
    long position = file.messages;
    var unknown = new Attempt.Unknown(batch.bucket, file.name, encoder.newLength(), position, "");
    writeBegan = log.store().time().monotonicNanos();
    try {
      write(file); // step 3
    } catch (IOException e) {
      return failed(unknown, file, e);
    }
    encoder.applyTo(file, batch);
    try { // step 4
      if (confirmed(file)) {
        current = file;
        return new Attempt.Known(new PendingBatch.Outcome.Committed(file.name, position));
      }
    } catch (IOException e) {
      return failed(unknown, file, e);
    }
    file.leave();
    return why(unknown, "the bucket is being closed");
  }

  /** Writes no more to its file. An append afterwards begins anew. */
  void release() {
    BucketFile file = current;
    current = null;
    if (file != null) {
      file.leave();
    }
  }

  private static Attempt rejected(String reason) {
    return new Attempt.Known(new PendingBatch.Outcome.Rejected(reason));
  }

  /** Why it can append nothing more, if that is so; any thread may ask. */
  @Nullable StoreReplacedException replaced() {
    return replaced;
  }

  static String message(IOException e) {
    return InWords.line(e);
  }

  /**
   * After a failed, partial or interrupted write a writer never appends to that file again (rule
   * A2).
   */
  private Attempt failed(Attempt.Unknown unknown, BucketFile file, IOException e) {
    file.leave();
    LOG.debug("{}: write not confirmed: {}", unknown.file(), e.toString());
    incarnation = Id.random(log.store().random());
    return why(unknown, message(e));
  }

  private static Attempt why(Attempt.Unknown u, String why) {
    return new Attempt.Unknown(u.bucket(), u.file(), u.end(), u.firstPosition(), why);
  }

  private FileHeader header(BucketFile file) {
    return new FileHeader(log.store().identity().id(), log.id(), file.bucket, file.name);
  }

  /** Makes sure that the bucket and an empty prelock exist, and remembers the prelock: step 2. */
  private BucketFile enter(Bucket bucket) throws IOException {
    clock.check();
    Path directory = log.layout().bucket(bucket);
    makeDirectories(bucket, directory);
    Path prelock = LogLayout.prelock(directory);
    FileStatus status = enterPrelock(prelock);
    if (status.size() != 0) {
      throw new IOException("the bucket is being closed");
    }
    // The look at the prelock in step 4 then tells a store that takes this one's place later.
    log.requireSame();
    // One incarnation names one file a bucket; a bucket entered twice gets a second one.
    incarnation = Id.random(log.store().random());
    var name = new DataFileName(log.store().machine(), incarnation);
    return new BucketFile(bucket, name, directory, prelock, status);
  }

  private void makeDirectories(Bucket bucket, Path directory) throws IOException {
    int mode = settings.directoryMode();
    try {
      makeDirectory(directory, mode);
    } catch (NoSuchFileException e) {
      // A log that has buckets and no identity would stop everybody, whatever we promise.
      fs.forceDirectory(log.layout().root());
      makeDirectory(log.layout().era(bucket), mode);
      makeDirectory(log.layout().group(bucket), mode);
      makeDirectory(directory, mode);
    }
    if (durability == Durability.SYNC) {
      // Also what somebody else made: whether it was forced, nobody but us can know.
      Path group = log.layout().group(bucket);
      if (forcedGroup == null) {
        fs.forceDirectory(log.layout().root()); // the log's identity
      }
      if (!group.equals(forcedGroup)) {
        fs.forceDirectory(log.layout().buckets());
        fs.forceDirectory(log.layout().era(bucket));
        forcedGroup = group;
      }
      fs.forceDirectory(group);
    }
  }

  private void makeDirectory(Path directory, int mode) throws IOException {
    boolean unused = log.store().fresh().ensureDirectory(directory, mode);
  }

  private FileStatus enterPrelock(Path prelock) throws IOException {
    try {
      fs.create(prelock, settings.fileMode()).close();
      return fs.status(prelock);
    } catch (FileAlreadyExistsException e) {
      // Its creator sets the mode right after creating it, which changes the change time that we
      // are about to remember; until then others may not be permitted to open it.
      for (int i = 0; ; i++) {
        try {
          FileStatus status = log.store().fresh().status(prelock);
          if (status.mode() == settings.fileMode() || i == MODE_LOOKS) {
            return status;
          }
        } catch (AccessDeniedException denied) {
          if (i == MODE_LOOKS) {
            throw denied;
          }
        }
        pause();
      }
    }
  }

  private void pause() throws IOException {
    try {
      log.store().time().sleepNanos(MODE_LOOK_NANOS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted before anything was written", e);
    }
  }

  private void write(BucketFile file) throws IOException {
    StoreFile out = requireNonNull(file.out);
    // Where others may not see what was only written, "visible" takes forcing too (step 4).
    boolean sync = durability == Durability.SYNC || !fs.isLocal(file.path);
    if (encoder.oneStep()) {
      out.write(encoder.whole());
    } else {
      // Two steps: the last bytes are only written once the others are there, and so prove them
      // (rule C3).
      out.write(encoder.allButTrailer());
      if (sync) {
        out.force();
      }
      out.write(encoder.trailer());
    }
    if (sync) {
      out.force();
    }
    if (durability == Durability.SYNC && file.length == 0) {
      fs.forceDirectory(file.directory);
    }
  }

  /** Step 4: after the batch is visible, never before (rule A6). */
  private boolean confirmed(BucketFile file) throws IOException {
    if (settings.confirm() == StoreSettings.Confirm.LATE && clearlyEarly(file)) {
      return true;
    }
    try {
      FileStatus now = fs.freshStatus(file.prelock);
      if (now.size() != 0 || !now.sameUnchanged(file.prelockStatus)) {
        return false;
      }
    } catch (NoSuchFileException e) {
      return false; // a wrong "no" from a cache only leads to step 5
    }
    // Where the look at the prelock may come from a cache, only new listings tell (rule N6).
    if (!file.passedHorizon || !fs.readsReachServer(file.prelock)) {
      if (horizon.marked(file.bucket)) {
        return false;
      }
      file.passedHorizon = true;
    }
    return true;
  }

  /**
   * Whether the server's own time of the write lies before any closer may begin (section 5): by the
   * change time that the server gave a write of ours a moment ago, or a directory after it, and the
   * monotonic clock since. Assumes that the server's clock never steps back, nor ahead by half the
   * grace in a moment; that is why it is off by default.
   */
  private boolean clearlyEarly(BucketFile file) throws IOException {
    long now = log.store().time().monotonicNanos();
    if (!serverTimeKnown || now - serverTimeAt > SERVER_TIME_NANOS) {
      serverTime =
          fs.isLocal(file.path)
              ? fs.status(file.path).changeTime()
              : log.store().fsClock().now(); // the file's may be this client's, or old (N6)
      serverTimeAt = writeBegan; // not after that write, or a pause since would be forgotten
      serverTimeKnown = true;
    }
    return serverTime + (now - serverTimeAt) < file.bucket.end() + settings.graceNanos() / 2;
  }
}
