package dev.cinch.bag.storage.posix;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.format.Envelope;
import dev.cinch.bag.format.StoreIdentity;
import dev.cinch.bag.fs.Fresh;
import dev.cinch.bag.fs.StoreFile;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.layout.LogLayout;
import dev.cinch.bag.layout.Numbered;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.DataFileName;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Stored;
import dev.cinch.bag.storage.Closing;
import dev.cinch.bag.storage.Entered;
import dev.cinch.bag.storage.LogStorage;
import dev.cinch.bag.storage.LogStorage.Freshness;
import dev.cinch.bag.storage.StoreReplacedException;
import dev.cinch.lease.Id;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

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
    this.protection = new BucketProtection(store);
    this.entrance = new BucketEntrance(this);
  }

  @Override
  public void requireSame() throws IOException {
    store.requireSame();
    Name file = layout.identity();
    Id now;
    try {
      byte[] bytes = fresh.readAllGrowing(store.path(file), StoreIdentity.MAX_BYTES);
      now = Envelope.decode(StoreIdentity.OF_LOG, bytes, file).id("log");
    } catch (NoSuchFileException e) {
      if (!store.isThere(layout.removed(), Freshness.PERMITTED)) {
        throw e;
      }
      return;
    }
    if (!now.equals(id)) {
      throw new StoreReplacedException(file, "log", id, now);
    }
  }

  @Override
  public Entered enter(Bucket bucket, DataFileName file, Durability durability) throws IOException {
    return entrance.enter(bucket, file, durability == Durability.SYNC);
  }

  @Override
  public Stored open(Bucket bucket, DataFileName file, Freshness freshness) throws IOException {
    Path path = store.path(LogLayout.dataFile(layout.bucket(bucket), file));
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
  public Closing seal(Bucket bucket) throws IOException {
    return PosixClosing.begin(this, bucket, protection);
  }

  @Override
  public void finish(Bucket bucket) throws IOException {
    Name place = layout.bucket(bucket);
    store.secure(place);
    protection.closed(place);
  }

  PosixStore store() {
    return store;
  }

  LogLayout layout() {
    return layout;
  }

  @Override
  public void publish(Name document, byte[] content) throws IOException {
    if (content.length == 0) {
      requireSame();
      fs.create(store.path(document), store.fileMode()).close();
      return;
    }
    Name place = document.parent();
    if (layout.records().equals(place.parent())) {
      boolean made = fresh.ensureDirectory(store.path(place), store.directoryMode());
      long number = Numbered.parse(document.last()).orElse(0);
      if (made || number % LogLayout.RECORDS_PER_GROUP == 1) {
        store.secure(layout.records());
      }
    }
    fresh.publish(store.path(document), content, store.fileMode(), this::requireSame);
  }
}
