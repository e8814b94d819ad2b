package dev.cinch.bag.storage.memory;

import dev.cinch.bag.format.FileHeader;
import dev.cinch.bag.format.LockedFile;
import dev.cinch.bag.layout.Numbered;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.DataFileName;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.storage.Announcement;
import dev.cinch.bag.storage.BucketSealedException;
import dev.cinch.bag.storage.Closing;
import dev.cinch.bag.storage.DataFileEnd;
import dev.cinch.bag.storage.Entered;
import dev.cinch.bag.storage.ForeignEntryException;
import dev.cinch.bag.storage.Key;
import dev.cinch.bag.storage.LogStorage;
import dev.cinch.bag.storage.Patience;
import dev.cinch.bag.storage.Records;
import dev.cinch.bag.storage.Stored;
import dev.cinch.lease.Id;
import dev.cinch.lease.time.TimeSource;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.NoSuchFileException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A log in memory. All who are given the same object work on the same log, as processes do on one
 * directory. Nothing is cached, so every read is certain, and nothing outlives the process. The
 * shortest answer to what a storage must do. Thread-safe.
 */
public final class MemoryLog implements LogStorage {
  private final TimeSource time;
  private final NavigableMap<Long, Content> bags = new TreeMap<>();
  private final Map<Key, byte[]> documents = new HashMap<>();
  private final List<Announcement> intents = new CopyOnWriteArrayList<>();

  /**
   * @param time whose wall clock is the storage's
   */
  public MemoryLog(TimeSource time) {
    this.time = time;
  }

  /** What stands in one bucket. */
  private static final class Content {
    final Bucket bucket;
    final Map<DataFileName, ByteArrayOutputStream> files = new LinkedHashMap<>();
    boolean sealed;

    Content(Bucket bucket) {
      this.bucket = bucket;
    }
  }

  @Override
  public void requireSame() {}

  @Override
  public long now() {
    return time.wallNanos();
  }

  @Override
  public long staleNanos() {
    return 0;
  }

  @Override
  public synchronized Entered enter(Bucket bucket, DataFileName file, Durability durability)
      throws IOException {
    Content bag = bags.computeIfAbsent(bucket.start(), start -> new Content(bucket));
    if (bag.sealed) {
      throw new BucketSealedException();
    }
    var bytes = new ByteArrayOutputStream();
    if (bag.files.putIfAbsent(file, bytes) != null) {
      throw new FileAlreadyExistsException(file.toString());
    }
    return new Writing(bag, bytes);
  }

  private final class Writing implements Entered {
    private final Content bag;
    private final ByteArrayOutputStream bytes;

    Writing(Content bag, ByteArrayOutputStream bytes) {
      this.bag = bag;
      this.bytes = bytes;
    }

    @Override
    public void append(ByteBuffer[] frame, @Nullable ByteBuffer proof) {
      synchronized (MemoryLog.this) {
        for (ByteBuffer part : frame) {
          put(part);
        }
        if (proof != null) {
          put(proof);
        }
      }
    }

    private void put(ByteBuffer part) {
      var copy = new byte[part.remaining()];
      part.get(copy);
      bytes.writeBytes(copy);
    }

    @Override
    public Mark look() {
      synchronized (MemoryLog.this) {
        return !bag.sealed && bags.get(bag.bucket.start()) == bag ? Mark.OPEN : Mark.SEALED;
      }
    }

    @Override
    public long changedAt() {
      return now();
    }

    @Override
    public void leave() {}
  }

  @Override
  public List<Bucket> buckets(long from, long to, Settled settled) {
    return buckets(from, to, Freshness.CERTAIN);
  }

  @Override
  public synchronized List<Bucket> buckets(long from, long to, Freshness freshness) {
    return bags.headMap(to, false).values().stream()
        .map(bag -> bag.bucket)
        .filter(bucket -> bucket.end() > from)
        .toList();
  }

  @Override
  public List<Bucket> buckets(long from, long to, Consumer<ForeignEntryException> leftOut) {
    return buckets(from, to, Freshness.CERTAIN);
  }

  @Override
  public synchronized Bag look(Bucket bucket, Freshness freshness) throws IOException {
    return new Bag(
        List.copyOf(bag(bucket).files.keySet()), documents.containsKey(new Key.Lock(bucket)));
  }

  private Content bag(Bucket bucket) throws NoSuchFileException {
    Content bag = bags.get(bucket.start());
    if (bag == null) {
      throw new NoSuchFileException(bucket.toString());
    }
    return bag;
  }

  @Override
  public synchronized Stored open(Bucket bucket, DataFileName file, Freshness freshness)
      throws IOException {
    ByteArrayOutputStream bytes = bag(bucket).files.get(file);
    if (bytes == null) {
      throw new NoSuchFileException(file.toString());
    }
    return new Bytes(bytes.toByteArray());
  }

