package dev.cinch.bag.storage.object;

import static dev.cinch.bag.storage.Entered.Mark;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.model.DataFileName;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Numbered;
import dev.cinch.bag.model.OwnPaths;
import dev.cinch.bag.model.StoreLayout;
import dev.cinch.bag.model.Stored;
import dev.cinch.bag.model.TimeName;
import dev.cinch.bag.storage.Entered;
import dev.cinch.bag.storage.Freshness;
import dev.cinch.bag.storage.Storage;
import dev.cinch.bag.storage.object.Objects.Got;
import dev.cinch.bag.storage.object.Objects.Listed;
import dev.cinch.lease.Id;
import dev.cinch.lease.time.TimeSource;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.AccessDeniedException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.NoSuchFileException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.random.RandomGenerator;

/**
 * A store in an object store, which has neither something to append to nor to rename, nor a cache.
 * docs/storage-object.md has its promises, and why they hold. Thread-safe.
 *
 * <p>A document is an object, and so is each batch, below the name of its data file: its number
 * follows that of the one before. A place is what its names begin with, and need not be made.
 */
@CheckReturnValue
public final class ObjectStore implements Storage {
  /** Each waits for its look for as long as for its put, where the way there is what takes time. */
  private static final int APPENDS_AT_ONCE = 16;

  private static final int BATCH_DIGITS = 8;

  /** So many windows, of 4 MiB at most, are read ahead by all readers of a store. */
  private static final int MOST_AHEAD = 12;

  private static final long HALF_SECOND = 500_000_000L;

  /** The largest object of a settled file: many servers take no larger ones at once. */
  private static final int PART_BYTES = 16 << 20;

  private final Requests requests;
  private final StoreLayout layout;
  private final RandomGenerator random;
  private final int partBytes;
  private final Semaphore ahead;
  private final Map<LogName, Notices> notices = new ConcurrentHashMap<>();

  /**
   * @param layout names everything
   * @param prefix of the store's keys; empty, or with a slash at its end
   * @param time for pauses
   */
  public ObjectStore(
      Objects objects, StoreLayout layout, String prefix, TimeSource time, RandomGenerator random) {
    this(objects, layout, prefix, time, random, PART_BYTES, MOST_AHEAD);
  }

  /** With parts of another size; nothing is read ahead, for which other threads are needed. */
  public ObjectStore(
      Objects objects,
      StoreLayout layout,
      String prefix,
      TimeSource time,
      RandomGenerator random,
      int partBytes) {
    this(objects, layout, prefix, time, random, partBytes, 0);
  }

  private ObjectStore(
      Objects objects,
      StoreLayout layout,
      String prefix,
      TimeSource time,
      RandomGenerator random,
      int partBytes,
      int mostAhead) {
    this.requests = new Requests(objects, layout.root(), prefix, time, random);
    this.layout = layout;
    this.random = random;
    this.partBytes = partBytes;
    this.ahead = new Semaphore(mostAhead);
  }

  /** The middle of the second that the server named: nobody is further from it than half. */
  @Override
  public long now() throws IOException {
    return requests.get(layout.settings(), 0, 0).now() + HALF_SECOND;
  }

  /** Needs no request: a bucket need not be made, and a mark that is there is seen afterwards. */
  @Override
  public Entered enter(Name dataFile, Durability durability) {
    return new Writing(dataFile);
  }

  /** A request takes some ten milliseconds, and few of them share a connection's speed. */
  @Override
  public int appendsAtOnce() {
    return APPENDS_AT_ONCE;
  }

  /** A dozen times as much as a get is usual. */
  @Override
  public boolean listsDearly() {
    return true;
  }

  private static boolean isBatch(Listed listed) {
    return Numbered.parse(listed.key(), BATCH_DIGITS).isPresent();
  }

  private static String batch(long number) {
    return Numbered.padded(number, BATCH_DIGITS);
  }

  private final class Writing implements Entered {
    private final Name file;
    private final Name mark;
    private final Notices notices;
    private long batches;
    private long length;

