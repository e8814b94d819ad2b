package dev.cinch.bag.storage.posix;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.format.Envelope;
import dev.cinch.bag.fs.Fresh;
import dev.cinch.bag.fs.StoreFile;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.layout.LogLayout;
import dev.cinch.bag.layout.Numbered;
import dev.cinch.bag.layout.SegmentSeal;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.DataFileName;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.storage.Announcement;
import dev.cinch.bag.storage.Closing;
import dev.cinch.bag.storage.Entered;
import dev.cinch.bag.storage.ForeignEntryException;
import dev.cinch.bag.storage.Key;
import dev.cinch.bag.storage.LogStorage;
import dev.cinch.bag.storage.Patience;
import dev.cinch.bag.storage.Records;
import dev.cinch.bag.storage.Stored;
import dev.cinch.bag.store.LogContext;
import dev.cinch.bag.store.RemovedLogs;
import dev.cinch.bag.store.StoreContext;
import dev.cinch.bag.store.StoreReplacedException;
import dev.cinch.lease.Id;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Consumer;

/**
 * A log in a directory of a POSIX or network filesystem. A bucket is a directory, its mark the
 * first byte of a file that is empty before, the prelock; a document is linked into place. What
 * that takes past the caches of clients: storage-posix.md. Thread-safe.
 */
@CheckReturnValue
public final class PosixLog implements LogStorage {
  private final StoreContext store;
  private final Id id;
  private final StoreFs fs;
  private final Fresh fresh;
  private final LogLayout layout;
  private final BucketTree tree;
  private final BucketProtection protection;
  private final BucketEntrance entrance;

  /**
   * @param layout where the log stands
   * @param id the log's
   */
  public PosixLog(StoreContext store, LogLayout layout, Id id) {
    this.store = store;
    this.id = id;
    this.fs = store.fs();
    this.fresh = store.fresh();
    this.layout = layout;
    this.tree = new BucketTree(store, layout);
    this.protection = new BucketProtection(store);
    this.entrance = new BucketEntrance(this);
  }

  @Override
  public void requireSame() throws IOException {
    store.requireSame();
    Path file = layout.identity();
    Id now;
    try {
      byte[] bytes = fresh.readAllGrowing(file, StoreContext.MAX_SETTINGS);
      now = Envelope.decode(LogContext.IDENTITY, bytes, file).id("log");
    } catch (NoSuchFileException e) {
      if (new RemovedLogs(store).find(layout.name()).isEmpty()) {
        throw e;
      }
      return;
    }
    if (!now.equals(id)) {
      throw new StoreReplacedException(file, "log", id, now);
    }
  }

  @Override
  public long now() throws IOException {
    return store.fsClock().now();
  }

  @Override
  public long staleNanos() {
    return StoreContext.CACHE_EXPIRY_NANOS;
  }

  @Override
  public Entered enter(Bucket bucket, DataFileName file, Durability durability) throws IOException {
    return entrance.enter(bucket, file, durability == Durability.SYNC);
  }

  @Override
  public List<Bucket> buckets(long from, long to, Settled settled) throws IOException {
    return tree.certain(from, to, settled);
  }

  @Override
  public List<Bucket> buckets(long from, long to, Freshness freshness) throws IOException {
    return switch (freshness) {
      case CACHED -> tree.known(from, to);
      case PERMITTED -> tree.permitted(from, to);
      case CERTAIN -> tree.certain(from, to, end -> false);
    };
  }

  @Override
  public List<Bucket> buckets(long from, long to, Consumer<ForeignEntryException> leftOut)
      throws IOException {
    return tree.find(
        from,
        to,
        (directory, end, width) -> {
          try {
            return fresh.listAsPermitted(directory);
          } catch (ForeignEntryException e) {
            leftOut.accept(e);
            return List.of();
          }
        });
  }

  @Override
  public Bag look(Bucket bucket, Freshness freshness) throws IOException {
    Path directory = layout.bucket(bucket);
    Optional<List<String>> now =
        freshness == Freshness.CACHED ? Optional.empty() : fresh.listIfPermitted(directory);
    List<String> names = now.isPresent() ? now.get() : fs.list(directory);
    return new Bag(
        names.stream().map(DataFileName::parse).flatMap(Optional::stream).toList(),
        // A "no" by name could outlast the closing, so that is for those whose listing may be old.
        now.isEmpty() || LogLayout.hasLock(names));
  }