  @Override
  public Stored open(Key.Segment segment, Freshness freshness) throws IOException {
    return new Bytes(document(segment));
  }

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

  @Override
  public synchronized List<String> segmentNames(Freshness freshness) {
    return documents.keySet().stream()
        .flatMap(key -> key instanceof Key.Segment s ? Stream.of(Numbered.name(s.number())) : null)
        .toList();
  }

  @Override
  public boolean holdsBuckets(long from, long to) {
    return !buckets(from, to, Freshness.CERTAIN).isEmpty();
  }

  @Override
  public synchronized Closing seal(Bucket bucket) throws IOException {
    Content bag = bag(bucket);
    bag.sealed = true;
    return new Closure(bag);
  }

  private final class Closure implements Closing {
    private final Content bag;

    Closure(Content bag) {
      this.bag = bag;
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
        for (Map.Entry<DataFileName, ByteArrayOutputStream> file : bag.files.entrySet()) {
          byte[] bytes = file.getValue().toByteArray();
          LockedFile measured =
              end.measure(new Bytes(bytes), bytes.length, header.apply(file.getKey()));
          files.add(measured.withoutCopy());
        }
      }
      return files;
    }

    @Override
    public void publishPart(String sha256, byte[] part) {
      MemoryLog.this.publish(new Key.LockPart(bag.bucket, sha256), part);
    }

    @Override
    public byte[] publish(byte[] lock) throws IOException {
      var key = new Key.Lock(bag.bucket);
      MemoryLog.this.publish(key, lock);
      return document(key);
    }

    @Override
    public void finish(Collection<String> parts) {}

    @Override
    public void close() {}
  }

  @Override
  public void finish(Bucket bucket) {}

  /** Removes a bucket and what closed it, as is done behind a checkpoint. */
  public synchronized void retire(Bucket bucket) {
    bags.remove(bucket.start());
    documents.remove(new Key.Lock(bucket));
  }

  private synchronized byte[] document(Key key) throws NoSuchFileException {
    byte[] found = documents.get(key);
    if (found == null) {
      throw new NoSuchFileException(key.toString());
    }
    return found.clone();
  }

  @Override
  public <T> T read(Key key, int limit, Freshness freshness, Decoder<T> decoder)
      throws IOException {
    return decoder.decode(document(key));
  }

  @Override
  public <T> Optional<T> readIfListed(Key key, int limit, Decoder<T> decoder) throws IOException {
    try {
      return Optional.of(decoder.decode(document(key)));
    } catch (NoSuchFileException e) {
      return Optional.empty();
    }
  }

  @Override
  public ByteBuffer readStart(Key key, int bytes) throws IOException {
    byte[] all = document(key);
    return ByteBuffer.wrap(Arrays.copyOf(all, Math.min(bytes, all.length)))
        .order(ByteOrder.LITTLE_ENDIAN);
  }

  @Override
  public synchronized void publish(Key key, byte[] content) {
    documents.putIfAbsent(key, content.clone());
  }

  @Override
  public void secure(Key key) {}

  @Override
  public synchronized Records records(Freshness freshness) {
    long last = 0;
    var seals = new TreeMap<Long, SortedSet<String>>();
    for (Key key : documents.keySet()) {
      if (key instanceof Key.Record record) {
        last = Math.max(last, record.number());
      } else if (key instanceof Key.RecordSeal seal) {
        seals.computeIfAbsent(seal.number(), n -> new TreeSet<>()).add(seal.digest());
      }
    }
    return new Records(last, new TreeMap<>(seals.tailMap(last)));
  }

  @Override
  public synchronized OptionalLong last(Family family, Freshness freshness) {
    return documents.keySet().stream().flatMapToLong(key -> number(family, key).stream()).max();
  }

  private static OptionalLong number(Family family, Key key) {
    return switch (family) {
      case CHECKPOINT ->
          key instanceof Key.Checkpoint c ? OptionalLong.of(c.number()) : OptionalLong.empty();
      case FLOOR ->
          key instanceof Key.Floor f ? OptionalLong.of(f.segment()) : OptionalLong.empty();
      case SEGMENT ->
          key instanceof Key.Segment s ? OptionalLong.of(s.number()) : OptionalLong.empty();
    };
  }

  @Override
  public Patience patience(Key key) {
    return patience();
  }

  @Override
  public Patience patience() {
    return new Patience() {
      @Override
      public boolean isOver() {
        return true;
      }

      @Override
      public boolean again() {
        return false;
      }
    };
  }

  @Override
  public boolean mayBeUnseen(Bucket bucket) {
    return false;
  }

  @Override
  public Announcement announce(long to, Id closer) {
    var intent = new Intent(to, now());
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
