package dev.cinch.bag.storage.memory;

import dev.cinch.bag.format.FileHeader;
import dev.cinch.bag.format.LockedFile;
import dev.cinch.bag.layout.BucketTree;
import dev.cinch.bag.layout.LogLayout;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.DataFileName;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.storage.Announcement;
import dev.cinch.bag.storage.BucketSealedException;
import dev.cinch.bag.storage.Closing;
import dev.cinch.bag.storage.DataFileEnd;
import dev.cinch.bag.storage.Entered;
import dev.cinch.bag.storage.ForeignEntryException;
import dev.cinch.bag.storage.LogStorage;
import dev.cinch.bag.storage.Stored;
import dev.cinch.bag.storage.memory.MemoryStore.Bytes;
import dev.cinch.bag.storage.memory.MemoryStore.Document;
import dev.cinch.lease.Id;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** A log of a {@link MemoryStore}. Its lock is what appending and closing go one by one by. */
final class MemoryLog implements LogStorage {
  private static final byte[] MARK = {'x'};

  private final MemoryStore store;
  private final LogLayout layout;
  private final List<Announcement> intents = new CopyOnWriteArrayList<>();

  MemoryLog(MemoryStore store, LogLayout layout) {
    this.store = store;
    this.layout = layout;
  }

  @Override
  public void requireSame() {}

  @Override
  public long staleNanos() {
    return 0;
  }

  private Path mark(Bucket bucket) {
    return LogLayout.prelock(layout.bucket(bucket));
  }

  private boolean isSealed(Bucket bucket) {
    return store.isThere(mark(bucket), Freshness.CERTAIN);
  }

  private Path path(Bucket bucket, DataFileName file) {
    return LogLayout.dataFile(layout.bucket(bucket), file);
  }

  @Override
  public synchronized Entered enter(Bucket bucket, DataFileName file, Durability durability)
      throws IOException {
    if (isSealed(bucket)) {
      throw new BucketSealedException();
    }
    Document made = store.make(path(bucket, file), new byte[0]);
    if (made == null) {
      throw new FileAlreadyExistsException(file.toString());
    }
    return new Writing(bucket, path(bucket, file), made);
  }

  private final class Writing implements Entered {
    private final Bucket bucket;
    private final Path name;
    private final Document file;

    Writing(Bucket bucket, Path name, Document file) {
      this.bucket = bucket;
      this.name = name;
      this.file = file;
    }

    @Override
    public void append(ByteBuffer[] frame, @Nullable ByteBuffer proof) {
      synchronized (MemoryLog.this) {
        for (ByteBuffer part : frame) {
          file.append(part);
        }
        if (proof != null) {
          file.append(proof);
        }
      }
    }

    @Override
    public long mostThere() {
      return Long.MAX_VALUE; // no append fails
    }

    @Override
    public Mark look() {
      synchronized (MemoryLog.this) {
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
  public List<Bucket> buckets(long from, long to, Settled settled) throws IOException {
    return buckets(from, to, Freshness.CERTAIN);
  }

  @Override
  public List<Bucket> buckets(long from, long to, Freshness freshness) throws IOException {
    return new BucketTree(layout, store.identity().settings().bucketWidthNanos())
        .find(from, to, (place, end, width) -> store.listNow(place));
  }

  @Override
  public List<Bucket> buckets(long from, long to, Consumer<ForeignEntryException> leftOut)
      throws IOException {
    return buckets(from, to, Freshness.CERTAIN);
  }

  @Override
  public Bag look(Bucket bucket, Freshness freshness) throws IOException {
    List<String> names = store.listNow(layout.bucket(bucket));
    if (names.isEmpty()) {
      throw new NoSuchFileException(bucket.toString());
    }
    return new Bag(
        names.stream().map(DataFileName::parse).flatMap(Optional::stream).toList(),
        LogLayout.hasLock(names));
  }

  @Override
  public Stored open(Bucket bucket, DataFileName file, Freshness freshness) throws IOException {
    return new Bytes(store.document(path(bucket, file)).bytes());
  }

  @Override
  public boolean holdsBuckets(long from, long to) throws IOException {
    return !buckets(from, to, Freshness.CERTAIN).isEmpty();
  }

  @Override
  public synchronized Closing seal(Bucket bucket) throws IOException {
    Bag unused = look(bucket, Freshness.CERTAIN);
    Document unusedMark = store.make(mark(bucket), MARK);
    return new Closure(bucket);
  }

  private final class Closure implements Closing {
    private final Bucket bucket;

    Closure(Bucket bucket) {
      this.bucket = bucket;
    }

    @Override
    public List<LockedFile> measure(
        Function<DataFileName, FileHeader> header,
        long maxCopies,
        Consumer<ForeignEntryException> leftOut)
        throws IOException {
      var end = new DataFileEnd();
      var files = new ArrayList<LockedFile>();
      synchronized (MemoryLog.this) {
        for (DataFileName name : look(bucket, Freshness.CERTAIN).files()) {
          byte[] bytes = store.document(path(bucket, name)).bytes();
          files.add(end.measure(new Bytes(bytes), bytes.length, header.apply(name)).withoutCopy());
        }
      }
      return files;
    }

    @Override
    public void publishPart(String sha256, byte[] part) {
      MemoryLog.this.publish(LogLayout.lockPart(lock(), sha256), part);
    }

    @Override
    public byte[] publish(byte[] lock) throws IOException {
      MemoryLog.this.publish(lock(), lock);
      return store.document(lock()).bytes();
    }

    private Path lock() {
      return LogLayout.lock(layout.bucket(bucket));
    }

    @Override
    public void finish(Collection<String> parts) {}

    @Override
    public void close() {}
  }

  @Override
  public void finish(Bucket bucket) {}

  @Override
  public void publish(Path document, byte[] content) {
    Document unused = store.make(document, content);
  }

  @Override
  public boolean mayBeUnseen(Bucket bucket) {
    return false;
  }

  @Override
  public Announcement announce(long to, Id closer) {
    var intent = new Intent(to, store.now());
    intents.add(intent);
    return intent;
  }

  @Override
  public List<Announcement> announced(Freshness freshness) {
    return List.copyOf(intents);
  }

  private final class Intent implements Announcement {
    private final long to;
    private final long at;

    Intent(long to, long at) {
      this.to = to;
      this.at = at;
    }

    @Override
    public long to() {
      return to;
    }

    @Override
    public OptionalLong madeAt() {
      return intents.contains(this) ? OptionalLong.of(at) : OptionalLong.empty();
    }

    @Override
    public void withdraw() {
      boolean unused = intents.remove(this);
    }
  }
}
