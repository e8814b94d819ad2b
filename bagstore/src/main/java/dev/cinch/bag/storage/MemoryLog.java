package dev.cinch.bag.storage;

import dev.cinch.bag.layout.LogLayout;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.DataFileName;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Stored;
import dev.cinch.bag.storage.LogStorage.Freshness;
import dev.cinch.bag.storage.MemoryStore.Bytes;
import dev.cinch.bag.storage.MemoryStore.Document;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.NoSuchFileException;
import java.util.List;
import java.util.Optional;

/** A log of a {@link MemoryStore}. Its lock is what appending and closing go one by one by. */
final class MemoryLog implements LogStorage {
  private static final byte[] MARK = {'x'};

  private final MemoryStore store;
  private final LogLayout layout;

  MemoryLog(MemoryStore store, LogLayout layout) {
    this.store = store;
    this.layout = layout;
  }

  @Override
  public void requireSame() {}

  private Name mark(Bucket bucket) {
    return LogLayout.prelock(layout.bucket(bucket));
  }

  private boolean isSealed(Bucket bucket) {
    return store.isThere(mark(bucket), Freshness.CERTAIN);
  }

  private Name path(Bucket bucket, DataFileName file) {
    return LogLayout.dataFile(layout.bucket(bucket), file);
  }

  @Override
  public Entered enter(Bucket bucket, DataFileName file, Durability durability) throws IOException {
    synchronized (store.monitor()) {
      if (isSealed(bucket)) {
        throw new BucketSealedException();
      }
      Document made = store.make(path(bucket, file), new byte[0]);
      if (made == null) {
        throw new FileAlreadyExistsException(file.toString());
      }
      return new Writing(bucket, path(bucket, file), made);
    }
  }

  private final class Writing implements Entered {
    private final Bucket bucket;
    private final Name name;
    private final Document file;

    Writing(Bucket bucket, Name name, Document file) {
      this.bucket = bucket;
      this.name = name;
      this.file = file;
    }

    @Override
    public void append(ByteBuffer[] frame) {
      synchronized (store.monitor()) {
        for (ByteBuffer part : frame) {
          file.append(part);
        }
      }
    }

    @Override
    public long mostThere() {
      return Long.MAX_VALUE; // no append fails
    }

    @Override
    public Mark look() {
      synchronized (store.monitor()) {
        return !isSealed(bucket) && store.is(name, file) ? Mark.OPEN : Mark.SEALED;
      }
    }

    @Override
    public long changedAt() {
      return store.now();
    }

    @Override
    public void leave() {}
  }

  @Override
  public Stored open(Bucket bucket, DataFileName file, Freshness freshness) throws IOException {
    return new Bytes(store.document(path(bucket, file)).bytes());
  }

  @Override
  public Closing seal(Bucket bucket) throws IOException {
    synchronized (store.monitor()) {
      if (store.names(layout.bucket(bucket)).isEmpty()) {
        throw new NoSuchFileException(bucket.toString());
      }
      Document unusedMark = store.make(mark(bucket), MARK);
      return new Closure(bucket);
    }
  }

  private final class Closure implements Closing {
    private final Bucket bucket;
    private final ByteArrayOutputStream lock = new ByteArrayOutputStream();

    Closure(Bucket bucket) {
      this.bucket = bucket;
    }

    @Override
    public List<DataFileName> files() throws IOException {
      return store.names(layout.bucket(bucket)).stream()
          .map(DataFileName::parse)
          .flatMap(Optional::stream)
          .toList();
    }

    @Override
    public void write(ByteBuffer bytes) {
      var copy = new byte[bytes.remaining()];
      bytes.get(copy);
      lock.writeBytes(copy);
    }

    @Override
    public void publish() {
      MemoryLog.this.publish(LogLayout.lock(layout.bucket(bucket)), lock.toByteArray());
    }

    @Override
    public void finish() {}

    @Override
    public void close() {}
  }

  @Override
  public void finish(Bucket bucket) {}

  @Override
  public void publish(Name document, byte[] content) {
    Document unused = store.make(document, content);
  }
}