    /** The last put was refused: nothing of it is there, nor will be. */
    private boolean refused;

    /** The last notice that there was at a look, 0 if there was none; empty: none looked. */
    private OptionalLong known = OptionalLong.empty();

    Writing(Name file) {
      this.file = file;
      Name bucket = file.parent();
      this.mark = LogLayout.prelock(bucket);
      Name root = bucket.parent().parent().parent().parent();
      this.notices = notices(new LogName(root.last()));
    }

    @Override
    public void append(ByteBuffer[] frame) throws IOException {
      Name name = file.resolve(batch(++batches));
      try {
        if (!requests.put(name, frame) && !isSame(name, frame)) {
          throw new FileAlreadyExistsException(name.toString());
        }
      } catch (AccessDeniedException | RefusedException e) {
        refused = true;
        throw e;
      }
      for (ByteBuffer part : frame) {
        length += part.remaining();
      }
    }

    @Override
    public long mostThere() {
      return refused ? length : Long.MAX_VALUE;
    }

    /** Whether an object is what was to be put: then it was, whatever was answered. */
    private boolean isSame(Name name, ByteBuffer[] frame) throws IOException {
      var bytes = new ArrayList<ByteBuffer>();
      for (ByteBuffer part : frame) {
        bytes.add(part.duplicate());
      }
      byte[] mine = joined(bytes);
      try {
        return Arrays.equals(mine, requests.get(name, 0, mine.length + 1).bytes());
      } catch (AccessDeniedException | RefusedException e) { // of a get, which tells nothing
        throw new UnansweredException(String.valueOf(e.getMessage()), e);
      }
    }

    /**
     * The mark first: whoever deletes one has given notice before. A bucket without a mark, and
     * without a further notice, is as it was when intents and records were asked.
     */
    @Override
    public Mark look() throws IOException {
      if (requests.isThere(mark)) {
        return Mark.SEALED;
      }
      if (known.isPresent() && !notices.isThere(known.getAsLong() + 1)) {
        return Mark.OPEN;
      }
      known = OptionalLong.of(notices.last());
      return Mark.UNSURE;
    }

    @Override
    public long changedAt() throws IOException {
      return now();
    }
  }

  private Notices notices(LogName log) {
    return notices.computeIfAbsent(log, name -> new Notices(requests, layout.log(name)));
  }

  @Override
  public void giveNotice(LogName log) throws IOException {
    notices(log).give(Id.random(random));
  }

  @Override
  public void seal(Name bucket) throws IOException {
    boolean unused = requests.put(LogLayout.prelock(bucket), ByteBuffer.wrap(new byte[] {'x'}));
  }

  @Override
  public List<String> list(Name place, Freshness freshness) throws IOException {
    return requests.names(place).stream().filter(name -> !isOfParts(place.resolve(name))).toList();
  }

  @Override
  public boolean isThere(Name document, Freshness freshness) throws IOException {
    return requests.isThere(document);
  }

  @Override
  public <T> T read(Name document, int limit, Freshness freshness, Decoder<T> decoder)
      throws IOException {
    byte[] bytes = requests.get(document, 0, limit + 1).bytes();
    if (bytes.length > limit) {
      throw new IOException(document + " has more than " + limit + " bytes");
    }
    return decoder.decode(bytes);
  }

