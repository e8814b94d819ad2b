package dev.cinch.bag.storage.posix;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.fs.Fresh;
import dev.cinch.bag.fs.FsClock;
import dev.cinch.bag.fs.Mount;
import dev.cinch.bag.fs.StoreFile;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.StoreLayout;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.bag.model.Stored;
import dev.cinch.bag.storage.Entered;
import dev.cinch.bag.storage.Freshness;
import dev.cinch.bag.storage.Patience;
import dev.cinch.bag.storage.Storage;
import dev.cinch.bag.storage.Storage.Decoder;
import dev.cinch.bag.storage.Storage.Draft;
import dev.cinch.lease.time.SystemTime;
import dev.cinch.lease.time.TimeSource;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.ByteBuffer;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A store in a directory of a POSIX or network filesystem. A document is a file that is linked into
 * place, one that says all by its name an empty file. A bucket is a directory, its mark the first
 * byte of a file that is empty before, the prelock. What that takes past the caches of clients:
 * storage-posix.md. Thread-safe.
 */
@CheckReturnValue
public final class PosixStore implements Storage {
  /** After so long every cache of a network filesystem has expired, nanoseconds (rule N2). */
  public static final long CACHE_EXPIRY_NANOS = 61_000_000_000L;

  private static final Logger LOG = LoggerFactory.getLogger(PosixStore.class);
  private static final int GROUP_WRITE = 0020;
  private static final int STICKY = 01000;

  private final StoreFs fs;
  private final Fresh fresh;
  private final FsClock clock;
  private final StoreLayout layout;
  private final StoreSettings settings;
  private final TimeSource time;
  private final BucketEntrance entrance;

  /**
   * @param fs the filesystem
   * @param fresh the same, past its caches
   * @param clock the filesystem's
   * @param layout where things stand
   * @param time clocks and waits
   */
  public PosixStore(
      StoreFs fs,
      Fresh fresh,
      FsClock clock,
      StoreLayout layout,
      StoreSettings settings,
      TimeSource time) {
    this.fs = fs;
    this.fresh = fresh;
    this.clock = clock;
    this.layout = layout;
    this.settings = settings;
    this.time = time;
    this.entrance = new BucketEntrance(this);
  }

  /**
   * The directory of a store, for what works on files.
   *
   * @throws IllegalArgumentException if it is in another storage
   */
  public static PosixStore of(Storage storage) {
    if (storage instanceof PosixStore posix) {
      return posix;
    }
    throw new IllegalArgumentException("this works on files, and the store is no directory");
  }

  /** A directory of which nothing was read yet, for what never writes there. */
  public static PosixStore unread(StoreFs fs, Path root) {
    var layout = new StoreLayout(root);
    var fresh = new Fresh(fs);
    var clock = new FsClock(fs, fresh, fs.path(layout.clock()), 0);
    return new PosixStore(fs, fresh, clock, layout, StoreSettings.DEFAULT, SystemTime.INSTANCE);
  }

  public StoreFs fs() {
    return fs;
  }

  public Fresh fresh() {
    return fresh;
  }

  public int fileMode() {
    return settings.fileMode();
  }

  public int directoryMode() {
    return settings.directoryMode();
  }

  TimeSource time() {
    return time;
  }

  /** Where a name is. */
  public Path path(Name name) {
    return fs.path(name);
  }

  /** What its maker alone ever writes, group and others may read as the store has it. */
  private int fileModeIn(Name place) {
    boolean own = place.equals(layout.keys()) || place.startsWith(layout.service());
    return own ? fileMode() & ~0022 : fileMode();
  }

  /**
   * Waits a second, for a cache: longer than a FUSE client remembers attributes unless it is
   * mounted otherwise (rule N6), and often enough for what others are about to do.
   *
   * @param what is waited for
   */
  void awaitCaches(Object what) throws InterruptedIOException {
    Patience.sleep(time, what, 1_000_000_000L);
  }

  @Override
  public long now() throws IOException {
    return clock.now();
  }

  @Override
  public Entered enter(Name dataFile, Durability durability) throws IOException {
    return entrance.enter(dataFile, durability == Durability.SYNC);
  }

  /** All closers write the same byte at the same place. */
  @Override
  public void seal(Name bucket) throws IOException {
    try (StoreFile out = openOrCreate(path(LogLayout.prelock(bucket)))) {
      out.write(ByteBuffer.wrap(new byte[] {'x'}));
      out.force();
    }
    secure(bucket);
  }

  private StoreFile openOrCreate(Path file) throws IOException {
    try {
      return fs.create(file, fileMode());
    } catch (FileAlreadyExistsException e) {
      return fs.overwrite(file);
    }
  }

  private void prepare(LogLayout log) throws IOException {
    // init may have stopped before it did; a store that has logs has lost its settings.
    secure(layout.root());
    for (Name directory :
        List.of(
            log.root(),
            log.buckets(),
            log.horizon(),
            log.records(),
            log.intents(),
            log.checkpoints(),
            log.segments())) {
      boolean unused = fresh.ensureDirectory(path(directory), directoryMode());
    }
    secure(log.horizon());
    secure(log.root());
    secure(layout.logs());
  }

