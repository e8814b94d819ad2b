package dev.cinch.bag.close;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.format.BucketLock;
import dev.cinch.bag.format.Checkpoint;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.Envelope;
import dev.cinch.bag.format.FileHeader;
import dev.cinch.bag.format.HorizonRecord.ClosedBucket;
import dev.cinch.bag.format.LockedFile;
import dev.cinch.bag.fs.ForeignEntryException;
import dev.cinch.bag.fs.StoreFile;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.layout.LogLayout;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.DataFileName;
import dev.cinch.bag.model.Names;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.bag.store.LogContext;
import dev.cinch.lease.time.TimeSource;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
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

  /**
   * After so long the caches of every client have expired, and what still looks missing is missing.
   */
  static final long CACHE_EXPIRY_NANOS = 61_000_000_000L;

  private static final long RETRY_NANOS = 1_000_000_000L;

  /** How coarse change times may be: a whole second on some servers. */
  private static final long SHORTEST_TICK_NANOS = 1_000_000;

  private static final long LONGEST_TICK_NANOS = 1L << 30;

  /** Copies of the ends of files that one lock has where forcing the files does as well, bytes. */
  private static final int MAX_COPIES = 1 << 22;

  private final Consumer<ForeignEntryException> foreign;
  private final LockFiles locks;
  private final int maxCopies;
  private final LogContext log;
  private final StoreFs fs;
  private final StoreSettings settings;

  public BucketCloser(LogContext log) {
    this(log, e -> LOG.warn("{}", e.getMessage()));
  }

  /**
   * @param foreign told of every entry of a bucket that closing leaves out, or as it is, since it
   *     is not a file, or one with other names (rule N7)
   */
  BucketCloser(LogContext log, Consumer<ForeignEntryException> foreign) {
    this(log, foreign, new LockFiles(log.store().fresh()), MAX_COPIES);
  }

  /**
   * @param maxCopies bytes of copies in one lock, where the files can be forced instead
   */
  BucketCloser(
      LogContext log, Consumer<ForeignEntryException> foreign, LockFiles locks, int maxCopies) {
    this.foreign = foreign;
    this.locks = locks;
    this.maxCopies = maxCopies;
    this.log = log;
    this.fs = log.store().fs();
    this.settings = log.store().settings();
  }

  /**
   * A closed bucket.
   *
   * @param lock what exists in it
   * @param digest SHA-256 of the lock, in hexadecimal
   */
  public record Closed(BucketLock lock, String digest) {}

  /** Tells whether a bucket was settled since somebody was asked to close it. */
  public interface Settled {
    boolean test(Bucket bucket) throws IOException;
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
    Path directory = log.layout().bucket(bucket);
    long deadline = log.store().time().monotonicNanos() + CACHE_EXPIRY_NANOS;
    while (true) {
      boolean expired = log.store().time().monotonicNanos() - deadline >= 0;
      try {
        Optional<Closed> before = readIfListed(bucket); // else closed once more, to the same end
        if (before.isPresent()) {
          fs.forceDirectory(directory); // its closer may have stopped before it did
          closeDirectory(directory);
          return before;
        }
        return Optional.of(attempt(bucket, directory));
      } catch (AccessDeniedException | NoSuchFileException e) {
        // Most likely somebody else finished before us; our caches may not know it yet (close, step
        // 5).
        Optional<Closed> now = listAndRead(log.layout().group(bucket), bucket, directory);
        if (now.isPresent()) {
          return now;
        }
        if (settled.test(bucket)) {
          return Optional.empty();
        }
        if (expired) { // before this attempt: a pause in it or since proves nothing
          Path named = e.getFile() == null ? directory : Path.of(e.getFile());
          throw new CloseBlockedException(named, "cannot close the bucket: " + reason(e), e);
        }
        LOG.debug("{}: {}; trying again until caches have expired", directory, e.toString());
        log.store().time().sleepNanos(RETRY_NANOS);
      } catch (IOException e) {
        // Who finishes first removes the temporary files of the others (close, step 5): over NFS an
        // open one is stale then.
        Optional<Closed> now = listAndRead(directory, bucket, directory);
        if (now.isPresent()) {
          return now;
        }
        if (settled.test(bucket)) {
          return Optional.empty();
        }
        throw e;
      }
    }
  }

  /** What somebody else's lock says, past caches that a listing renews; durable then. */
  private Optional<Closed> listAndRead(Path listed, Bucket bucket, Path directory)
      throws IOException {
    try {
      fs.list(listed);
      Optional<Closed> now = read(bucket);
      if (now.isPresent()) {
        fs.forceDirectory(directory);
        closeDirectory(directory);
      }
      return now;
    } catch (IOException e) {
      // Missing with all around it, or stale: retired meanwhile. If not, the next try says it.
      LOG.debug("{}: {}", directory, e.toString());
      return Optional.empty();
    }
  }

  private static String reason(IOException e) {
    return e instanceof AccessDeniedException ? "permission denied" : "it vanished";
  }

  private Closed attempt(Bucket bucket, Path directory) throws IOException {
    setPrelock(directory); // step 1
    Path temporary = log.store().fresh().temporary(directory);
    List<String> names;
    BucketLock mine;
    byte[] encoded;
    try (StoreFile out = fs.create(temporary, settings.fileMode())) { // step 2
      names = fs.list(directory);
      var files = new ArrayList<LockedFile>();
      var end = new DataFileEnd();
      long copies = 0;
      for (String name : names) {
        Optional<DataFileName> parsed = DataFileName.parse(name);
        if (parsed.isPresent()) {
          Path path = directory.resolve(name);
          makeReadOnly(path, settings.closedFileMode());
          Optional<LockedFile> measured = // step 3
              measureFile(end, bucket, path, parsed.get(), maxCopies - copies);
          copies += measured.map(f -> f.copy().length).orElse(0);
          measured.ifPresent(files::add);
        }
      }
      mine =
          locks.inParts( // step 4
              new BucketLock(log.store().identity().id(), log.id(), bucket, files),
              LogLayout.lock(directory),
              settings.fileMode());
      encoded = mine.encode();
      out.write(ByteBuffer.wrap(encoded));
      out.force();
      log.requireSame();
    } catch (IOException e) {
      log.store().fresh().removeQuietly(temporary);
      throw e;
    }
    try {
      fs.link(temporary, LogLayout.lock(directory));
    } catch (FileAlreadyExistsException e) {
      // Lost, or a retransmitted LINK of our own: the truth is what the name holds.
    }
    fs.forceDirectory(directory);
    Closed truth = readLinked(bucket, LogLayout.lock(directory), mine, encoded);
    for (String name : names) { // step 5
      if (Names.isTemporary(name)) {
        log.store().fresh().removeQuietly(directory.resolve(name));
      }
    }
    log.store().fresh().removeQuietly(temporary);
    locks.sweep(directory, names, mine, truth.lock());
    closeDirectory(directory);
    return truth;
  }

  /**
   * What the name holds after a link, which is most often what we linked: not decoded again then.
   */
  private Closed readLinked(Bucket bucket, Path path, BucketLock mine, byte[] encoded)
      throws IOException {
    byte[] bytes = log.store().fresh().readAll(path, LockFiles.MAX_BYTES);
    if (Arrays.equals(bytes, encoded)) {
      return new Closed(mine, Envelope.sha256(bytes));
    }
    return decode(path, bucket);
  }

  /** All closers write the same byte at the same place. */
  private void setPrelock(Path directory) throws IOException {
    Path prelock = LogLayout.prelock(directory);
    try (StoreFile out = openOrCreate(prelock)) {
      out.write(ByteBuffer.wrap(new byte[] {'x'}));
      out.force();
    }
    fs.forceDirectory(directory);
  }

  private StoreFile openOrCreate(Path file) throws IOException {
    try {
      return fs.create(file, settings.fileMode());
    } catch (FileAlreadyExistsException e) {
      return fs.overwrite(file);
    }
  }

  /** Empty for what is no file, so that no writer can have made it (rule N7). */
  private Optional<LockedFile> measureFile(
      DataFileEnd end, Bucket bucket, Path path, DataFileName name, long copies)
      throws IOException {
    try {
      return Optional.of(measure(end, bucket, path, name, copies));
    } catch (ForeignEntryException e) {
      if (!path.equals(e.path())) {
        throw e; // the bucket itself
      }
      foreign.accept(e);
      return Optional.empty();
    }
  }

  private LockedFile measure(
      DataFileEnd end, Bucket bucket, Path path, DataFileName name, long copies)
      throws IOException {
    var header = new FileHeader(log.store().identity().id(), log.id(), bucket, name);
    LockedFile cached;
    try (StoreFile in = log.store().fresh().readGrowing(path)) {
      long size = in.size();
      cached = durable(end.measure(in, size, header), in, path, copies);
      if (cached.validLength() == size) {
        if (size > 0 || fs.readsReachServer(path)) {
          return cached;
        }
        log.store()
            .awaitCaches(bucket); // it may only look empty, until its attributes expire (rule N6)
      }
    }
    try (StoreFile in = fs.readUncached(path)) { // before anyone is told that bytes are not valid
      LockedFile stored = durable(end.measure(in, in.size(), header), in, path, copies);
      return stored.validLength() > cached.validLength() ? stored : cached;
    }
  }

  /**
   * Forces what was measured, unless the lock's copy has all of it: on a filesystem of one kernel
   * its writer may not have (durability {@code close}), and a power cut would make the bucket
   * unreadable, with what others wrote. What was forced needs no copy where there are many.
   *
   * @param copies bytes that are left for copies
   */
  private LockedFile durable(LockedFile measured, StoreFile in, Path path, long copies)
      throws IOException {
    int copy = measured.copy().length;
    if (copy < measured.validLength() || copy > copies) {
      if (fs.isLocal(path)) {
        in.force();
        return copy > copies ? measured.withoutCopy() : measured;
      }
    }
    return measured;
  }

  /**
   * Makes it read-only in a later tick of the server's clock than that in which the lock was
   * linked. A client that looked just before the link would else believe for ever that there is
   * none: its kernel goes by the directory's change time, and where nobody can make an entry that
   * never changes again (rule N2).
   */
  private void closeDirectory(Path directory) {
    makeReadOnly(directory, settings.closedDirectoryMode());
    try {
      for (long pause = SHORTEST_TICK_NANOS;
          pause <= LONGEST_TICK_NANOS && !fs.isLocal(directory) && isOfItsTick(directory);
          pause *= 2) {
        log.store().time().sleepNanos(pause);
        changeDirectory(directory);
      }
    } catch (IOException e) {
      LOG.debug("{}: left as it was: {}", directory, e.toString());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt(); // the bucket is closed all the same
    }
  }

  /** Where its mode is another user's to set, by an entry of one's own. */
  private void changeDirectory(Path directory) throws IOException {
    try {
      fs.chmod(directory, settings.closedDirectoryMode());
    } catch (IOException e) {
      log.store().fresh().change(directory);
    }
  }

  private boolean isOfItsTick(Path directory) throws IOException {
    long linked = fs.status(LogLayout.lock(directory)).changeTime();
    return fs.status(directory).changeTime() == linked;
  }

  /** A courtesy to honest tools; safety does not rest on it, so a refusal is no error (rule C5). */
  private void makeReadOnly(Path path, int mode) {
    try {
      fs.chmod(path, mode);
    } catch (ForeignEntryException e) {
      if (e.isFile()) { // read all the same: a backup may have linked it
        LOG.warn("{}", e.getMessage());
      }
    } catch (IOException e) {
      LOG.debug("{}: left writable: {}", path, e.toString());
    }
  }

  /**
   * As {@link #read}, for who does not know that there is one: who asks for a name before it is
   * there may be told so for long after (rule N3). A "no" may be old.
   */
  public Optional<Closed> readIfListed(Bucket bucket) throws IOException {
    try {
      List<String> names = fs.list(log.layout().bucket(bucket));
      return LogLayout.hasLock(names) ? read(bucket) : Optional.empty();
    } catch (NoSuchFileException e) {
      return Optional.empty();
    }
  }

  /**
   * What a bucket's lock says, if it has one; damaged content is read again past the cache before
   * it is believed (rule N5).
   */
  public Optional<Closed> read(Bucket bucket) throws IOException {
    Path path = LogLayout.lock(log.layout().bucket(bucket));
    try {
      return Optional.of(decode(path, bucket));
    } catch (NoSuchFileException e) {
      return Optional.empty();
    }
  }

  /**
   * As {@link #read}, of a bucket that a record lists, so that its lock is there unless it was lost
   * or retired. A "no" that may be old is not believed until every cache has expired: in a closed
   * directory nobody can make an entry of one's own, which else ends what this machine's kernel
   * believes (rules N2, N3).
   *
   * <p>Caches of what was linked by a time expire together, so that all that look missing are
   * waited for together.
   *
   * @param listed monotonic time of this machine at which the record was there that lists the
   *     bucket, and so the lock
   * @return empty if there is none: the caller decides between lost and retired
   */
  public Optional<Closed> readListed(Bucket bucket, long listed) throws IOException {
    TimeSource time = log.store().time();
    long deadline = listed + CACHE_EXPIRY_NANOS;
    Optional<Closed> closed = read(bucket);
    boolean expired = false; // before the last look: a pause in that proves nothing
    while (closed.isEmpty() && !expired && !isRetired(bucket)) {
      expired = time.monotonicNanos() - deadline >= 0 || !mayBeUnseen(bucket);
      if (!expired) {
        LOG.info("{} has no lock; trying again until caches have expired", bucket);
        log.store().awaitCaches(bucket);
      }
      closed = read(bucket);
    }
    return closed;
  }

  /**
   * The lock of a bucket that a record lists, which must be the one that the record names. Whatever
   * is read by a lock in settled time is read by this one.
   *
   * @throws DamagedException if there is none, or another: it is lost, or was retired meanwhile
   */
  public Closed readListed(ClosedBucket listed) throws IOException {
    return readListed(listed, log.store().time().monotonicNanos());
  }

  /** As {@link #readListed(ClosedBucket)}, at a time of {@link #readListed(Bucket, long)}. */
  public Closed readListed(ClosedBucket listed, long at) throws IOException {
    var bucket = new Bucket(listed.start(), log.bucketWidth());
    Path path = LogLayout.lock(log.layout().bucket(bucket));
    Closed closed =
        readListed(bucket, at)
            .orElseThrow(() -> new DamagedException(path, 0, "a lock", "no file"));
    if (!closed.digest().equals(listed.lockDigest())) {
      throw new DamagedException(path, 0, "SHA-256 " + listed.lockDigest(), closed.digest());
    }
    return closed;
  }

  private boolean isRetired(Bucket bucket) throws IOException {
    Optional<Checkpoint> checkpoint = new HorizonChain(log).checkpoint();
    return checkpoint.isPresent() && checkpoint.get().to() >= bucket.end();
  }

  /** Whether a bucket's directory changed so lately that a cache may not know what is in it. */
  private boolean mayBeUnseen(Bucket bucket) throws IOException {
    try {
      long changed = fs.status(log.layout().bucket(bucket)).changeTime();
      return present() - changed < CACHE_EXPIRY_NANOS;
    } catch (NoSuchFileException e) {
      return false;
    }
  }

  /** By the clock that gives change times; by this machine's for who may not ask that. */
  private long present() {
    try {
      return log.store().fsClock().now();
    } catch (IOException e) {
      return log.store().time().wallNanos();
    }
  }

  private Closed decode(Path path, Bucket bucket) throws IOException {
    return log.store()
        .fresh()
        .decode(path, LockFiles.MAX_BYTES, bytes -> decode(bytes, path, bucket));
  }

  private Closed decode(byte[] bytes, Path path, Bucket bucket) throws IOException {
    BucketLock lock = locks.decode(bytes, path);
    if (!lock.store().equals(log.store().identity().id())
        || !lock.log().equals(log.id())
        || !lock.bucket().equals(bucket)) {
      throw new DamagedException(path, 0, "a lock of this bucket", "one of another place");
    }
    return new Closed(lock, Envelope.sha256(bytes));
  }
}
