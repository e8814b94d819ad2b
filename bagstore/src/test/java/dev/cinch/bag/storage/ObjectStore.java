package dev.cinch.bag.storage;

import dev.cinch.bag.format.StoreIdentity;
import dev.cinch.bag.model.DataFileName;
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
import java.util.Arrays;
import java.util.List;
import java.util.NavigableMap;
import java.util.concurrent.ConcurrentSkipListMap;

/**
 * A storage over whole objects that are put if absent, got, listed and deleted, with nothing to
 * append to or to rename, and whole seconds of time: what an object store offers. Requests that are
 * carried out once more, later, are not simulated.
 *
 * <p>A batch is an object below the name of its data file. A bucket's mark is never deleted before
 * a checkpoint stands above it, and who finds none must ask intents and records.
 */
public final class ObjectStore implements Storage {
  private final Objects objects;

  public ObjectStore(Objects objects, StoreLayout layout, StoreIdentity identity) {
    this.objects = objects;
    objects.put(layout.settings(), identity.encode());
  }

  /** What a server offers. Thread-safe. */
  public static final class Objects {
    private record Put(byte[] bytes, long second) {}

    private static final long SECOND = 1_000_000_000L;
    private final NavigableMap<String, Put> all = new ConcurrentSkipListMap<>();
    private final TimeSource time;

    public Objects(TimeSource time) {
      this.time = time;
    }

    /** In whole seconds, and so the middle of one: nobody's clock is further from it than half. */
    long now() {
      return Math.floorDiv(time.wallNanos(), SECOND) * SECOND + SECOND / 2;
    }

    /** If there is none. */
    void put(Name name, byte[] bytes) {
      Put unused = all.putIfAbsent(name.toString(), new Put(bytes, now()));
    }

    byte[] get(Name name) throws NoSuchFileException {
      return found(name).bytes();
    }

    private Put found(Name name) throws NoSuchFileException {
      Put found = all.get(name.toString());
      if (found == null) {
        throw new NoSuchFileException(name.toString());
      }
      return found;
    }

    long changedAt(Name name) throws NoSuchFileException {
      return found(name).second();
    }

    /** The names of all that is below a name. */
    List<String> below(Name place) {
      String prefix = place + "/";
      return all.subMap(prefix, place + "0").keySet().stream()
          .map(name -> name.substring(prefix.length()))
          .toList();
    }

    void delete(Name name) {
      Put unused = all.remove(name.toString());
    }
  }

  /** Puts something; what is there afterwards is the truth. */
  private boolean put(Name name, byte[] bytes) throws IOException {
    boolean absent = !isThere(name);
    objects.put(name, bytes);
    return absent && Arrays.equals(objects.get(name), bytes);
  }

  private boolean isThere(Name name) {
    try {
      byte[] unused = objects.get(name);
      return true;
    } catch (NoSuchFileException e) {
      return false;
    }
  }

  @Override
  public long now() {
    return objects.now();
  }

  @Override
  public Entered enter(Name dataFile, Durability durability) throws IOException {
    if (isThere(LogLayout.prelock(dataFile.parent()))) {
      throw new BucketSealedException();
    }
    if (!put(dataFile.resolve(batch(0)), new byte[0])) {
      throw new FileAlreadyExistsException(dataFile.toString());
    }
    return new Writing(dataFile);
  }

  private static String batch(int number) {
    return "%08d".formatted(number);
  }

  private final class Writing implements Entered {
    private final Name name;
    private int batches;

    Writing(Name name) {
      this.name = name;
    }

    @Override
    public void append(ByteBuffer[] frame) throws IOException {
      var bytes = new ByteArrayOutputStream();
      for (ByteBuffer part : frame) {
        bytes.writeBytes(copy(part));
      }
      boolean unused = put(name.resolve(batch(++batches)), bytes.toByteArray());
    }

    @Override
    public Mark look() {
      return isThere(LogLayout.prelock(name.parent())) ? Mark.SEALED : Mark.UNSURE;
    }

    @Override
    public long changedAt() {
      return objects.now();
    }
  }

  @Override
  public void seal(Name bucket) throws IOException {
    if (objects.below(bucket).isEmpty()) {
      throw new NoSuchFileException(bucket.toString());
    }
    objects.put(LogLayout.prelock(bucket), new byte[] {'x'});
  }

  @Override
  public List<String> list(Name place, Freshness freshness) {
    return names(place);
  }

  private List<String> names(Name place) {
    return objects.below(place).stream().map(name -> name.split("/", 2)[0]).distinct().toList();
  }

  @Override
  public boolean isThere(Name document, Freshness freshness) {
    return isThere(document);
  }

  @Override
  public <T> T read(Name document, int limit, Freshness freshness, Decoder<T> decoder)
      throws IOException {
    return decoder.decode(objects.get(document));
  }

  @Override
  public Stored open(Name name, Freshness freshness) throws IOException {
    if (DataFileName.parse(name.last()).isEmpty()) {
      return new Whole(objects.get(name));
    }
    List<String> batches = objects.below(name);
    if (batches.isEmpty()) {
      throw new NoSuchFileException(name.toString());
    }
    var bytes = new ByteArrayOutputStream();
    for (String batch : batches) {
      bytes.writeBytes(objects.get(name.resolve(batch)));
    }
    return new Whole(bytes.toByteArray());
  }

  private record Whole(byte[] bytes) implements Stored {
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

  /** A place changed when the newest of what is in it was put. */
  @Override
  public long changedAt(Name name) throws IOException {
    long last = Long.MIN_VALUE;
    for (String below : objects.below(name)) {
      last = Math.max(last, objects.changedAt(name.resolve(below)));
    }
    return last > Long.MIN_VALUE ? last : objects.changedAt(name);
  }

  @Override
  public Draft draft(Name place) {
    var content = new ByteArrayOutputStream();
    return new Draft() {
      @Override
      public void write(ByteBuffer bytes) {
        content.writeBytes(copy(bytes));
      }

      @Override
      public boolean publish(Name document) throws IOException {
        return put(document, content.toByteArray());
      }
    };
  }

  private static byte[] copy(ByteBuffer bytes) {
    var copy = new byte[bytes.remaining()];
    bytes.get(copy);
    return copy;
  }

  @Override
  public void remove(Name name) {
    for (String below : objects.below(name)) {
      objects.delete(name.resolve(below));
    }
    objects.delete(name);
  }

  @Override
  public void removePlace(Name place) throws IOException {
    if (!objects.below(place).isEmpty()) {
      throw new DirectoryNotEmptyException(place.toString());
    }
  }
}
