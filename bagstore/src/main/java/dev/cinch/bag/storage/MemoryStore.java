package dev.cinch.bag.storage;

import dev.cinch.bag.format.StoreIdentity;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.StoreLayout;
import dev.cinch.bag.model.Stored;
import dev.cinch.bag.storage.Storage.Decoder;
import dev.cinch.bag.storage.Storage.Draft;
import dev.cinch.lease.time.TimeSource;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.NoSuchFileException;
import java.util.List;
import java.util.NavigableMap;
import java.util.concurrent.ConcurrentSkipListMap;
import org.jspecify.annotations.Nullable;

/**
 * A store in memory. All who are given the same object work on the same store, as processes do on
 * one directory. Nothing is cached, so every read is certain, and nothing outlives the process. The
 * shortest answer to what a storage must do. Thread-safe.
 */
public final class MemoryStore implements Storage {
  private final StoreIdentity identity;
  private final TimeSource time;
  private final NavigableMap<Name, Document> documents;

  /**
   * @param layout names everything
   * @param time whose wall clock is the storage's
   */
  public MemoryStore(StoreLayout layout, StoreIdentity identity, TimeSource time) {
    this(identity, time, new ConcurrentSkipListMap<>());
    Document unused = make(layout.settings(), identity.encode());
  }

  private MemoryStore(
      StoreIdentity identity, TimeSource time, NavigableMap<Name, Document> documents) {
    this.identity = identity;
    this.time = time;
    this.documents = documents;
  }

  /** The same store, whose clock is this one for those who ask this object. */
  public MemoryStore at(TimeSource other) {
    return new MemoryStore(identity, other, documents);
  }

  /** A document, or a data file, which grows. Thread-safe. */
  private static final class Document {
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    private final long at;

    Document(long at) {
      this.at = at;
    }

    void append(ByteBuffer more) {
      var copy = new byte[more.remaining()];
      more.get(copy);
      bytes.writeBytes(copy);
    }

    byte[] bytes() {
      return bytes.toByteArray();
    }
  }

  /** What was in a document when it was opened. */
  private record Bytes(byte[] bytes) implements Stored {
    @Override
    public int read(ByteBuffer into, long offset) {
      int length = (int) Math.max(0, Math.min(into.remaining(), bytes.length - offset));
      into.put(bytes, (int) Math.min(offset, bytes.length), length);
      return length;
    }

    @Override
    public long size() {
      return bytes.length;
    }

    @Override
    public void close() {}
  }

  public StoreIdentity identity() {
    return identity;
  }

  /** Makes a document; null if there is one. */
  private @Nullable Document make(Name name, byte[] content) {
    var made = new Document(now());
    made.append(ByteBuffer.wrap(content));
    return documents.putIfAbsent(name, made) == null ? made : null;
  }

  private Document document(Name name) throws NoSuchFileException {
    Document found = documents.get(name);
    if (found == null) {
      throw new NoSuchFileException(name.toString());
    }
    return found;
  }

  @Override
  public long now() {
    return time.wallNanos();
  }

  private boolean isSealed(Name bucket) {
    return documents.containsKey(LogLayout.prelock(bucket));
  }

  /** Who holds the documents sees no append half-done, and no mark come. */
  @Override
  public Entered enter(Name dataFile, Durability durability) throws IOException {
    synchronized (documents) {
      if (isSealed(dataFile.parent())) {
        throw new BucketSealedException();
      }
      Document made = make(dataFile, new byte[0]);
      if (made == null) {
        throw new FileAlreadyExistsException(dataFile.toString());
      }
      return new Writing(dataFile, made);
    }
  }

  private final class Writing implements Entered {
    private final Name name;
    private final Document file;

    Writing(Name name, Document file) {
      this.name = name;
      this.file = file;
    }

    @Override
    public void append(ByteBuffer[] frame) {
      synchronized (documents) {
        for (ByteBuffer part : frame) {
          file.append(part);
        }
      }
    }

    @Override
    public Mark look() {
      synchronized (documents) {
        boolean same = documents.get(name) == file;
        return same && !isSealed(name.parent()) ? Mark.OPEN : Mark.SEALED;
      }
    }

    @Override
    public long changedAt() {
      return now();
    }
  }

  @Override
  public void seal(Name bucket) throws IOException {
    synchronized (documents) {
      if (names(bucket).isEmpty()) {
        throw new NoSuchFileException(bucket.toString());
      }
      Document unusedMark = make(LogLayout.prelock(bucket), new byte[] {'x'});
    }
  }

  @Override
  public List<String> list(Name place, Freshness freshness) {
    return names(place);
  }

  private List<String> names(Name place) {
    return documents.keySet().stream()
        .filter(name -> name.startsWith(place) && !name.equals(place))
        .map(name -> name.within(place).split("/", 2)[0])
        .distinct()
        .toList();
  }

  @Override
  public boolean isThere(Name document, Freshness freshness) {
    return documents.containsKey(document);
  }

  @Override
  public <T> T read(Name document, int limit, Freshness freshness, Decoder<T> decoder)
      throws IOException {
    return decoder.decode(document(document).bytes());
  }

  @Override
  public Stored open(Name name, Freshness freshness) throws IOException {
    return new Bytes(document(name).bytes());
  }

  @Override
  public long changedAt(Name name) throws IOException {
    return documents.entrySet().stream()
        .filter(document -> document.getKey().startsWith(name))
        .mapToLong(document -> document.getValue().at)
        .max()
        .orElseThrow(() -> new NoSuchFileException(name.toString()));
  }

  @Override
  public Draft draft(Name document) {
    var content = new Document(now());
    return new Draft() {
      @Override
      public void write(ByteBuffer bytes) {
        content.append(bytes);
      }

      @Override
      public boolean publish(Name name) {
        return make(name, content.bytes()) != null;
      }
    };
  }

  @Override
  public void remove(Name name) {
    Document unused = documents.remove(name);
  }

  @Override
  public void removePlace(Name place) throws IOException {
    if (!names(place).isEmpty()) {
      throw new DirectoryNotEmptyException(place.toString());
    }
  }
}