  @Override
  public Stored open(Bucket bucket, DataFileName file, Freshness freshness) throws IOException {
    Path path = LogLayout.dataFile(layout.bucket(bucket), file);
    return switch (freshness) {
      case CACHED -> fresh.read(path);
      case PERMITTED -> growing(path);
      case CERTAIN -> fs.readUncached(path);
    };
  }

  private StoreFile growing(Path path) throws IOException {
    StoreFile in = fresh.readGrowing(path);
    boolean sure;
    try {
      sure = in.size() > 0 || fs.readsReachServer(path);
    } catch (IOException | RuntimeException e) {
      in.close();
      throw e;
    }
    if (sure) {
      return in;
    }
    in.close();
    store.awaitCaches(path); // it may only look empty (rule N6)
    return fresh.readGrowing(path);
  }

  @Override
  public Stored open(Key.Segment segment, Freshness freshness) throws IOException {
    Path path = path(segment);
    return freshness == Freshness.CERTAIN ? fs.readUncached(path) : fresh.read(path);
  }

  @Override
  public List<String> segmentNames(Freshness freshness) throws IOException {
    Path directory = layout.segments();
    return switch (freshness) {
      case CACHED -> fresh.listKnown(directory);
      case PERMITTED -> fresh.listAsPermitted(directory);
      case CERTAIN -> fresh.list(directory);
    };
  }

  @Override
  public boolean holdsBuckets(long from, long to) throws IOException {
    return tree.holdsAny(from, to);
  }

  @Override
  public Closing seal(Bucket bucket) throws IOException {
    return PosixClosing.begin(this, bucket, protection);
  }

  @Override
  public void finish(Bucket bucket) throws IOException {
    Path directory = layout.bucket(bucket);
    fs.forceDirectory(directory);
    protection.closed(directory);
  }

  StoreContext store() {
    return store;
  }

  LogLayout layout() {
    return layout;
  }

  private Path path(Key key) {
    if (key instanceof Key.Lock lock) {
      return LogLayout.lock(layout.bucket(lock.bucket()));
    } else if (key instanceof Key.LockPart part) {
      Path lock = LogLayout.lock(layout.bucket(part.bucket()));
      return LogLayout.lockPart(lock, part.sha256());
    } else if (key instanceof Key.Record record) {
      return layout.record(record.number());
    } else if (key instanceof Key.RecordSeal seal) {
      return layout.recordSeal(seal.number(), seal.digest());
    } else if (key instanceof Key.Checkpoint checkpoint) {
      return layout.checkpoint(checkpoint.number());
    } else if (key instanceof Key.Floor floor) {
      return layout.floor(floor.segment());
    } else if (key instanceof Key.Segment segment) {
      return layout.segment(segment.number());
    }
    return layout.identity();
  }

  @Override
  public <T> T read(Key key, int limit, Freshness freshness, Decoder<T> decoder)
      throws IOException {
    Path path = path(key);
    if (freshness == Freshness.CERTAIN) {
      Path directory = Fresh.parent(path);
      List<String> unused = fs.list(Fresh.parent(directory));
      unused = fs.list(directory);
      return decoder.decode(fresh.readAllUncached(path, limit));
    }
    return fresh.decode(path, limit, decoder::decode);
  }

  @Override
  public <T> Optional<T> readIfListed(Key key, int limit, Decoder<T> decoder) throws IOException {
    Path path = path(key);
    try {
      return fs.list(Fresh.parent(path)).contains("" + path.getFileName())
          ? Optional.of(fresh.decode(path, limit, decoder::decode))
          : Optional.empty();
    } catch (NoSuchFileException e) {
      return Optional.empty();
    }
  }

  @Override
  public ByteBuffer readStart(Key key, int bytes) throws IOException {
    try (StoreFile in = fs.read(path(key))) {
      ByteBuffer start = ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
      int unused = in.read(start, 0);
      return start.flip();
    }
  }