  @Override
  public void prepare(Name place) throws IOException {
    if (place.parent().equals(layout.logs())) {
      prepare(layout.log(new LogName(place.last())));
      return;
    }
    boolean unused = fresh.ensureDirectory(path(place), directoryMode());
    secure(place.parent());
  }

  @Override
  public List<String> list(Name place, Freshness freshness) throws IOException {
    return switch (freshness) {
      case CACHED -> fresh.listKnown(path(place));
      case PERMITTED -> fresh.listAsPermitted(path(place));
      case CERTAIN -> fresh.list(path(place));
    };
  }

  @Override
  public Optional<List<String>> listIfPermitted(Name place) throws IOException {
    return fresh.listIfPermitted(path(place));
  }

  @Override
  public boolean isThere(Name document, Freshness freshness) throws IOException {
    if (freshness != Freshness.CACHED) {
      return fresh.exists(path(document));
    }
    try {
      fs.read(path(document)).close();
      return true;
    } catch (NoSuchFileException e) {
      return false;
    }
  }

  @Override
  public <T> T read(Name document, int limit, Freshness freshness, Decoder<T> decoder)
      throws IOException {
    if (freshness == Freshness.CERTAIN) {
      Name place = document.parent();
      List<String> unused = fs.list(path(place.parent()));
      unused = fs.list(path(place));
      return decoder.decode(fresh.readAllUncached(path(document), limit));
    }
    if (freshness == Freshness.PERMITTED) {
      return decoder.decode(fresh.readAllGrowing(path(document), limit));
    }
    return fresh.decode(path(document), limit, decoder::decode);
  }

  @Override
  public Stored open(Name name, Freshness freshness) throws IOException {
    Path file = path(name);
    return switch (freshness) {
      case CACHED -> fresh.read(file);
      case PERMITTED -> growing(file);
      case CERTAIN -> fs.readUncached(file);
    };
  }

  private StoreFile growing(Path file) throws IOException {
    StoreFile in = fresh.readGrowing(file);
    boolean sure;
    try {
      sure = in.size() > 0 || fs.readsReachServer(file);
    } catch (IOException | RuntimeException e) {
      in.close();
      throw e;
    }
    if (sure) {
      return in;
    }
    in.close();
    awaitCaches(file); // it may only look empty (rule N6)
    return fresh.readGrowing(file);
  }

  @Override
  public long changedAt(Name name) throws IOException {
    return fs.status(path(name)).changeTime();
  }

  @Override
  public Draft draft(Name document) throws IOException {
    Name place = document.parent();
    boolean isOfSegments = layout.isOfSegments(place);
    int mode = isOfSegments ? settings.closedFileMode() : fileModeIn(place);
    return new PosixDraft(this, path(place), fileModeIn(place), mode);
  }

  @Override
  public boolean publish(Name document, byte[] content) throws IOException {
    return content.length > 0 ? Storage.super.publish(document, content) : publishName(document);
  }

  /** One that is all name needs no link. */
  private boolean publishName(Name document) throws IOException {
    Name place = document.parent();
    boolean made = true;
    try {
      int mode = layout.isOfSegments(place) ? settings.closedFileMode() : fileModeIn(place);
      fs.create(path(document), mode).close();
    } catch (FileAlreadyExistsException e) {
      made = false; // another's, or ours, from a request that was sent twice
    }
    secure(place);
    return made;
  }

  @Override
  public void secure(Name place) throws IOException {
    fs.forceDirectory(path(place));
  }

  @Override
  public void remove(Name name) throws IOException {
    try {
      fs.unlink(path(name));
    } catch (NoSuchFileException e) {
      // Somebody else was faster.
    }
  }

  @Override
  public void removePlace(Name place) throws IOException {
    fs.rmdir(path(place));
  }

  @Override
  public OptionalLong free() {
    try {
      return OptionalLong.of(Mount.free(path(layout.root())));
    } catch (IOException | UnsupportedOperationException e) {
      LOG.debug("the filesystem does not say how much is free", e);
      return OptionalLong.empty();
    }
  }

  @Override
  public int owner(Name place) throws IOException {
    return fs.status(path(place)).uid();
  }

  /** A bucket that an earlier version closed is; so is a place with the sticky bit. */
  @Override
  public boolean isKept(Name place) throws IOException {
    return (directoryMode() & GROUP_WRITE) != 0
        && (fs.status(path(place)).mode() & (GROUP_WRITE | STICKY)) != GROUP_WRITE;
  }

  @Override
  public Patience patience(Name place) {
    return new CacheWait(this, path(place));
  }

  @Override
  public void show(Name document) throws IOException {
    Name place = document.parent();
    secure(place);
    if (document.equals(LogLayout.lock(place))) {
      LaterTick.change(this, path(place), path(document));
    } else {
      awaitReaders(path(place), document);
    }
  }

  /**
   * Only where these may not make entries they can't look past their caches; then this waits until
   * every cache is younger than the file.
   */
  private void awaitReaders(Path place, Name document) throws IOException {
    int theirs = directoryMode() & GROUP_WRITE;
    if (theirs == (fs.status(place).mode() & theirs) || fs.isLocal(place)) {
      return;
    }
    long age = now() - changedAt(document);
    if (age < CACHE_EXPIRY_NANOS) {
      Patience.sleep(time, place, CACHE_EXPIRY_NANOS - age);
    }
  }
}