  @Override
  public Stored open(Name name, Freshness freshness) throws IOException {
    if (DataFileName.parse(name.last()).isEmpty()) {
      Got begin = requests.get(name, 0, StoredObjects.NARROWEST);
      Optional<Parts> parts = Parts.decode(begin.bytes(), name);
      return parts.isPresent()
          ? new StoredObjects(requests, name, parts.get().of(name), parts.get().sizes(), ahead)
          : new StoredObjects(requests, name, begin, ahead);
    }
    List<Listed> below = requests.below(name);
    // What stands behind one that is not there, or not yet, was not confirmed. What has no number
    // ends nothing: some servers list what they are putting, under names of their own.
    var batches = new ArrayList<Listed>();
    for (Listed listed : below) {
      if (!isBatch(listed)) {
        continue;
      }
      if (!listed.key().equals(batch(batches.size() + 1))) {
        break;
      }
      batches.add(listed);
    }
    boolean begun = batches.isEmpty() && below.stream().anyMatch(ObjectStore::isBatch);
    if (below.isEmpty() || begun && requests.isThere(LogLayout.lock(name.parent()))) {
      throw new NoSuchFileException(name.toString()); // who removes it begins with the first batch
    }
    return new StoredObjects(
        requests,
        name,
        batches.stream().map(listed -> name.resolve(listed.key())).toList(),
        batches.stream().mapToLong(Listed::size).toArray(),
        ahead);
  }

  /** A place changed when the newest of what is in it was put. */
  @Override
  public long changedAt(Name name) throws IOException {
    try {
      return requests.get(name, 0, 0).changedAt() + HALF_SECOND;
    } catch (NoSuchFileException e) {
      return requests.below(name).stream().mapToLong(Listed::changedAt).max().orElseThrow(() -> e)
          + HALF_SECOND;
    }
  }

  /** Only a settled file has parts: nobody else reads it, and all others are small, or whole. */
  @Override
  public Draft draft(Name document) {
    int each = isSettled(document) ? partBytes : Integer.MAX_VALUE;
    return new ObjectDraft(requests, document, Id.random(random), each);
  }

  private boolean isSettled(Name document) {
    Name place = document.parent();
    return layout.isOfSegments(place)
        || document.equals(LogLayout.lock(place)) && TimeName.parse(place.last()).isPresent();
  }

  private boolean isOfParts(Name place) {
    return Parts.isPlace(place.last()) && isSettled(Parts.documentOf(place));
  }

  private static byte[] joined(List<ByteBuffer> parts) {
    ByteBuffer all = ByteBuffer.allocate(parts.stream().mapToInt(ByteBuffer::remaining).sum());
    parts.forEach(all::put);
    return all.array();
  }

  @Override
  public void remove(Name name) throws IOException {
    if (DataFileName.parse(name.last()).isEmpty()) {
      if (layout.isOfSegments(name.parent())) { // those of a lock go with its bucket
        for (Name part : requests.beginning(Parts.anyOf(name))) {
          requests.delete(part);
        }
      }
      requests.delete(name);
      return;
    }
    for (Listed batch : requests.below(name)) {
      requests.delete(name.resolve(batch.key()));
    }
  }

  /** Parts of a lock, also of drafts that were killed, stand in nobody's way. */
  @Override
  public void removePlace(Name place) throws IOException {
    for (String name : requests.names(place)) {
      if (!isOfParts(place.resolve(name))) {
        throw new DirectoryNotEmptyException(place.toString());
      }
      for (Name part : requests.beginning(place.resolve(name))) {
        requests.delete(part);
      }
    }
  }

  /** From now on nobody opens the store: a note stands for it until all is gone. */
  public void beginDestroying() throws IOException {
    boolean unused = requests.put(layout.destroyed(), ByteBuffer.allocate(0));
    remove(layout.settings());
  }

  /** All objects below the store's root, in the order of their keys. */
  public List<Name> all() throws IOException {
    return requests.below(layout.root()).stream().map(o -> layout.root().resolve(o.key())).toList();
  }

  /** Whether an object is the store's, by its name and place. */
  public boolean isOwn(Name object) {
    Name place = object.parent();
    return isOwn(object, layout)
        || DataFileName.parse(place.last()).isPresent() && isOwn(place, layout)
        || isOfParts(place) && isOwn(Parts.documentOf(place), layout);
  }

  private static boolean isOwn(Name document, StoreLayout layout) {
    return OwnPaths.has(document.within(layout.root()), false);
  }

  /** Removes one object; that it is gone is no error. */
  public void removeObject(Name object) throws IOException {
    requests.delete(object);
  }
}