  @Override
  public void publish(Key key, byte[] content) throws IOException {
    if (key instanceof Key.RecordSeal) {
      requireSame();
      fs.create(path(key), store.fileMode()).close();
      return;
    }
    if (key instanceof Key.Record record) {
      long number = record.number();
      Path group = layout.recordGroup(LogLayout.groupOfRecord(number));
      boolean made = fresh.ensureDirectory(group, store.directoryMode());
      if (made || number % LogLayout.RECORDS_PER_GROUP == 1) {
        fs.forceDirectory(layout.records());
      }
    }
    fresh.publish(path(key), content, store.fileMode(), this::requireSame);
  }

  @Override
  public void secure(Key key) throws IOException {
    if (key instanceof Key.Record) {
      fs.forceDirectory(layout.records());
    }
    fs.forceDirectory(Fresh.parent(path(key)));
  }

  @Override
  public Records records(Freshness freshness) throws IOException {
    return RecordListing.of(
        layout,
        directory ->
            switch (freshness) {
              case CACHED -> fresh.listKnown(directory);
              case PERMITTED -> fresh.listAsPermitted(directory);
              case CERTAIN -> fresh.list(directory);
            });
  }

  @Override
  public OptionalLong last(Family family, Freshness freshness) throws IOException {
    Path directory = family == Family.SEGMENT ? layout.segments() : layout.checkpoints();
    List<String> names =
        freshness == Freshness.CACHED
            ? fresh.listIfThere(directory)
            : fresh.listAsPermittedIfThere(directory);
    return names.stream()
        .map(name -> number(family, name))
        .flatMapToLong(OptionalLong::stream)
        .max();
  }

  private static OptionalLong number(Family family, String name) {
    OptionalLong number =
        family == Family.FLOOR ? LogLayout.floorNumber(name) : Numbered.parse(name);
    return number.isPresent() || family != Family.SEGMENT
        ? number
        : SegmentSeal.parse(name).map(s -> OptionalLong.of(s.number())).orElse(number);
  }

  @Override
  public Patience patience(Key key) {
    return new CacheWait(store, Fresh.parent(path(key)));
  }

  @Override
  public Patience patience() {
    return new CacheWait(store, layout.root());
  }

  @Override
  public boolean mayBeUnseen(Bucket bucket) throws IOException {
    try {
      return present() - fs.status(layout.bucket(bucket)).changeTime()
          < StoreContext.CACHE_EXPIRY_NANOS;
    } catch (NoSuchFileException e) {
      return false;
    }
  }

  /** By the clock that gives change times; by this machine's for who may not ask that. */
  private long present() {
    try {
      return now();
    } catch (IOException e) {
      return store.time().wallNanos();
    }
  }

  @Override
  public Announcement announce(long to, Id closer) throws IOException {
    Path file = to == Long.MAX_VALUE ? layout.endIntent(closer) : layout.intent(to, closer);
    fs.create(file, store.fileMode()).close();
    fs.forceDirectory(layout.intents());
    return new Intent(to, file);
  }

  @Override
  public List<Announcement> announced(Freshness freshness) throws IOException {
    Path directory = layout.intents();
    List<String> names =
        switch (freshness) {
          case CACHED -> fresh.listIfThere(directory);
          case PERMITTED -> fresh.listAsPermittedIfThere(directory);
          case CERTAIN -> fresh.list(directory);
        };
    var all = new ArrayList<Announcement>();
    for (String name : names) {
      OptionalLong reach = LogLayout.intentReach(name);
      if (reach.isPresent()) {
        all.add(new Intent(reach.getAsLong(), directory.resolve(name)));
      }
    }
    return all;
  }

  private final class Intent implements Announcement {
    private final long to;
    private final Path file;

    Intent(long to, Path file) {
      this.to = to;
      this.file = file;
    }

    @Override
    public long to() {
      return to;
    }

    @Override
    public OptionalLong madeAt() throws IOException {
      try {
        return OptionalLong.of(fs.status(file).changeTime());
      } catch (NoSuchFileException e) {
        return OptionalLong.empty();
      }
    }

    @Override
    public void withdraw() {
      fresh.removeQuietly(file);
    }
  }
}
