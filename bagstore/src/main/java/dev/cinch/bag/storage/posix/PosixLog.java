package dev.cinch.bag.storage.posix;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.format.Envelope;
import dev.cinch.bag.fs.Fresh;
import dev.cinch.bag.fs.StoreFile;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.layout.BucketTree;
import dev.cinch.bag.layout.LogLayout;
import dev.cinch.bag.layout.Numbered;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.DataFileName;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.storage.Closing;
import dev.cinch.bag.storage.Entered;
import dev.cinch.bag.storage.ForeignEntryException;
import dev.cinch.bag.storage.LogStorage;
import dev.cinch.bag.storage.LogStorage.Freshness;
import dev.cinch.bag.storage.Stored;
import dev.cinch.bag.store.LogContext;
import dev.cinch.bag.store.RemovedLogs;
import dev.cinch.bag.store.StoreContext;
import dev.cinch.bag.store.StoreReplacedException;
import dev.cinch.lease.Id;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * A log in a directory of a POSIX or network filesystem. A bucket is a directory, its mark the
 * first byte of a file that is empty before, the prelock; a document is linked into place. What
 * that takes past the caches of clients: storage-posix.md. Thread-safe.
 */
@CheckReturnValue
public final class PosixLog implements LogStorage {
  private final PosixStore store;
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
  public PosixLog(PosixStore store, LogLayout layout, Id id) {
    this.store = store;
    this.id = id;
    this.fs = store.fs();
    this.fresh = store.fresh();
    this.layout = layout;
    this.tree = new BucketTree(layout, store.settings().bucketWidthNanos());
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
      if (RemovedLogs.find(store, layout).isEmpty()) {
        throw e;
      }
      return;
    }
    if (!now.equals(id)) {
      throw new StoreReplacedException(file, "log", id, now);
    }
  }

  @Override
  public long staleNanos() {
    return PosixStore.CACHE_EXPIRY_NANOS;
  }

  @Override
  public Entered enter(Bucket bucket, DataFileName file, Durability durability) throws IOException {
    return entrance.enter(bucket, file, durability == Durability.SYNC);
  }

  @Override
  public List<Bucket> buckets(long from, long to, Settled settled) throws IOException {
    return tree.find(from, to, (directory, end, width) -> unlessSettled(directory, end, settled));
  }

  /** The directory may have been settled and retired since its parent was listed. */
  private List<String> unlessSettled(Path directory, long end, Settled settled) throws IOException {
    try {
      List<String> names = fresh.list(directory);
      fs.forceDirectory(directory); // a record must not outlive what it lists
      return names;
    } catch (NoSuchFileException e) {
      if (!settled.through(end)) {
        throw e;
      }
      return List.of();
    }
  }

  @Override
  public List<Bucket> buckets(long from, long to, Freshness freshness) throws IOException {
    return switch (freshness) {
      case CACHED -> tree.find(from, to, (directory, end, width) -> known(directory));
      case PERMITTED -> tree.find(from, to, (directory, end, width) -> permitted(directory));
      case CERTAIN -> buckets(from, to, end -> false);
    };
  }

  private List<String> known(Path directory) {
    try {
      return fs.list(directory);
    } catch (IOException e) { // not there yet, or any more; whoever settles tells
      return List.of();
    }
  }

  /**
   * For who misses buckets that a record lists. What is asked for grows with what there is, and not
   * with what a record lists, which may be forged.
   */
  private List<String> permitted(Path directory) throws IOException {
    return store.listIfThere(
        directory, isLocal(directory) ? Freshness.CACHED : Freshness.PERMITTED);
  }

  private boolean isLocal(Path directory) throws IOException {
    try {
      return fs.isLocal(directory);
    } catch (NoSuchFileException e) {
      return false;
    }
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
  public boolean holdsBuckets(long from, long to) throws IOException {
    try {
      return !tree.walk(
          from,
          to,
          (directory, end, width) ->
              fs.isLocal(directory) ? fs.list(directory) : fresh.list(directory),
          bucket -> false);
    } catch (NoSuchFileException e) {
      return true; // retired since its parent was listed, or lost: whoever settles tells
    }
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

  @Override
  public void sweep(Bucket bucket) throws IOException {
    Path directory = layout.bucket(bucket);
    IOException failed = null;
    for (String name : known(directory)) {
      if (DataFileName.parse(name).isPresent()) {
        try {
          fs.unlink(directory.resolve(name));
        } catch (NoSuchFileException e) {
          // Somebody else was faster.
        } catch (IOException e) {
          failed = e;
        }
      }
    }
    if (failed != null) {
      throw failed;
    }
  }

  PosixStore store() {
    return store;
  }

  LogLayout layout() {
    return layout;
  }

  @Override
  public void publish(Path document, byte[] content) throws IOException {
    if (content.length == 0) {
      requireSame();
      fs.create(document, store.fileMode()).close();
      return;
    }
    Path place = Fresh.parent(document);
    if (layout.records().equals(place.getParent())) {
      boolean made = fresh.ensureDirectory(place, store.directoryMode());
      long number = Numbered.parse("" + document.getFileName()).orElse(0);
      if (made || number % LogLayout.RECORDS_PER_GROUP == 1) {
        fs.forceDirectory(layout.records());
      }
    }
    fresh.publish(document, content, store.fileMode(), this::requireSame);
  }

  @Override
  public boolean mayBeUnseen(Bucket bucket) throws IOException {
    try {
      return present() - store.changedAt(layout.bucket(bucket)) < PosixStore.CACHE_EXPIRY_NANOS;
    } catch (NoSuchFileException e) {
      return false;
    }
  }

  /** By the clock that gives change times; by this machine's for who may not ask that. */
  private long present() {
    try {
      return store.now();
    } catch (IOException e) {
      return store.time().wallNanos();
    }
  }
}
