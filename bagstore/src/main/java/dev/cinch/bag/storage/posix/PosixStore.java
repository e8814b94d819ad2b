package dev.cinch.bag.storage.posix;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.format.StoreIdentity;
import dev.cinch.bag.fs.Fresh;
import dev.cinch.bag.fs.FsClock;
import dev.cinch.bag.fs.StoreFile;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.layout.LogLayout;
import dev.cinch.bag.layout.StoreLayout;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.bag.model.Stored;
import dev.cinch.bag.storage.LogStorage;
import dev.cinch.bag.storage.LogStorage.Decoder;
import dev.cinch.bag.storage.LogStorage.Freshness;
import dev.cinch.bag.storage.Patience;
import dev.cinch.bag.storage.StoreReplacedException;
import dev.cinch.bag.storage.StoreStorage;
import dev.cinch.lease.Id;
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
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A store in a directory of a POSIX or network filesystem. A document is a file that is linked into
 * place, one that says all by its name an empty file. Thread-safe.
 *
 * @param fs the filesystem
 * @param fresh the same, past its caches
 * @param clock the filesystem's
 * @param layout where things stand
 * @param identity what {@code store.json} says
 * @param time clocks and waits
 */
@CheckReturnValue
public record PosixStore(
    StoreFs fs,
    Fresh fresh,
    FsClock clock,
    StoreLayout layout,
    StoreIdentity identity,
    TimeSource time)
    implements StoreStorage {
  /** After so long every cache of a network filesystem has expired, nanoseconds (rule N2). */
  public static final long CACHE_EXPIRY_NANOS = 61_000_000_000L;

  private static final Logger LOG = LoggerFactory.getLogger(PosixStore.class);
  private static final int GROUP_WRITE = 0020;
  private static final int STICKY = 01000;

  /**
   * The directory of a store, for what works on files.
   *
   * @throws IllegalArgumentException if it is in another storage
   */
  public static PosixStore of(StoreStorage storage) {
    if (storage instanceof PosixStore posix) {
      return posix;
    }
    throw new IllegalArgumentException("this works on files, and the store is no directory");
  }

  /** A directory of which nothing was read yet, for what never writes there. */
  public static PosixStore unread(StoreFs fs, Path root) {
    var layout = new StoreLayout(root);
    var fresh = new Fresh(fs);
    var unknown = new StoreIdentity(new Id(0, 0), 0, StoreSettings.DEFAULT, "");
    var clock = new FsClock(fs, fresh, fs.path(layout.clock()), 0);
    return new PosixStore(fs, fresh, clock, layout, unknown, SystemTime.INSTANCE);
  }

  public StoreSettings settings() {
    return identity.settings();
  }

  public int fileMode() {
    return settings().fileMode();
  }

  public int directoryMode() {
    return settings().directoryMode();
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
  public void requireSame() throws IOException {
    Name file = layout.settings();
    byte[] bytes = fresh.readAllGrowing(path(file), StoreIdentity.MAX_BYTES);
    StoreIdentity now = StoreIdentity.decode(bytes, file);
    if (!now.id().equals(identity.id())) {
      throw new StoreReplacedException(file, "store", identity.id(), now.id());
    }
    if (now.backup()) {
      throw StoreReplacedException.backup(layout.root());
    }
  }

  @Override
  public long now() throws IOException {
    return clock.now();
  }

  @Override
  public LogStorage log(LogLayout log, Id id) {
    return new PosixLog(this, log, id);
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
    return fresh.decode(path(document), limit, decoder::decode);
  }

  @Override
  public Stored open(Name document, Freshness freshness) throws IOException {
    Path file = path(document);
    return switch (freshness) {
      case CACHED -> fresh.read(file);
      case PERMITTED -> fresh.readGrowing(file);
      case CERTAIN -> fs.readUncached(file);
    };
  }

  @Override
  public long changedAt(Name name) throws IOException {
    return fs.status(path(name)).changeTime();
  }

  @Override
  public Draft draft(Name place) throws IOException {
    Path file = fresh.temporary(path(place));
    try {
      return new Temporary(place, file, fs.create(file, fileModeIn(place)));
    } catch (IOException | RuntimeException e) {
      fresh.removeQuietly(file);
      throw e;
    }
  }

  private final class Temporary implements Draft {
    private final Name place;
    private final Path file;
    private final StoreFile out;
    private boolean open = true;

    Temporary(Name place, Path file, StoreFile out) {
      this.place = place;
      this.file = file;
      this.out = out;
    }

    @Override
    public void write(ByteBuffer bytes) throws IOException {
      out.write(bytes);
    }

    @Override
    public void finish() throws IOException {
      out.force();
      open = false;
      out.close();
      if (layout.isOfSegments(place)) {
        fs.chmod(file, settings().closedFileMode());
      }
    }

    @Override
    public boolean publish(Name document) throws IOException {
      try {
        fs.link(file, path(document));
        return true;
      } catch (FileAlreadyExistsException e) {
        return false; // lost, or the answer to our own request, sent twice
      }
    }

    @Override
    public void close() {
      try {
        if (open) {
          out.close();
        }
      } catch (IOException e) {
        // It goes.
      }
      fresh.removeQuietly(file);
    }
  }

  @Override
  public boolean publish(Name document, byte[] content) throws IOException {
    return content.length > 0
        ? StoreStorage.super.publish(document, content)
        : publishName(document);
  }

  /** One that is all name needs no link. */
  private boolean publishName(Name document) throws IOException {
    requireSame();
    Name place = document.parent();
    boolean made = true;
    try {
      int mode = layout.isOfSegments(place) ? settings().closedFileMode() : fileModeIn(place);
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
  public boolean remove(Name document) throws IOException {
    try {
      fs.unlink(path(document));
      return true;
    } catch (NoSuchFileException e) {
      return false; // somebody else was faster
    }
  }

  @Override
  public void removeQuietly(Name document) {
    fresh.removeQuietly(path(document));
  }

  @Override
  public void removePlace(Name place) throws IOException {
    fs.rmdir(path(place));
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
    return new CacheWait(path(place));
  }

  /** Waits for the caches of network filesystems (rules N2, N3). Not thread-safe. */
  private final class CacheWait implements Patience {
    private final Path directory;
    private long deadline;
    private boolean begun;
    private boolean expired;

    CacheWait(Path directory) {
      this.directory = directory;
    }

    private void begin() {
      if (!begun) {
        begun = true;
        deadline = time.monotonicNanos() + CACHE_EXPIRY_NANOS;
      }
    }

    @Override
    public boolean isOver() {
      begin();
      try {
        return fs.isLocal(directory) || time.monotonicNanos() - deadline >= 0;
      } catch (IOException e) {
        return false;
      }
    }

    @Override
    public boolean again() throws IOException {
      begin();
      if (expired || seesPastCaches()) {
        return false;
      }
      LOG.info("{}: something is missing; looking again until caches have expired", directory);
      awaitCaches(directory);
      // Of the wait, so that one more look comes after.
      expired = time.monotonicNanos() - deadline >= 0;
      return true;
    }

    private boolean seesPastCaches() throws IOException {
      try {
        return fs.isLocal(directory) || fresh.listIfPermitted(directory).isPresent();
      } catch (NoSuchFileException e) {
        return false; // then another look must tell
      }
    }
  }

  /**
   * Only where these may not make entries they can't look past their caches; then this waits until
   * every cache is younger than the file.
   */
  @Override
  public void awaitReaders(Name document) throws IOException {
    Path place = path(document.parent());
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
